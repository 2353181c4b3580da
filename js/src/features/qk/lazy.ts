export { qk } from "./view";
