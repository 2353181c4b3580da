export { headExamples } from "./examples";
export { textBelow } from "./opened-text";
