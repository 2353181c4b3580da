/** The selected matrix as it is drawn: its cells and labels, what is marked, which links are drawn, the numbers of pairs. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import type { Mode } from "../../draw/color/ramp";
import { longestOf } from "../../draw/heatmap/labels";
import type { Longest } from "../../draw/heatmap/layout";
import type { Cell, HeatmapData, Highlights } from "../../draw/heatmap/types";
import { boundariesOf } from "../../figures/derive/boundaries";
import { valueOfRank } from "../../figures/derive/matrix";
import { isSquare, type Matrix, NO_OVERFLOW, overflowOf, topOf } from "../../figures/matrix";
import { type AxisLabels, axisLabels, axisNames, rowLabels } from "../../figures/names";
import type { PairNumbers } from "../../figures/pairs";
import { keysOf } from "../../protocol/meta";
import type { Selection } from "../../state/selection";
import { modeSignal, selectionOf } from "../../ui/mount";
import { lazyCode, type ViewContext } from "../contract";
import { type Cells, cellsOf, highlightsOf } from "./cells";
import { restIn } from "./export";
import { factsOf, type Language } from "./facts";
import { isNarrow } from "./layout";
import { linksOfRow } from "./narrow";

const NO_STARTS: HeatmapData["starts"] = { rows: new Map(), columns: new Map() };
const NO_BOUNDARIES: HeatmapData["boundaries"] = { rows: [], columns: [] };
/** Links drawn at first: about this many a query. */
const LINKS_PER_ROW = 2;
/** Beyond this many links the drawing is illegible. */
const LINKS_MAX = 240;

export const isEmpty = ({ queries, keys }: Matrix): boolean => queries.length * keys.length === 0;

export class AttentionModel {
  readonly matrix = signal<Matrix | null>(null);
  readonly selection: ReadonlySignal<Selection>;
  readonly mode: ReadonlySignal<Mode>;
  readonly language = signal<Language | null>(null);
  readonly boundaries = signal<HeatmapData["boundaries"]>(NO_BOUNDARIES);
  /** True if boundaries are drawn. */
  readonly lines = signal(true);
  /** The picture of a view that is too narrow for both. */
  readonly picture = signal<"matrix" | "flow">("matrix");
  readonly threshold = signal(0);
  /** True if the reader has chosen from which weight on links are drawn. */
  readonly chosen = signal(false);
  /** Links in the flow. */
  readonly links = signal(0);
  readonly zoomed = signal(false);
  /** Counts what has come for the pair under inspection, and the code of later parts. */
  readonly arrivals = signal(0);
  readonly axes;
  readonly facts;
  cells: Cells | null = null;
  labels: AxisLabels = { queries: [], keys: [], written: null };
  starts: HeatmapData["starts"];
  cursor: Cell | null = null;
  /** True if few labels of so many cells can be written. */
  narrow = false;
  #units: Pick<Matrix, "queries" | "keys"> | null = null;
  /** Labels of the rows, with what is written there. */
  #named: readonly string[] = [];
  #longest: Longest | null = null;
  #numbers: PairNumbers | null = null;
  /** Chosen by hand: kept as a share of the maximum when the head changes. */
  #share: number | null = null;

  constructor(
    readonly context: ViewContext,
    element: HTMLElement,
  ) {
    const { source, state, signal: until } = context;
    const keys = ["quantity", "head", "words", "token", "pair", "group"] as const;
    this.selection = selectionOf(state, keys, until);
    this.mode = modeSignal(element, until);
    this.axes = axisNames(source.meta);
    this.facts = factsOf(source, () => this.language.value);
  }

  /** Numbers of pairs; null until their code is here. */
  get numbers(): PairNumbers | null {
    const { source, signal } = this.context;
    this.#numbers ??= lazyCode.peek()?.createPairNumbers(source, signal) ?? null;
    return this.#numbers;
  }

