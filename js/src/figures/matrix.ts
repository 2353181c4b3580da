/** The matrix on screen: a quantity of the selected head or layer, or a rollout, as the selected units see it. */

import { explain, isAbort } from "../protocol/failure";
import { arrayOf } from "../protocol/required";
import type { HeadIndex, Meta, Progress, SliceRequest, Source } from "../protocol/types";
import { listen } from "../state/listen";
import type { Scale, Selection, State } from "../state/selection";
import { maximum, received } from "./derive/matrix";
import {
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
  /** The same array for every head of one choice of units. */
  readonly units: readonly Unit[];
  /** Rows and columns. */
  readonly size: number;
  /** `[size, size]`, rows are queries. */
  readonly weights: Float32Array;
  /** `[size, size]` scaled scores, `-Infinity` where impossible; null unless selected and available. */
  readonly scores: Float32Array | null;
  /** `[size, size]`, 0 where the model's mask forbids a cell; null when every cell is possible. */
  readonly allowed: Uint8Array | null;
  readonly max: number;
  /** The largest weight between two units that are not special; `max` where fewer than two are there, or it is 0. */
  readonly wordMax: number;
  /** Mean over queries of each column, `[size]`. */
  readonly received: Float32Array;
  /** How far a value of `weights`, or a sum of `terms` of them, may be off; absent where they are exact. */
  readonly error?: (value: number, terms?: number) => number;
  /** The same of a score. */
  readonly scoreError?: number;
  /** For the quantity `mixing`: the share of each token's output that comes from others, `[n]` tokens. */
  readonly ratio?: Float32Array;
  /** The unit of a token, -1 when it is not shown. */
  unitOf(token: number | null): number;
}

export interface MatrixStore {
  get(): Matrix | null;
  /**
   * Called with every new matrix, and at once with the present one, until `signal` is aborted. Returns the way to
   * stop sooner. What draws on a canvas goes `first`: a canvas asks for the style of the page, which is cheap until
   * others change elements.
   */
  on(listener: (matrix: Matrix) => void, signal?: AbortSignal, turn?: "first"): () => void;
}

/** How far a value of a matrix, or a sum of `terms` of them, may be off; 0 where it is exact. */
export const errorOf = (matrix: Matrix, value: number, terms = 1): number =>
  matrix.error?.(value, terms) ?? 0;

