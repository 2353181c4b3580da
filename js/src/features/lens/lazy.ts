export { lens } from "./view";