  /** Take another matrix; true if it needs another layout. */
  take(next: Matrix): boolean {
    const [rows, columns] = [next.queries.length, next.keys.length];
    const { cursor, narrow } = this;
    this.matrix.value = next;
    this.cells = cellsOf(next);
    if (next.queries !== this.#units?.queries) {
      this.#units = next;
      this.labels = axisLabels(next, this.context.source.meta);
      this.#named = rowLabels(this.labels);
      this.#longest = null;
      this.narrow = isNarrow({ rows, columns });
      this.#bound(next);
      this.nameStarts();
    }
    this.cursor = cursor !== null && cursor.row < rows && cursor.column < columns ? cursor : null;
    this.threshold.value =
      this.#share === null
        ? valueOfRank(next.weights, Math.min(LINKS_PER_ROW * rows, LINKS_MAX), next.max)
        : this.#share * next.max;
    return narrow !== this.narrow;
  }

  /** Take what is known of the words; true if it shows in the picture. */
  learn(language: Language): boolean {
    this.language.value = language;
    if (this.#units !== null) this.#bound(this.#units);
    this.nameStarts();
    const { rows, columns } = this.boundaries.value;
    return rows.length + columns.length > 0;
  }

  #bound({ queries, keys }: Pick<Matrix, "queries" | "keys">): void {
    const { sentence = null, keySentence = null } = this.language.value ?? {};
    const rows = boundariesOf(queries, sentence);
    const columns = isSquare({ queries, keys }) ? rows : boundariesOf(keys, keySentence);
    this.boundaries.value = { rows, columns };
  }

  /** First words of sentences, where labels have no room. */
  nameStarts(): void {
    const { meta } = this.context.source;
    if (this.#units === null) return;
    const of = lazyCode.peek()?.startsOfAxes;
    this.starts = this.narrow
      ? (of?.(this.#units, meta.tokens, keysOf(meta), this.boundaries.value) ?? NO_STARTS)
      : undefined;
  }

  setThreshold(value: number): void {
    const { max = 0 } = this.matrix.value ?? {};
    this.threshold.value = value;
    this.chosen.value = true;
    this.#share = max > 0 ? value / max : null;
  }

  /** Row and column of the pinned pair, -1 where it is not shown. */
  pinned({ queryOf, keyOf }: Matrix): readonly [row: number, column: number] {
    const { pair } = this.selection.value;
    return pair === null ? [-1, -1] : [queryOf(pair[0]), keyOf(pair[1])];
  }

  highlights(shown: Matrix): Highlights {
    const { cells, cursor, narrow } = this;
    const selection = this.context.state.get();
    return highlightsOf(shown, selection, cursor, (row) =>
      narrow && cells !== null ? linksOfRow(shown, cells, row, selection.scale) : [],
    );
  }

  axisData() {
    return {
      rowLabels: this.#named,
      columnLabels: this.labels.keys,
      axes: this.axes,
      ...(this.starts === undefined ? {} : { starts: this.starts }),
    };
  }

  mapData(shown: Matrix, { most, ...values }: Cells): HeatmapData {
    const { scale } = this.context.state.get();
    return {
      rows: shown.queries.length,
      columns: shown.keys.length,
      ...values,
      max: most ?? topOf(shown, scale),
      scale,
      overflow: most === null ? overflowOf(shown, scale) : NO_OVERFLOW,
      ...this.axisData(),
      marginal: shown.received,
      marginalName: "received",
      rest: most === null ? restIn(shown, this.context.source.meta) : null,
      boundaries: this.lines.value ? this.boundaries.value : NO_BOUNDARIES,
    };
  }

  /** The longest labels, measured once for each pair of axes. */
  longest(pen: CanvasRenderingContext2D, font: string): Longest {
    this.#longest ??= longestOf(pen, this.axisData(), font);
    return this.#longest;
  }

  /** Ask for scores, queries and keys of the pair under inspection, not of every head on the way; `arrived` follows. */
  async loadNumbers(arrived: () => void): Promise<void> {
    const asked = this.matrix.value;
    if (asked === null || this.numbers === null) return;
    await this.numbers.load(asked);
    if (this.matrix.value !== asked || this.context.signal.aborted) return;
    this.arrivals.value++;
    arrived();
  }
}
