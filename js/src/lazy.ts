/** Entry: the lazy views, printing, and parts of other views. A bundle of its own in notebooks, part of the page where that is saved. */

export { liveComparison } from "./compare/live";
export { printing } from "./export/print";
export { layerStrips } from "./frame/head-grid/layers";
export { long, windows } from "./long";
export { carriedSum } from "./views/attention/later/carried-sum";
export { groupStrip } from "./views/attention/later/group-strip";
export { vectorStrips } from "./views/attention/later/link-vectors";
export { attentionVector } from "./views/attention/later/vector";
export { headExamples } from "./views/heads/later/examples";
export { createGroupSwitch } from "./views/heads/later/groups";
export { inside } from "./views/inside/view";
export { sentences } from "./views/sentences/view";
export { task } from "./views/task/view";
export { tree } from "./views/tree/view";
export { why } from "./views/why/view";
