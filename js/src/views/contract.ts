/** Contract of a view: a function that draws into an element, its context, and the handle that it returns. */

import type { Palette } from "../draw/color/theme";
import type { FlowData } from "../draw/heatmap/flow";
import type { Geometry, HeatmapData, Highlights } from "../draw/heatmap/types";
import type { Matrix, MatrixStore } from "../figures/matrix";
import type { Table } from "../figures/table";
import type { Action, Filling, Meta, Source } from "../protocol/types";
import type { Selection, State } from "../state/selection";

/** Context of each part of the page for one run. A new run means new views: `source` never changes under one. */
export interface RunContext {
  readonly source: Source;
  readonly state: State;
  /** Start something in the kernel; null where there is none. Rejects with a `SliceFailure`. */
  readonly act: ((action: Action) => Promise<void>) | null;
  /** Show a message in the widget's own error strip and live region. */
  report(message: string, hint?: string): void;
  /** Say something to screen readers. */
  announce(message: string): void;
  /** Layers of a long text whose heads are still to come. */
  readonly filling?: Filling | null;
  /** Aborted when the view is disposed of. */
  readonly signal: AbortSignal;
  /** Aborted when the run is no longer shown; in a view `signal` may come sooner. */
  readonly runSignal?: AbortSignal;
}

/** Context of a view: the run, and the matrix of the selection. */
export interface ViewContext extends RunContext {
  readonly matrix: MatrixStore;
  /** Numbers that paint the ribbon in place of the focus token's row. */
  readonly paint?: PaintStore;
}

/** Signed numbers, one a token, that a view paints the text with. */
export interface TextPaint {
  readonly values: ArrayLike<number>;
  /** Verb before a number: `contributes`. */
  readonly verb: string;
}

export interface PaintStore {
  get(): TextPaint | null;
  set(paint: TextPaint | null): void;
  on(listener: () => void, signal?: AbortSignal): () => void;
  /** Mark a token that is pointed at, in the text and in the view. */
  point(token: number | null): void;
  onPoint(listener: (token: number | null) => void, signal?: AbortSignal): () => void;
}

/** Handle of a drawn view: `dispose()`, and its exports. */
export interface ViewHandle {
  dispose(): void;
  /** Null while there is nothing to export; a promise where numbers must be requested first. */
  table(): Table | null | Promise<Table | null>;
  /** The drawing as a vector, where it is one; complete in itself (styles inline). */
  svg?(): SVGSVGElement | null;
  /** The part of the view that a picture shows, in a sentence; null if it shows all. */
  part?(of: "svg" | "png"): string | null;
  /** State of the view's own switches (mode, aggregation, open stage), for captions. */
  options?(): Readonly<Record<string, string | number | boolean | null>>;
}

/** Draw into `element` and listen to `context.state`. */
export type DrawView<C extends RunContext = ViewContext> = (
  element: HTMLElement,
  context: C,
) => ViewHandle;

/** Description of a view, without its code; the views are listed in `index.ts`. */
export interface ViewDefinition {
  /** Value of the trait `view`. */
  readonly name: string;
  /** On its tab. */
  readonly label: string;
  /** Definition of the numbers, for captions. */
  readonly definition: string;
  /** The part of the selection that its picture depends on, for captions. */
  readonly options: readonly (keyof Selection)[];
  /** Whether the picture is of the selected head, marks it among the others, or has none. */
  readonly head: "shown" | "marked" | null;
  /** Whether it can show scores instead of weights, by a ramp that stands in the bar. */
  readonly scores?: true;
  /** Whether it is drawn in another way over a long text. */
  readonly long?: true;
  /** Whether a run has anything to show. */
  available(meta: Meta): boolean;
  /** Null where its code comes after the first picture (`src/lazy.ts`). */
  readonly draw: DrawView | null;
}

export const ofOneRun = (meta: Meta): boolean => meta.profile === null;

/** The view that is open, and its handle. */
export interface OpenView {
  readonly name: string;
  readonly drawn: ViewHandle | null;
}

export interface Printing {
  /** Draw all that paper shows, and open the browser's dialog for this widget alone; rejects where that is not allowed. */
  print(): Promise<void>;
}

