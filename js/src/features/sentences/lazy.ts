export { sentences } from "./view";
