export { headExamples as addToHeads } from "./examples";
export { textBelow } from "./opened-text";
