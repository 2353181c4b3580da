export { picture } from "./picture";
export { drawInput } from "./scored";
export { thumbnail } from "./thumbnail";
export { images } from "./view";
