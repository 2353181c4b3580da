/** Why a head looks there, by tokens: attn_widget/features/qk/cell.py. */

import { f32 } from "../../../../protocol/arrays";
import { SliceFailure } from "../../../../protocol/failure";
import { itemAt } from "../../../../protocol/required";
import type { Slice, SliceOptions, SliceRequest } from "../../../../protocol/types";
import type { Against } from "../../../qk/data";
import { type EngineRun, within } from "../engine-run";
import { type Answers, refused } from "./contract";

/** Tokens of the longest text: a layer's queries and keys of all its parts are kept, 12.6 MB of 384 units. */
const LONGEST = 64;
/** Rows of a source and a position that are carried through the network at once. */
const ROWS_AT_ONCE = 512;
/** Pairs that are named. */
const PAIRS = 8;
const LEAST_WEIGHT = 1e-6;
const BY_TOKENS =
  "What each token brings to this score, with all other attention, norms and gates as they were. It adds up exactly. " +
  "It is not what would happen without the token.";
const NO_OTHERS =
  "No other word is allowed in this row, only special or first tokens: the score is set against all of them, " +
  "which is no possible output of a word.";
const UNRELIABLE =
  "The weight is below one millionth: its logarithm, and so the contrast, is not reliable.";

/** Queries and keys of a layer, `[source][token][hidden]` each. */
interface Projections {
  readonly layer: number;
  readonly query: Float32Array;
  readonly key: Float32Array;
}
/** Projections of the last layer that was asked for. */
const kept = new WeakMap<EngineRun, Projections>();

async function projectionsOf(
  run: EngineRun,
  layer: number,
  { signal, progress }: SliceOptions,
): Promise<Projections> {
  const before = kept.get(run);
  if (before?.layer === layer) return before;
  const { n } = run;
  const size = n * run.meta.model.hidden_size;
  const found = { layer, query: new Float32Array(n * size), key: new Float32Array(n * size) };
  const count = Math.max(1, Math.floor(ROWS_AT_ONCE / n));
  for (let from = 0; from < n; from += count) {
    signal?.throwIfAborted();
    const to = Math.min(from + count, n);
    const both = await run.queue.of(run.input, (engine) =>
      engine.carriedProjections(layer, from, to),
    );
    found.query.set(both.subarray(0, (to - from) * size), from * size);
    found.key.set(both.subarray((to - from) * size), from * size);
    progress?.(to, n);
  }
  kept.set(run, found);
  return found;
}

/** Coefficients of a contrast over the keys, what makes log-odds of it, and why "all" took the place of "others". */
function contrastOf(run: EngineRun, scores: Float32Array, key: number, against: Against) {
  const { n } = run;
  const special = run.meta.tokens.special;
  const coefficients = new Float64Array(n);
  const others = Array.from({ length: n }, (_, k) => k).filter((k) => k !== key);
  const spread = (keys: readonly number[]) => {
    for (const k of keys) coefficients[k] = -1 / keys.length;
  };
  coefficients[key] = 1;
  let constant = 0;
  let fallback: string | null = null;
  if (typeof against === "number") {
    within("against", against, n);
    if (against === key)
      throw new SliceFailure(
        `against ${against} is the key itself, whose score less itself is 0.`,
        "Choose another key.",
      );
    coefficients[against] = -1;
  } else if (against === "rivals") {
    const top = Math.max(...others.map((k) => scores[k] as number));
    const shares = others.map((k) => Math.exp((scores[k] as number) - top));
    const whole = shares.reduce((sum, share) => sum + share, 0);
    others.forEach((k, at) => {
      const share = itemAt(shares, at) / whole;
      coefficients[k] = -share;
      constant += share * Math.log(Math.max(share, 1e-300));
    });
  } else {
    const words = others.filter((k) => !special[k]);
    if (against === "others" && words.length === 0) fallback = NO_OTHERS;
    spread(against === "others" && words.length > 0 ? words : others);
  }
  return { coefficients, constant, fallback };
}

