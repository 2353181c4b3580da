export { similarity } from "./view";
