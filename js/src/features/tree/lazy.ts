export { longTree as treeLong } from "./long";
export { tree } from "./view";