async function qk(
  run: EngineRun,
  { layer, head, query, key, against, by }: SliceRequest<"qk">,
  options: SliceOptions,
): Promise<Slice> {
  const { n, scaling } = run;
  const { n_layers, n_heads, hidden_size: hidden, head_dim: width } = run.meta.model;
  if (head === "mean")
    throw new SliceFailure("A mean of heads has no query and key of its own: choose a head.");
  within("layer", layer, n_layers);
  within("head", head, n_heads);
  within("query", query, n);
  within("key", key, n);
  if (by === "parts" || against === "sink") throw refused("This sum");
  if (n > LONGEST)
    throw new SliceFailure(
      `Why a head looks there is computed in this page for texts of at most ${LONGEST} tokens, and this one has ${n}.`,
      "Shorten it, or open it in a notebook.",
    );
  const row = (matrix: Float32Array) => matrix.subarray(query * n, (query + 1) * n);
  const scores = row(await run.scores(layer, head));
  const weight = itemAt(row(run.weights(layer, head)), key);
  const { coefficients, constant, fallback } = contrastOf(run, scores, key, against);
  const found = await projectionsOf(run, layer, options);
  const columns = Array.from({ length: n }, (_, source) => {
    const sum = new Float64Array(width);
    for (let k = 0; k < n; k++) {
      const at = (source * n + k) * hidden + head * width;
      const c = coefficients[k] as number;
      if (c !== 0)
        for (let d = 0; d < width; d++)
          sum[d] = (sum[d] as number) + c * (found.key[at + d] as number);
    }
    return sum;
  });
  const matrix = new Float64Array(n * n);
  const sums = { query: new Float64Array(n), key: new Float64Array(n) };
  let total = 0;
  for (let a = 0; a < n; a++) {
    const at = (a * n + query) * hidden + head * width;
    for (let b = 0; b < n; b++) {
      const column = itemAt(columns, b);
      let product = 0;
      for (let d = 0; d < width; d++)
        product += (found.query[at + d] as number) * (column[d] as number);
      const value = scaling * product;
      matrix[a * n + b] = value;
      sums.query[a] = (sums.query[a] as number) + value;
      sums.key[b] = (sums.key[b] as number) + value;
      total += value;
    }
  }
  const contrast = scores.reduce((sum, score, k) => sum + (coefficients[k] as number) * score, 0);
  const order = Array.from(matrix, (_, at) => at).sort(
    (a, b) => Math.abs(itemAt(matrix, b)) - Math.abs(itemAt(matrix, a)) || a - b,
  );
  const pairs = order
    .slice(0, PAIRS)
    .map((at) => [Math.floor(at / n), at % n, itemAt(matrix, at)] as const);
  const unreliable = weight < LEAST_WEIGHT;
  const parts = Array.from({ length: n }, (_, token) => ({
    ...{ kind: "token", layer: null, head: null, token, source: null },
  }));
  return {
    data: {
      by: "tokens",
      others: ["tokens"],
      against: fallback === null ? against : "all",
      againsts: ["others", "all", "rivals"],
      ...{ fallback, score: itemAt(scores, key), weight, contrast, constant, unreliable },
      ...{ distance: 0, capped: null, gap: contrast - total },
      notes: [BY_TOKENS, ...(fallback ? [fallback] : []), ...(unreliable ? [UNRELIABLE] : [])],
      query_parts: parts,
      key_parts: parts,
      pairs,
      pairs_rest: contrast - pairs.reduce((sum, [, , value]) => sum + value, 0),
    },
    arrays: new Map([
      ["query_sums", f32(Float32Array.from(sums.query), n)],
      ["key_sums", f32(Float32Array.from(sums.key), n)],
      ["matrix", f32(Float32Array.from(matrix), n, n)],
    ]),
  };
}

export const QK: Answers = { qk };
