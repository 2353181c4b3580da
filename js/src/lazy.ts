/** Entry: the lazy views, printing, and parts of other views. A bundle of its own in notebooks, part of the page where that is saved. */

export * from "./features/lazy";
export { layerStrips } from "./frame/head-grid/layers";
export { headLens } from "./frame/head-grid/lens";
export { Display } from "./frame/lazy/display";
export { headFigures } from "./frame/lazy/head-figures";
export { History } from "./frame/lazy/history";
export { KeyGroups } from "./frame/lazy/key-groups";
export { ProfileHead } from "./frame/lazy/profile-head";
export { sourcePainter } from "./frame/lazy/source-painter";
export { tagText } from "./frame/lazy/tag-text";
export { long, windows } from "./long";
export { mixingDefinition } from "./views/attention/lazy/definition";
export { AttentionDisplay } from "./views/attention/lazy/display";
export { GroupStrip } from "./views/attention/lazy/group-strip";
export { linkAt } from "./views/attention/lazy/link-at";
export { MatrixCells } from "./views/attention/lazy/matrix-cells";
export { createPairNumbers, PinnedPair } from "./views/attention/lazy/pinned-pair";
export { startsOfAxes } from "./views/attention/lazy/starts";
export { attentionTable } from "./views/attention/lazy/table";
export { showTip } from "./views/attention/lazy/tip";
export { attentionVector } from "./views/attention/lazy/vector";
export { longAttention as attentionLong } from "./views/attention/long/view";
export * from "./views/lazy-code";
