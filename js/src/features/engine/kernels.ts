/** The compiled kernels of js/engine/kernels.ts, and whether this browser can run them. */

import { EngineError } from "./errors";

/** Addresses and sizes in bytes or numbers: see js/engine/kernels.ts. */
export interface Kernels {
  readonly memory: WebAssembly.Memory;
  linear(
    x: number,
    rows: number,
    n: number,
    matrix: number,
    panels: number,
    bias: number,
    out: number,
    scratch: number,
  ): void;
  gelu(x: number, count: number): void;
  norm(
    x: number,
    residual: number,
    rows: number,
    n: number,
    weight: number,
    bias: number,
    eps: number,
    out: number,
    scratch: number,
  ): void;
  head(
    q: number,
    k: number,
    v: number,
    context: number,
    stride: number,
    length: number,
    size: number,
    scale: number,
    mask: number,
    scores: number,
    panel: number,
    weights: number,
  ): void;
  carry(
    weights: number,
    v: number,
    context: number,
    stride: number,
    length: number,
    size: number,
    sources: number,
    scores: number,
    panel: number,
  ): void;
  decode(from: number, groups: number, to: number): void;
  gather(matrix: number, index: number, n: number, out: number): void;
  addRow(row: number, n: number, out: number): void;
  crc32(from: number, bytes: number, table: number): number;
}

/** Compile and start the kernels. */
export async function startKernels(code: BufferSource): Promise<Kernels> {
  if (typeof WebAssembly !== "object")
    throw new EngineError(
      "unsupported",
      "This browser has no WebAssembly, which the model needs. The recorded run is still shown.",
    );
  if (!WebAssembly.validate(code))
    throw new EngineError(
      "unsupported",
      "This browser has WebAssembly without SIMD, which the model needs: Chrome 91, Firefox 89, Safari 16.4 or later have it.",
    );
  try {
    const { instance } = await WebAssembly.instantiate(code, {});
    return instance.exports as unknown as Kernels;
  } catch (error) {
    throw new EngineError(
      "unsupported",
      `WebAssembly could not start here, perhaps because the page's policy forbids it (${String(error)}).`,
    );
  }
}
