/** The features of the page, a line each: remove a line with its folder, and everything else builds. */

export { chat } from "./chat";
export { comparison } from "./comparison";
export { corpus } from "./corpus";
export { engine } from "./engine";
export { exports } from "./exports";
export { images } from "./images";
export { inside } from "./inside";
export { lens } from "./lens";
export { qk } from "./qk";
export { sentences } from "./sentences";
export { similarity } from "./similarity";
export { surprisal } from "./surprisal";
export { tasks } from "./tasks";
export { tree } from "./tree";
export { why } from "./why";
