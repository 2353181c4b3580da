/** Input, options and events of a heatmap. */

import type { Boundary } from "../../figures/derive/boundaries";
import type { Scale } from "../../state/selection";
import type { Track } from "./axis";

export interface HeatmapData {
  /** Rows and columns. */
  readonly size: number;
  readonly values: Float32Array;
  /** 0 = hatched; null = every cell is possible. */
  readonly allowed: Uint8Array | null;
  /** `weight`: from 0 to `max` on `scale`; `signed`: from `-max` to `max` around a true zero. */
  readonly ramp: "weight" | "signed";
  readonly max: number;
  readonly scale: Scale;
  /** Rows and columns whose cells may pass the end of the ramp: these are hatched. */
  readonly beyond: readonly number[];
  readonly labels: readonly string[];
  /** A bar below each column, `[size]`. */
  readonly marginal: Float32Array;
  readonly marginalName: string;
  /** Thin lines between units. */
  readonly boundaries: readonly Boundary[];
}

export interface Cell {
  /** -1 for a whole column. */
  readonly row: number;
  /** -1 for a whole row. */
  readonly column: number;
}

/** Where the plot lies in the element and how its window is placed (CSS pixels). */
export interface Geometry {
  readonly left: number;
  readonly top: number;
  readonly side: number;
  readonly rows: Track;
  readonly columns: Track;
  readonly zoomed: boolean;
}

export interface Highlights {
  readonly row: number;
  readonly pair: Cell | null;
  readonly hover: Cell | null;
  /** Rows and columns marked at the margins. */
  readonly group: readonly number[];
}

export const NO_HIGHLIGHTS: Highlights = { row: -1, pair: null, hover: null, group: [] };
/** Space between labels and plot (px). */
export const GUTTER_PAD = 8;
/** Bars below the plot (px). */
export const MARGINAL = { gap: 6, height: 22, foot: 2 } as const;
/** From this size of a cell on (px) cells are set apart by lines. */
export const GRID_FROM = 10;
export const LABEL_GAP = 13;
