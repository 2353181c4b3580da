/** Written by `make catalog` from the declarations in attn_widget. Do not edit. */

export { tree } from "./tree/view";
export { sentences } from "./sentences/view";
export { predictions } from "./predictions/view";
export { inside } from "./inside/view";
export { task } from "./task/view";
export { why } from "./why/view";
export { similarity } from "./similarity/view";
