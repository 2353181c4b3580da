/** Entry: the lazy views and printing. A bundle of its own in notebooks, part of the page where that is saved. */

export { printing } from "./export/print";
export { inside } from "./views/inside/view";
export { sentences } from "./views/sentences/view";
export { task } from "./views/task/view";
export { tree } from "./views/tree/view";
export { why } from "./views/why/view";
