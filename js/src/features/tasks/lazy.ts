export { task } from "./view";