/** Errors of a matrix of these units: a unit of several tokens is a sum over keys. */
export function errorsOf(
  { precision }: Source,
  quantity: Matrix["quantity"],
  units: readonly Unit[],
  head: HeadIndex,
  longest: unknown,
): Pick<Matrix, "error" | "scoreError"> {
  if (precision === undefined) return {};
  const pieces = units.reduce((most, { token, end }) => Math.max(most, end - token), 1);
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

/** Where the ramp of weights ends on a scale. */
export const topOf = (matrix: Matrix, scale: Scale): number =>
  scale === "words" ? matrix.wordMax : matrix.max;

/** The units whose cells may pass the end of that ramp: the special ones, where one does. */
export const beyondOf = (matrix: Matrix, scale: Scale): number[] =>
  topOf(matrix, scale) < matrix.max && scale === "words"
    ? matrix.units.flatMap(({ special }, i) => (special ? [i] : []))
    : [];

/** Legend entry for the cells beyond the ramp; empty if there are none. */
export function beyondText(matrix: Matrix, scale: Scale): string {
  if (beyondOf(matrix, scale).length === 0) return "";
  return `special tokens to ${formatNumber(matrix.max, undefined, errorOf(matrix, matrix.max))}`;
}

function maxima(weights: Float32Array, units: readonly Unit[]): Pick<Matrix, "max" | "wordMax"> {
  const max = maximum(weights);
  const { length } = units;
  let words = 0;
  // No iterators here: this runs over every cell at every head.
  for (let i = 0; i < length; i++) {
    if (units[i]?.special !== false) continue;
    for (let j = 0; j < length; j++) {
      const weight = weights[i * length + j] as number;
      if (weight > words && units[j]?.special === false) words = weight;
    }
  }
  const several = units.filter(({ special }) => !special).length > 1;
  return { max, wordMax: several && words > 0 ? words : max };
}

const PREFETCH_DELAY_MS = 120;
/** Above this a neighbor costs more than the wait that it saves. */
const PREFETCH_TOKENS = 512;

export const weightsRequest = (layer: number, head: HeadIndex): SliceRequest => ({
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
  const one = head === "mean" || !hasHead(quantity) ? null : head;
  return { kind: "mixing", quantity: kind, layer, head: one };
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

/** How long a matrix is followed, and who hears of its failures and of waiting for it. */
interface MatrixEvents {
  /** How far slow work is; null when it is over. `back` gives it up: to the quantity that is shown. */
  readonly computing?: (progress: Progress | null, back: () => void) => void;
  readonly signal: AbortSignal;
  report(message: string, hint?: string): void;
  busy(waiting: boolean): void;
}

export function createMatrix(
  source: Source,
  state: State,
  { report, signal, busy, computing }: MatrixEvents,
): MatrixStore {
  const early = new Set<(matrix: Matrix) => void>();
  const listeners = new Set<(matrix: Matrix) => void>();
  const n = source.meta.tokens.text.length;
  let current: Matrix | null = null;
  /** The same array as long as the same units are shown: views key what they build by it. */
  let known: { readonly key: string; readonly units: readonly Unit[] } | null = null;
  let asking: AbortController | null = null;
  let idle: ReturnType<typeof setTimeout> | undefined;
  /** The matrix that is shown or on its way; empty after a failure. */
  let asked = "";

  const wish = ({ layer, head, words, special, quantity }: Selection): string =>
    JSON.stringify([layer, hasHead(quantity) ? head : null, words, special, quantity]);

  async function load(): Promise<void> {
    asking?.abort();
    clearTimeout(idle);
    const mine = new AbortController();
    asking = mine;
    const selection = state.get();
    asked = wish(selection);
    const { layer, head, words, special } = selection;
    const quantity = measureOf(selection.quantity);
    const options = { signal: mine.signal };
    const late = setTimeout(() => busy(true), PREFETCH_DELAY_MS);
    const back = (): void => state.set({ quantity: current?.quantity ?? "weights" });
    let working = false;
    const progress = (done: number, total: number): void => {
      if (mine.signal.aborted) return;
      working = true;
      computing?.({ label: "Running layers again", done, total }, back);
    };
    mine.signal.addEventListener("abort", () => working && computing?.(null, back));
    const scored =
      head !== "mean" &&
      selection.quantity === "scores" &&
      scoresAbsent(selection, source.meta) === null;
    try {
      const [weights, language, scores] = await Promise.all([
        source.slice(matrixRequest(selection), { ...options, progress }),
        words ? source.slice({ kind: "language" }, options) : null,
        scored ? source.slice({ kind: "scores", layer, head }, options) : null,
      ]);
      if (mine.signal.aborted) return;
      const tokenWord = (language?.data.token_word ?? null) as (number | null)[] | null;
      const key = `${words} ${special}`;
      if (known?.key !== key) {
        known = { key, units: unitsOf(source.meta.tokens, { special, tokenWord }) };
      }
      const { units } = known;
      const size = units.length;
      const raw = arrayOf(weights, "weights").data as Float32Array;
      const mask = weights.arrays.get("allowed")?.data as Uint8Array | undefined;
      const projected = project(raw, n, units);
      const ratio = weights.arrays.get("ratio")?.data;
      const scoresOfAll = scores?.arrays.get("scores")?.data as Float32Array | undefined;
      current = {
        layer,
        head,
        quantity,
        units,
        size,
        weights: projected,
        scores: scoresOfAll === undefined ? null : selectCells(scoresOfAll, n, units),
        allowed: mask === undefined ? null : projectAllowed(mask, n, units),
        ...maxima(projected, units),
        received: received(projected, size, size),
        ...errorsOf(source, quantity, units, selection.head, weights.data.longest),
        ...(ratio === undefined ? {} : { ratio: ratio as Float32Array }),
        unitOf: (token) => unitOfToken(units, token),
      };
      for (const listener of [...early, ...listeners]) listener(current);
      // Value zeroing takes the kernel too long to be asked for before it is wanted.
      if (source.live && n <= PREFETCH_TOKENS && mixingOf(quantity) !== "value_zeroing") {
        idle = setTimeout(() => {
          for (const request of neighbors(source, selection)) {
            source.slice(request, options).catch(() => undefined);
          }
        }, PREFETCH_DELAY_MS);
      }
    } catch (error) {
      if (isAbort(error) || mine.signal.aborted) return;
      asked = "";
      const { message, hint } = explain(error);
      report(message, hint);
    } finally {
      if (working) computing?.(null, back);
      clearTimeout(late);
      if (asking === mine) busy(false);
    }
  }

  // A quantity of a layer mixes all heads: another one changes nothing.
  const ask = (selection: Selection): void => void (asked !== wish(selection) && load());
  state.on(["layer", "head", "words", "special", "quantity"], ask, signal);
  signal.addEventListener(
    "abort",
    () => {
      clearTimeout(idle);
      asking?.abort();
      early.clear();
      listeners.clear();
    },
    { once: true },
  );
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
