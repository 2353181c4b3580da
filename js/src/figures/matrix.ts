/** The matrix on screen: a quantity of the selected head or layer, or a rollout, as the selected units see it. */

import { onAbort } from "../protocol/abort";
import { latest } from "../protocol/asking";
import { isAbort } from "../protocol/failure";
import { keysOf } from "../protocol/meta";
import { arrayOf } from "../protocol/required";
import type { HeadIndex, Meta, Num, Progress, SliceRequest, Source } from "../protocol/types";
import { listen } from "../state/listen";
import type { Scale, Selection, State } from "../state/selection";
import { maximum, received } from "./derive/matrix";
import {
  type Axes,
  project,
  projectAllowed,
  selectCells,
  type Unit,
  unitOfToken,
  unitsOf,
} from "./derive/units";
import { formatNumber } from "./format";
import { hasHead, isRolled, type Measure, measureOf, mixingOf } from "./quantities";

export interface Matrix {
  readonly layer: number;
  /** Without a meaning where the quantity is of a layer, or of all layers so far. */
  readonly head: HeadIndex;
  /** Content of `weights`. */
  readonly quantity: Measure;
  /** Rows: the same array for every head of one choice of units. */
  readonly queries: readonly Unit[];
  /** Columns: the array of the rows, unless the keys are another text's. */
  readonly keys: readonly Unit[];
  /** `[queries, keys]`. */
  readonly weights: Float32Array;
  /** `[queries, keys]` scaled scores, `-Infinity` where impossible; null unless selected and available. */
  readonly scores: Float32Array | null;
  /** `[queries, keys]`, 0 where the model's mask forbids a cell; null when every cell is possible. */
  readonly allowed: Uint8Array | null;
  readonly max: number;
  /** The largest weight between two units that are no sinks; `max` where fewer than two are there, or it is 0. */
  readonly wordMax: number;
  /** True if token 0 counts as special: where the mask looks back alone, what finds nothing attends to it. */
  readonly sink?: boolean;
  /** Mean of each column over the queries that may look there, `[keys]`. */
  readonly received: Float32Array;
  /** Largest error of a value of `weights`, or of a sum of `terms` of them; absent where they are exact. */
  readonly error?: (value: number, terms?: number) => number;
  /** The same of a score. */
  readonly scoreError?: number;
  /** For the quantity `mixing`: the share of each token's output that comes from others, `[n]` tokens. */
  readonly ratio?: Float32Array;
  /** The row of a query token, -1 when it is not shown. */
  queryOf(token: number | null): number;
  /** The column of a key token, -1 when it is not shown. */
  keyOf(token: number | null): number;
}

export interface MatrixStore {
  get(): Matrix | null;
  /**
   * Called with every new matrix, and at once with the present one, until `signal` is aborted. Returns a function
   * that stops it sooner. What draws on a canvas goes `first`: a canvas asks for the style of the page, which is cheap until
   * others change elements.
   */
  on(listener: (matrix: Matrix) => void, signal?: AbortSignal, turn?: "first"): () => void;
}

/** True if queries and keys are tokens of one text. */
export const isSquare = ({ queries, keys }: Pick<Matrix, "queries" | "keys">): boolean =>
  queries === keys;

/** A value of a matrix, or a sum of `terms` of them. */
export const numOf = (matrix: Matrix, value: number, terms = 1): Num => ({
  value,
  error: matrix.error?.(value, terms) ?? 0,
});

/** A score of the matrix's head. */
export const scoreOf = (matrix: Matrix, value: number): Num => ({
  value,
  error: matrix.scoreError ?? 0,
});

/** Largest error of a value of a matrix. */
export const errorOf = (matrix: Matrix, value: number, terms = 1): number =>
  numOf(matrix, value, terms).error;

/** Errors of a matrix of these keys: a unit of several tokens is a sum. */
export function errorsOf(
  { precision }: Source,
  quantity: Matrix["quantity"],
  keys: readonly Unit[],
  head: HeadIndex,
  longest: unknown,
): Pick<Matrix, "error" | "scoreError"> {
  if (precision === undefined) return {};
  const pieces = keys.reduce((most, { token, end }) => Math.max(most, end - token), 1);
  return {
    error: (value, terms = 1) => {
      if (typeof longest === "number" && longest > 0) {
        // For a weight times a length: the bound of a weight is concave, so the largest length will do.
        return longest * precision.weight(value / longest, pieces * terms);
      }
      const off = quantity === "rollout" ? precision.rollout : precision.mixing?.[quantity];
      return off === undefined
        ? precision.weight(value, pieces * terms, head === "mean")
        : off * pieces * terms;
    },
    scoreError: precision.score,
  };
}

/** Upper end of the ramp of weights on a scale. */
export const topOf = (matrix: Matrix, scale: Scale): number =>
  scale === "words" ? matrix.wordMax : matrix.max;

