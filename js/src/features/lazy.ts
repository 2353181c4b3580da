/** Written by the build from the list in index.ts. Do not edit. */

export * from "./chat/lazy";
export * from "./comparison/lazy";
export * from "./corpus/lazy";
export * from "./exports/lazy";
export * from "./images/lazy";
export * from "./inside/lazy";
export * from "./lens/lazy";
export * from "./qk/lazy";
export * from "./sentences/lazy";
export * from "./similarity/lazy";
export * from "./surprisal/lazy";
export * from "./tasks/lazy";
export * from "./tree/lazy";
export * from "./why/lazy";
