/** Entry of static/engine.js: gives the page `attnWidgetEngine.open(file)`. */

import { type Core, type Engine, openEngine } from "./client";

/** Put here by the build: the bundle of core.ts in a function, and the compiled kernels in base64. */
declare const CORE: () => Core;
declare const KERNELS: string;

function decode(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

function open(file: Uint8Array<ArrayBuffer>): Promise<Engine> {
  return openEngine(CORE, decode(KERNELS), file);
}

Object.assign(globalThis, { attnWidgetEngine: { open, core: CORE, kernels: decode(KERNELS) } });
