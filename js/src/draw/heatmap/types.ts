/** Input, options and events of a heatmap. */

import type { Boundary } from "../../figures/derive/boundaries";
import type { Overflow } from "../../figures/matrix";
import type { Scale } from "../../state/selection";
import type { Palette } from "../color/theme";
import type { Size } from "./panzoom";

/** A run of positions on screen: `count` steps of `size` pixels from `start`. */
export interface Track {
  readonly start: number;
  readonly size: number;
  readonly count: number;
}

/** Position of the plot in the element, what stands below it and to its right (px), and whether column labels stand on end. */
export interface HeatmapLayout {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly below: number;
  readonly beside: number;
  readonly upright: boolean;
}

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

/** A label on an axis, at its middle (px). */
interface Label {
  readonly at: number;
  readonly text: string;
  readonly bold: boolean;
}

/** Labels along an axis. */
export interface AxisText {
  /** Labels within a range on screen (px); the highlighted places have theirs, in bold, the first of a crowd alone. */
  labels(
    track: Track,
    range: readonly [number, number],
    highlighted: readonly number[],
  ): readonly Label[];
  /** Size (px). */
  font(track: Track): number;
  /** A label that is cut may reach so far beyond its room (px). */
  readonly reach: number;
}

/** Texts of both axes; the same one where they have the same labels. */
export interface AxesText {
  readonly rows: AxisText;
  readonly columns: AxisText;
}

/** 1 minus the sum of each row, as it is drawn: on a track of its own, in the colors of the cells. */
export interface Rest {
  readonly values: Float32Array;
  readonly max: number;
  readonly scale: Scale;
  readonly rows: Track;
}

/** A matrix as a map draws it, whatever it is made of. */
export interface MapData extends Extent {
  layout(pen: CanvasRenderingContext2D, room: Size, font: string): HeatmapLayout;
  /** Paint the cells; the plot is clipped. */
  paint(context: CanvasRenderingContext2D, g: Geometry, colors: Palette): void;
  readonly text: AxesText;
  readonly axes: AxisNames | null;
  /** A bar below each column, `[columns]`, up to the largest of all or of those in sight. */
  readonly marginal: Float32Array;
  readonly marginalName: string;
  readonly marginalTop: "all" | "sight";
  readonly rest: ((g: Geometry) => Rest) | null;
  /** Thin lines between units. */
  readonly boundaries: Boundaries;
}

export interface Boundaries {
  readonly rows: readonly Boundary[];
  readonly columns: readonly Boundary[];
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
  readonly boundaries: Boundaries;
  /** First words of the sentences by their first row and column: labels of cells too narrow for one each. */
  readonly starts?: Starts;
}

export interface Starts {
  readonly rows: ReadonlyMap<number, string>;
  readonly columns: ReadonlyMap<number, string>;
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
  /** The strongest cells of one row, drawn large enough to be seen; empty where all cells are. */
  readonly links: readonly LinkMark[];
}

/** A cell of narrow cells, and its place on a ramp. */
export interface LinkMark extends Cell {
  readonly ramp: HeatmapData["ramp"];
  readonly shade: number;
}

const NO_GROUP = { rows: [], columns: [] };
export const NO_HIGHLIGHTS: Highlights = {
  row: -1,
  pair: null,
  hover: null,
  group: NO_GROUP,
  links: [],
};
/** Space between labels and plot (px). */
export const GUTTER_PAD = 8;
/** Bars below the plot (px). */
export const MARGINAL = { gap: 6, height: 22, foot: 2 } as const;
/** The column of the rests of rows (px). */
export const REST = { gap: 6, width: 12 } as const;
/** From this size of a cell on (px) cells are set apart by lines. */
export const GRID_FROM = 10;
export const LABEL_GAP = 13;
/** From this size on (px) every place of a crowded axis has a label, in the smallest size. */
export const LABEL_LEAST = 11;