/** True if a link of the unit says little of the text. */
export const isSink = ({ special, token }: Unit, sink?: boolean): boolean =>
  special || (sink === true && token === 0);

/** Rows and columns whose cells may pass the end of a ramp. */
export interface Overflow {
  readonly rows: readonly number[];
  readonly columns: readonly number[];
}

export const NO_OVERFLOW: Overflow = { rows: [], columns: [] };

/** The units whose cells may pass the end of that ramp: the sinks, where one does. */
export function overflowOf(matrix: Matrix, scale: Scale): Overflow {
  if (topOf(matrix, scale) >= matrix.max || scale !== "words") return NO_OVERFLOW;
  const sinks = (units: readonly Unit[]): number[] =>
    units.flatMap((unit, i) => (isSink(unit, matrix.sink) ? [i] : []));
  return { rows: sinks(matrix.queries), columns: sinks(matrix.keys) };
}

/** Legend entry for the cells beyond the ramp; empty if there are none. */
export function overflowText(matrix: Matrix, scale: Scale): string {
  const { rows, columns } = overflowOf(matrix, scale);
  if (rows.length + columns.length === 0) return "";
  const called = matrix.sink && columns.length === 1 ? "first token" : "special tokens";
  return `beyond: ${called}, at most ${formatNumber(numOf(matrix, matrix.max))}`;
}

function maxima(
  weights: Float32Array,
  { queries, keys }: Axes,
  sink: boolean,
): Pick<Matrix, "max" | "wordMax"> {
  const max = maximum(weights);
  const [rows, columns] = [queries.length, keys.length];
  const apart = (units: readonly Unit[]): boolean[] => units.map((unit) => isSink(unit, sink));
  const [apartRows, apartColumns] = [apart(queries), apart(keys)];
  let words = 0;
  // No iterators here: this runs over every cell at every head.
  for (let i = 0; i < rows; i++) {
    if (apartRows[i]) continue;
    for (let j = 0; j < columns; j++) {
      const weight = weights[i * columns + j] as number;
      if (weight > words && !apartColumns[j]) words = weight;
    }
  }
  const count = (units: readonly boolean[]): number => units.filter((apart) => !apart).length;
  const several = count(apartRows) * count(apartColumns) > 1;
  return { max, wordMax: several && words > 0 ? words : max };
}

const PREFETCH_DELAY_MS = 120;
/** Above this a neighbor costs more than the wait that it saves. */
const PREFETCH_TOKENS = 512;

const weightsRequest = (layer: number, head: HeadIndex): SliceRequest => ({
  kind: "weights",
  layer,
  head,
});

/** Why a selection has no scores, for the reader; null when it has. */
export function scoresAbsent(
  { head, words }: Pick<Selection, "head" | "words">,
  { model }: Pick<Meta, "model">,
): string | null {
  if (!model.has.scores) return "this run has only weights; its scores were not recorded";
  if (head === "mean") return "the mean head averages weights and has no scores of its own";
  if (words) return "a word averages several rows and columns; single tokens have scores";
  return null;
}

type Wanted = Pick<Selection, "layer" | "head" | "quantity">;

export function matrixRequest({ layer, head, quantity }: Wanted): SliceRequest {
  const kind = mixingOf(quantity);
  if (kind === null) {
    return quantity === "rollout" ? { kind: "rollout", layer } : weightsRequest(layer, head);
  }
  if (isRolled(quantity)) return { kind: "mixing_rollout", quantity: kind, layer };
  const oneHead = head === "mean" || !hasHead(quantity) ? null : head;
  return { kind: "mixing", quantity: kind, layer, head: oneHead };
}

/** The matrices one step away by arrow key. */
function neighbors(source: Source, { layer, head, quantity }: Wanted): SliceRequest[] {
  const { n_layers, n_heads } = source.meta.model;
  const near: [number, HeadIndex][] = [
    [layer - 1, head],
    [layer + 1, head],
  ];
  if (head !== "mean" && hasHead(quantity)) near.push([layer, head - 1], [layer, head + 1]);
  return near
    .filter(([l, k]) => l >= 0 && l < n_layers && (k === "mean" || (k >= 0 && k < n_heads)))
    .map(([l, k]) => matrixRequest({ layer: l, head: k, quantity }));
}

/** Handlers for the progress and the failures of a matrix, and the signal that ends its requests. */
interface MatrixEvents {
  /** Progress of slow work; null when over. `back` gives it up, for the quantity shown before. */
  readonly computing?: (progress: Progress | null, back: () => void) => void;
  readonly signal: AbortSignal;
  report(error: unknown): void;
  busy(waiting: boolean): void;
}

