/** What `later.ts` provides: a bundle of its own in notebooks, a part of the page where that is saved. */

export { printing } from "../save/print";
export { inside } from "./inside";
export { sentences } from "./sentences";
export { task } from "./task";
export { tree } from "./tree";
