export { why } from "./view";