export function createMatrix(
  source: Source,
  state: State,
  { report, signal, busy, computing }: MatrixEvents,
): MatrixStore {
  const early = new Set<(matrix: Matrix) => void>();
  const listeners = new Set<(matrix: Matrix) => void>();
  const { tokens } = source.meta;
  const others = keysOf(source.meta);
  const [n, m] = [tokens.text.length, others.text.length];
  let current: Matrix | null = null;
  /** The same arrays as long as the same units are shown: views key what they build by them. */
  let lastAxes: { readonly key: string; readonly axes: Axes } | null = null;
  const next = latest(signal);
  let idle: ReturnType<typeof setTimeout> | undefined;
  /** The matrix that is shown or on its way; empty after a failure. */
  let asked = "";

  const wish = ({ layer, head, words, special, quantity }: Selection): string =>
    JSON.stringify([layer, hasHead(quantity) ? head : null, words, special, quantity]);

  async function load(): Promise<void> {
    const untilNext = next();
    clearTimeout(idle);
    const selection = state.get();
    asked = wish(selection);
    const { layer, head, words, special } = selection;
    const quantity = measureOf(selection.quantity);
    const options = { signal: untilNext };
    const late = setTimeout(() => busy(true), PREFETCH_DELAY_MS);
    const before = current?.quantity ?? "weights";
    const back = (): void => state.set({ quantity: before });
    let working = false;
    const progress = (done: number, total: number): void => {
      if (untilNext.aborted) return;
      working = true;
      computing?.({ label: "Running layers again", done, total }, back);
    };
    onAbort(untilNext, () => working && computing?.(null, back));
    const scored =
      head !== "mean" &&
      selection.quantity === "scores" &&
      scoresAbsent(selection, source.meta) === null;
    try {
      const [weights, language, scores] = await Promise.all([
        source.ask(matrixRequest(selection), { ...options, progress }),
        words ? source.ask({ kind: "language" }, options) : null,
        scored ? source.ask({ kind: "scores", layer, head }, options) : null,
      ]);
      if (untilNext.aborted) return;
      const column = (name: string) => (language?.data[name] ?? null) as (number | null)[] | null;
      const [tokenWord, keyWord] = [column("token_word"), column("key_word")];
      const key = `${words} ${special}`;
      if (lastAxes?.key !== key) {
        const queries = unitsOf(tokens, { special, tokenWord });
        const keys = others === tokens ? queries : unitsOf(others, { special, tokenWord: keyWord });
        lastAxes = { key, axes: { queries, keys } };
      }
      const { axes } = lastAxes;
      const { queries, keys } = axes;
      const raw = arrayOf(weights, "weights").data as Float32Array;
      const mask = weights.arrays.get("allowed")?.data as Uint8Array | undefined;
      const projected = project(raw, m, axes);
      const allowed = mask === undefined ? null : projectAllowed(mask, m, axes);
      const sink = source.meta.mask?.back.includes(layer) === true;
      const ratio = weights.arrays.get("ratio")?.data;
      const scoresOfAll = scores?.arrays.get("scores")?.data as Float32Array | undefined;
      current = {
        layer,
        head,
        quantity,
        queries,
        keys,
        weights: projected,
        scores: scoresOfAll === undefined ? null : selectCells(scoresOfAll, m, axes),
        allowed,
        sink,
        ...maxima(projected, axes, sink),
        received: received(projected, queries.length, keys.length, allowed),
        ...errorsOf(source, quantity, keys, selection.head, weights.data.longest),
        ...(ratio === undefined ? {} : { ratio: ratio as Float32Array }),
        queryOf: (token) => unitOfToken(queries, token),
        keyOf: (token) => unitOfToken(keys, token),
      };
      for (const listener of [...early, ...listeners]) listener(current);
      // Value zeroing takes the kernel too long to be asked for before it is wanted.
      if (
        source.live &&
        Math.max(n, m) <= PREFETCH_TOKENS &&
        mixingOf(quantity) !== "value_zeroing"
      ) {
        idle = setTimeout(() => {
          for (const request of neighbors(source, selection)) {
            source.ask(request, options).catch(() => undefined);
          }
        }, PREFETCH_DELAY_MS);
      }
    } catch (error) {
      if (isAbort(error) || untilNext.aborted) return;
      asked = "";
      report(error);
    } finally {
      if (working) computing?.(null, back);
      clearTimeout(late);
      if (!untilNext.aborted || signal.aborted) busy(false);
    }
  }

  // A quantity of a layer mixes all heads: another one changes nothing.
  const ask = (selection: Selection): void => void (asked !== wish(selection) && load());
  state.on(["layer", "head", "words", "special", "quantity"], ask, signal);
  onAbort(signal, () => {
    clearTimeout(idle);
    early.clear();
    listeners.clear();
  });
  void load();
  return {
    get: () => current,
    on(listener, until, turn) {
      const stop = listen(turn === "first" ? early : listeners, listener, until);
      if (current !== null) listener(current);
      return stop;
    },
  };
}

/** The keys of a group that are on screen. */
export function membersOf({ keyOf }: Matrix, group: readonly number[]): number[] {
  return [...new Set(group.map((token) => keyOf(token)).filter((unit) => unit >= 0))];
}
