export { qkCompared } from "./compared";
export { qk } from "./view";
