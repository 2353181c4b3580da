export { belowWhy } from "./below-why";
