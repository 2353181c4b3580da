/** Input, options and events of a heatmap. */

import type { Boundary } from "../../figures/derive/boundaries";
import type { Overflow } from "../../figures/matrix";
import type { Scale } from "../../state/selection";
import type { Track } from "./axis";

/** Numbers of rows and columns. */
export interface Extent {
  readonly rows: number;
  readonly columns: number;
}

/** Names of both axes. */
export interface AxisNames {
  readonly rows: string;
  readonly columns: string;
}

export interface HeatmapData extends Extent {
  /** `[rows, columns]`. */
  readonly values: Float32Array;
  /** 0 = hatched; null = every cell is possible. */
  readonly allowed: Uint8Array | null;
  /** `weight`: from 0 to `max` on `scale`; `signed`: from `-max` to `max` around a true zero. */
  readonly ramp: "weight" | "signed";
  readonly max: number;
  readonly scale: Scale;
  /** Rows and columns whose cells may pass the end of the ramp: these are hatched. */
  readonly overflow: Overflow;
  readonly rowLabels: readonly string[];
  /** The array of the rows where both axes have the same labels. */
  readonly columnLabels: readonly string[];
  readonly axes: AxisNames;
  /** A bar below each column, `[columns]`. */
  readonly marginal: Float32Array;
  readonly marginalName: string;
  /** 1 minus the sum of each row, `[rows]`: a narrow column at the right; absent where rows sum to 1. */
  readonly rest?: Float32Array | null;
  /** Thin lines between units. */
  readonly boundaries: {
    readonly rows: readonly Boundary[];
    readonly columns: readonly Boundary[];
  };
}

export interface Cell {
  /** -1 for a whole column. */
  readonly row: number;
  /** -1 for a whole row. */
  readonly column: number;
}

/** Position of the plot in the element, and of its window (CSS pixels). */
export interface Geometry {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly rows: Track;
  readonly columns: Track;
  readonly zoomed: boolean;
  /** Width of the column at the right of the plot (px). */
  readonly beside?: number;
}

export interface Highlights {
  readonly row: number;
  readonly pair: Cell | null;
  readonly hover: Cell | null;
  /** Rows and columns marked at the margins. */
  readonly group: { readonly rows: readonly number[]; readonly columns: readonly number[] };
}

const NO_GROUP = { rows: [], columns: [] };
export const NO_HIGHLIGHTS: Highlights = { row: -1, pair: null, hover: null, group: NO_GROUP };
/** Space between labels and plot (px). */
export const GUTTER_PAD = 8;
/** Bars below the plot (px). */
export const MARGINAL = { gap: 6, height: 22, foot: 2 } as const;
/** The column of the rests of rows (px). */
export const REST = { gap: 6, width: 12 } as const;
/** From this size of a cell on (px) cells are set apart by lines. */
export const GRID_FROM = 10;
export const LABEL_GAP = 13;
