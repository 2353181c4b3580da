/** Addresses of a run's arrays in WebAssembly memory. */

import type { Header } from "./file";
import type { ModelInput } from "./input";

export const F32 = 4;
/** Rows of a tile and columns of a panel: see js/engine/kernels.ts. */
export const ROWS = 4;
export const COLUMNS = 8;

export const upTo = (value: number, step: number): number => Math.ceil(value / step) * step;

/** Addresses of what one run leaves in memory. */
export interface MemoryLayout {
  readonly length: number;
  readonly rows: number;
  readonly hidden: number;
  readonly query: number;
  readonly key: number;
  readonly value: number;
  readonly weights: number;
  /** First free byte behind what the run keeps: the buffers below are used for other things as well. */
  readonly end: number;
  readonly context: number;
  readonly between: number;
  readonly inner: number;
  readonly scores: number;
  readonly mask: number;
  /** Scratch space, to compute a layer again without a token. */
  readonly spare: number;
  /** First byte behind them all. */
  readonly free: number;
  readonly input: ModelInput;
}

/** Places from `heap` on. */
export function layOut(header: Header, heap: number, input: ModelInput): MemoryLayout {
  const { layers, heads, hidden, intermediate } = header;
  const { length } = input.ids;
  const rows = upTo(length, ROWS);
  const columns = upTo(length, COLUMNS);
  const wide = rows * hidden * F32;
  let free = heap;
  const take = (size: number): number => {
    const place = free;
    free = upTo(free + size, 16);
    return place;
  };
  const kept = {
    hidden: take((layers + 1) * wide),
    query: take(layers * wide),
    key: take(layers * wide),
    value: take(layers * wide),
    weights: take(layers * heads * length * length * F32),
  };
  const end = free;
  const used = {
    context: take(wide),
    between: take(wide),
    inner: take(rows * intermediate * F32),
    scores: take(rows * columns * F32),
    mask: take(columns * F32),
    spare: take(wide),
  };
  return { ...{ length, rows, end, free, input }, ...kept, ...used };
}
