/** Written by `make catalog` from the declarations in attn_widget. Do not edit. */

export { heads } from "./heads/view";
export { sentences } from "./sentences/view";
export { predictions } from "./predictions/view";
