export { inside } from "./view";
