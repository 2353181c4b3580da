/** Entry of static/engine.js: gives the page `attnWidgetEngine.open(file)`. */

import { type Core, type Engine, type GivenFile, openEngine } from "./client";

/** Put here by the build: the bundle of core.ts in a function, and the kernels compiled twice, in base64. */
declare const CORE: () => Core;
declare const KERNELS: string;
declare const RELAXED: string;

function decode(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** The kernels with relaxed SIMD where the browser has it, else those with SIMD. */
function kernels(): Uint8Array<ArrayBuffer> {
  const relaxed = decode(RELAXED);
  return typeof WebAssembly === "object" && WebAssembly.validate(relaxed)
    ? relaxed
    : decode(KERNELS);
}

function open(file: GivenFile): Promise<Engine> {
  return openEngine(CORE, kernels(), file);
}

Object.assign(globalThis, { attnWidgetEngine: { open, core: CORE, kernels: kernels() } });
