export { picture } from "./picture";
export { drawInput } from "./scored";
export { images } from "./view";
