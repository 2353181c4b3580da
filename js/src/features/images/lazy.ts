export { picture } from "./picture";
export { images } from "./view";