/** Print what is open in `panel` whenever the page is printed. */
export type StartPrinting = (
  root: HTMLElement,
  panel: HTMLElement,
  context: ViewContext,
  open: () => OpenView,
  applyTheme: () => void,
) => Printing;

/** Where the cells of the head grid are, px; `step` is a cell and the gap after it. */
export interface GridCells {
  readonly layers: number;
  readonly heads: number;
  readonly cell: number;
  readonly step: number;
}

/** The amount that each token gives in every layer, for a quantity that has no heads. */
export interface LayerStrips {
  paint(context: CanvasRenderingContext2D, cells: GridCells): void;
}

/** A choice of the columns of a table that has many. */
export interface GroupSwitch {
  readonly element: HTMLElement;
  /** Those of the columns that are shown. */
  shown<C extends { readonly group: string }>(columns: readonly C[]): readonly C[];
  /** Show the kind of a column. */
  follow(column: { readonly group: string } | undefined): void;
}

/** Heatmap and flow as they are on screen; `wide`: beside each other. */
export interface AttentionDrawing {
  readonly data: HeatmapData;
  readonly links: FlowData;
  readonly geometry: Geometry;
  readonly highlights: Highlights;
  readonly units: readonly { readonly token: number }[];
  readonly width: number;
  readonly wide: boolean;
}

/** Parts of the page whose code comes after the first picture, with that of the lazy views. */
export interface LaterParts {
  readonly vectorStrips: (host: Element, q: Float32Array, k: Float32Array) => HTMLElement;
  readonly groupStrip: (
    context: ViewContext,
    matrix: Matrix,
    labels: readonly string[],
  ) => HTMLElement | null;
  readonly carriedSum: (
    context: ViewContext,
    matrix: Matrix,
    row: number,
    column: number,
  ) => HTMLElement | null;
  readonly attentionVector: (
    drawing: AttentionDrawing,
    meta: Meta,
    colors: Palette,
  ) => SVGSVGElement;
  readonly headExamples: (host: HTMLElement, context: RunContext) => void;
  readonly createGroupSwitch: (chosen: () => void) => GroupSwitch;
  readonly layerStrips: (host: Element, context: ViewContext, changed: () => void) => LayerStrips;
  readonly long: LongParts;
  readonly windows: WindowParts;
}

/** Parts for a text that was read in windows. */
export interface WindowParts {
  /** The window of a token's row, and those that read it. */
  readonly name: (meta: Meta, token: number, role?: "query" | "key") => string | null;
  /** Marks overlaps along the axes of a map. */
  readonly axes: (
    map: { readonly element: HTMLElement; readonly geometry: Geometry | null },
    meta: Meta,
    units: readonly { readonly token: number }[],
  ) => void;
  /** Names the marks along the axes of a picture; null without any. */
  readonly bars: (meta: Meta) => string | null;
  /** Marks them in the ribbon. */
  readonly ribbon: (ribbon: HTMLElement, meta: Meta, signal: AbortSignal) => void;
}

/** Parts drawn in another way over a long text (`figures/long/levels.ts`). */
export interface LongParts {
  readonly ribbon: (element: HTMLElement, context: ViewContext) => () => void;
  readonly focus: (element: HTMLElement, context: ViewContext) => () => void;
  /** Below the head grid: how many layers have come; `draw` is called for each that comes. */
  readonly filling: (
    context: RunContext,
    grid: Element,
    draw: (layer: number) => void,
  ) => () => void;
  /** By the name of the view. */
  readonly views: Readonly<Record<string, DrawView>>;
}

let parts: LaterParts | null = null;
const waiting = new Set<() => void>();

/** Null while their code is not here. */
export const laterParts = (): LaterParts | null => parts;

export function giveParts(found: LaterParts): void {
  parts = found;
  const asked = [...waiting];
  waiting.clear();
  for (const listener of asked) listener();
}

/** Call `listener` once they are here, and at once if they are. */
export function withParts(listener: () => void, signal: AbortSignal): void {
  if (parts !== null) listener();
  else {
    waiting.add(listener);
    signal.addEventListener("abort", () => waiting.delete(listener), { once: true });
  }
}
