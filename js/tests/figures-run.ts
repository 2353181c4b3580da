/** A run small enough to calculate in the test: 3 layers, 4 heads, 6 tokens, 40 entries in the vocabulary. */

import { SliceFailure } from "../src/protocol/failure";
import { itemAt, required } from "../src/protocol/required";
import type { Meta, NdArray } from "../src/protocol/types";
import type { Selection } from "../src/state/selection";
import type { Mode } from "../src/views/predictions/data";
import { type Fake, fakeRun } from "./fake";

export const LAYERS = 3;
export const HEADS = 4;
export const VOCABULARY = 40;
export const TOP_K = 5;

/** Token texts by position; what is hostile in a page is here on purpose. */
export const TOKENS = ["[CLS]", "<img src=x onerror=alert(1)>", "sit", "##ting", "שלום", "[SEP]"];
export const SURFACES = ["[CLS]", "<img src=x onerror=alert(1)>", "sit", "ting", "שלום", "[SEP]"];
export const IDS = [0, 7, 8, 9, 10, 1];
const SPECIAL = [true, false, false, false, false, true];
const N = TOKENS.length;

/** mulberry32: the same numbers in every run. */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function softmax(scores: readonly number[]): number[] {
  const largest = Math.max(...scores);
  const exps = scores.map((score) => Math.exp(score - largest));
  const total = exps.reduce((a, b) => a + b, 0);
  return exps.map((exp) => exp / total);
}

const text = (id: number): string => {
  const position = IDS.indexOf(id);
  return position >= 0 ? itemAt(TOKENS, position) : id === 20 ? "</script>" : `w${id}`;
};

/** Logits of every position and mode, float32 as a model gives them. */
export const LOGITS: Record<Mode, number[][]> = (() => {
  const next = random(1);
  const draw = (pull: number): number[][] =>
    IDS.map((own) =>
      Array.from({ length: VOCABULARY }, (_, id) =>
        Math.fround(6 * next() - 3 + (id === own ? pull : 0)),
      ),
    );
  return { as_is: draw(5), masked: draw(0) };
})();

export const descending = (logits: readonly number[]): number[] =>
  logits.map((_, id) => id).sort((a, b) => itemAt(logits, b) - itemAt(logits, a));

/** Attention `[L, H, n, n]` as nested arrays. */
export const ATTENTION: number[][][][] = (() => {
  const next = random(2);
  return Array.from({ length: LAYERS }, (_, layer) =>
    Array.from({ length: HEADS }, (_, head) =>
      Array.from({ length: N }, () =>
        softmax(Array.from({ length: N }, () => (1 + layer + head) * 2 * next())),
      ),
    ),
  );
})();

/** The metrics from their definition, of one matrix whose impossible cells are NaN. */
export function figures(
  matrix: readonly (readonly number[])[],
  tau: number,
): Record<string, number> {
  const rows = matrix.map((row) => row.filter((cell) => !Number.isNaN(cell)));
  const cells = rows.flat();
  const sorted = [...cells].sort((a, b) => a - b);
  const mean = cells.reduce((a, b) => a + b, 0) / cells.length;
  return {
    confidence_max: Math.max(...cells),
    confidence_avg: rows.reduce((total, row) => total + Math.max(...row), 0) / rows.length,
    focus_entropy: -cells.reduce(
      (total, cell) => total + (cell > 0 ? cell * Math.log(cell) : 0),
      0,
    ),
    sparsity: cells.filter((cell) => cell < tau).length / cells.length,
    distribution_median:
      (itemAt(sorted, Math.floor((sorted.length - 1) / 2)) +
        itemAt(sorted, Math.floor(sorted.length / 2))) /
      2,
    effective_keys:
      rows.reduce(
        (total, row) =>
          total +
          Math.exp(-row.reduce((sum, cell) => sum + (cell > 0 ? cell * Math.log(cell) : 0), 0)),
        0,
      ) / rows.length,
    uniformity: Math.sqrt(
      cells.reduce((total, cell) => total + (cell - mean) ** 2, 0) / cells.length,
    ),
  };
}

/** One of the six metrics. */
export const figureOf = (
  matrix: readonly (readonly number[])[],
  tau: number,
  key: string,
): number => required(figures(matrix, tau)[key], key);

const float32 = (values: readonly number[], ...shape: number[]): NdArray => ({
  data: Float32Array.from(values),
  shape,
});

export function metricArrays(tau: number): Map<string, NdArray> {
  const all = ATTENTION.flat().map((matrix) => figures(matrix, tau));
  return new Map(
    Object.keys(itemAt(all, 0)).map((key) => [
      `metric:${key}`,
      float32(
        all.map((figure) => required(figure[key], key)),
        LAYERS,
        HEADS,
      ),
    ]),
  );
}

/** Least, most and uniform attention's figure of each metric; the range of entropy alone is its own. */
function scaleAt(tau: number): Record<string, readonly [number, number, number]> {
  const uniform = figures(
    TOKENS.map(() => TOKENS.map(() => 1 / N)),
    tau,
  );
  return Object.fromEntries(
    Object.entries(uniform).map(([key, value]) => [
      key,
      [0, key === "focus_entropy" ? N * Math.log(N) : 1, value] as const,
    ]),
  );
}

const logSumExp = (row: readonly number[]): number =>
  Math.max(...row) + Math.log(row.reduce((total, z) => total + Math.exp(z - Math.max(...row)), 0));

const stack = (values: readonly number[]): NdArray => float32(values, LAYERS, HEADS);
const SIZE = LAYERS * HEADS;

/** Raw specializations of every head; `entities` is N/A, as in a text without one. */
export const RAW: Readonly<Record<string, readonly number[]>> = (() => {
  const next = random(3);
  const keys = ["syntax", "semantics", "cls", "punctuation", "entities", "long_range", "self"];
  return Object.fromEntries(
    keys.map((key) => [
      key,
      Array.from({ length: SIZE }, () => (key === "entities" ? Number.NaN : Math.fround(next()))),
    ]),
  );
})();
export const NO_ENTITY = "The text has no named entity.";
export const CHANCE = 1 / N;

/** Min-max by layer, and z-scores over all heads, from the definition. */
export function scaledOf(raw: readonly number[]): number[] {
  return raw.map((value, index) => {
    const first = index - (index % HEADS);
    const layer = raw.slice(first, first + HEADS);
    return (value - Math.min(...layer)) / (Math.max(...layer) - Math.min(...layer));
  });
}
export function standardOf(raw: readonly number[]): number[] {
  const mean = raw.reduce((a, b) => a + b, 0) / raw.length;
  const variance = raw.reduce((a, b) => a + (b - mean) ** 2, 0) / raw.length;
  return raw.map((value) => (value - mean) / Math.sqrt(variance));
}

function specialization() {
  const entries = Object.entries(RAW);
  const arrays = entries.flatMap(([key, raw]): [string, NdArray][] => [
    [`raw:${key}`, stack(raw)],
    [`scaled:${key}`, stack(scaledOf(raw))],
    [`z:${key}`, stack(standardOf(raw))],
  ]);
  const chance = entries.map(([key]) => [key, key === "entities" ? null : CHANCE]);
  return {
    data: {
      keys: Object.keys(RAW),
      chance: Object.fromEntries(chance),
      reasons: { entities: NO_ENTITY },
      notes: ["The tagger speaks English only."],
    },
    arrays: new Map(arrays),
  };
}

/** Mean weight one token back and one token on, from the definition. */
export const PATTERN: Readonly<Record<string, readonly number[]>> = Object.fromEntries(
  (
    [
      ["previous", -1],
      ["next", 1],
    ] as const
  ).map(([key, offset]) => [
    key,
    ATTENTION.flat().map((matrix) => {
      const seen = matrix.flatMap((row, i) => row[i + offset] ?? []);
      return Math.fround(seen.reduce((a, b) => a + b, 0) / (N - 1));
    }),
  ]),
);

export const ROLE_NAMES = ["cls + long_range", "<b>punctuation</b>", "diffuse"];
/** Role of head `i`: 0, 1, 2, 0 ...; on a grid of 4 by 3 places. */
const labels = Array.from({ length: SIZE }, (_, index) => index % 3);
const layout = labels.flatMap((_, index) => [3 * (index % HEADS), Math.floor(index / HEADS)]);

function roles() {
  return {
    data: {
      names: ROLE_NAMES,
      axes: ["cls", "self"],
      explained: 0.8,
      silhouettes: { 2: 0.2, 3: 0.5 },
      seed: 0,
    },
    arrays: new Map<string, NdArray>([
      ["labels", { data: Int32Array.from(labels), shape: [LAYERS, HEADS] }],
      ["layout", float32(layout, LAYERS, HEADS, 2)],
      ["centroids", float32(new Array(6).fill(0), 3, 2)],
    ]),
  };
}

/** A profile's arrays: the figures of the run as means, with an interval about each. */
export function profileArrays(): Map<string, NdArray> {
  const means = new Map(
    [...metricArrays(0.01)].map(([name, { data }]) => [name.slice(7), [...data]]),
  );
  for (const [key, raw] of [...Object.entries(RAW), ...Object.entries(PATTERN)])
    means.set(key, [...raw]);
  return new Map(
    [...means].flatMap(([key, mean]): [string, NdArray][] => [
      [`metric:${key}`, stack(mean)],
      [`low:${key}`, stack(mean.map((value) => value - 0.01))],
      [`high:${key}`, stack(mean.map((value) => value + 0.02))],
      [`sd:${key}`, stack(mean.map(() => 0.25))],
      [`count:${key}`, { data: new Int32Array(SIZE).fill(5), shape: [LAYERS, HEADS] }],
    ]),
  );
}

export function predictionArrays(mode: Mode, k: number): Map<string, NdArray> {
  const rows = LOGITS[mode];
  const top = rows.map((row) => descending(row).slice(0, k));
  return new Map<string, NdArray>([
    ["prediction_ids", { data: Int32Array.from(top.flat()), shape: [N, k] }],
    [
      "prediction_logits",
      float32(
        top.flatMap((ids, i) => ids.map((id) => itemAt(itemAt(rows, i), id))),
        N,
        k,
      ),
    ],
    [
      "prediction_probabilities",
      float32(
        top.flatMap((ids, i) => ids.map((id) => itemAt(softmax(itemAt(rows, i)), id))),
        N,
        k,
      ),
    ],
    [
      "logit_max",
      float32(
        rows.map((row) => Math.max(...row)),
        N,
      ),
    ],
    ["log_sum_exp", { data: Float64Array.from(rows.map(logSumExp)), shape: [N] }],
    [
      "original_rank",
      {
        data: Int32Array.from(rows.map((row, i) => descending(row).indexOf(itemAt(IDS, i)) + 1)),
        shape: [N],
      },
    ],
    [
      "original_probability",
      float32(
        rows.map((row, i) => itemAt(softmax(row), itemAt(IDS, i))),
        N,
      ),
    ],
  ]);
}

function describe(mode: Mode, k: number) {
  const ids = LOGITS[mode].flatMap((row) => descending(row).slice(0, k));
  return { mode, top_k: k, vocabulary: Object.fromEntries(ids.map((id) => [id, text(id)])) };
}

export function openSoftmax(mode: Mode, position: number, wanted?: readonly number[]) {
  const row = itemAt(LOGITS[mode], position);
  const largest = Math.max(...row);
  const sum = row.reduce((total, z) => total + Math.exp(z - largest), 0);
  const order = descending(row);
  return {
    position,
    logit_max: largest,
    sum_exp: sum,
    log_sum_exp: largest + Math.log(sum),
    vocab_size: VOCABULARY,
    entries: (wanted ?? order.slice(0, 20)).map((id) => ({
      id,
      token: text(id),
      logit: itemAt(row, id),
      exp: Math.exp(itemAt(row, id) - largest),
      probability: Math.exp(itemAt(row, id) - largest) / sum,
      rank: order.indexOf(id) + 1,
    })),
  };
}

const META: Meta = {
  version: 1,
  masked: [],
  profile: null,
  model: {
    name: "tiny",
    family: "bert",
    n_layers: LAYERS,
    n_heads: HEADS,
    head_dim: 2,
    hidden_size: 8,
    vocab_size: VOCABULARY,
    max_length: 16,
    revision: null,
    has: { mlm: true, nsp: false, classifier: false, scores: true, qkv: true },
  },
  text: "",
  text_pair: null,
  truncated: null,
  tokens: {
    text: TOKENS,
    surface: SURFACES,
    before: TOKENS.map(() => ""),
    id: IDS,
    start: IDS,
    end: IDS,
    segment: IDS.map(() => 0),
    special: SPECIAL,
  },
  metrics: {
    keys: [...metricArrays(0.01).keys()].map((name) => name.slice(7)),
    tau: 0.01,
    scale: [scaleAt(0.01)],
  },
  thumb: N,
  predictions: describe("as_is", TOP_K),
  selected: null,
  versions: {},
};

function profileMeta(names: readonly string[]): Meta {
  const keys = names.filter((name) => name.startsWith("metric:")).map((name) => name.slice(7));
  const empty = Object.fromEntries(Object.keys(META.tokens).map((column) => [column, []]));
  return {
    ...META,
    metrics: { ...META.metrics, scale: [] },
    predictions: null,
    tokens: empty as unknown as Meta["tokens"],
    profile: { n_texts: 5, n_tokens: 1234, seed: 7, tagger: "spaCy", keys },
  };
}

export type Run = Fake;

/** A source that answers from the numbers above, with a kernel or, like a saved page, without one. */
export function run(
  options: {
    live?: boolean;
    mlm?: boolean;
    selection?: Partial<Selection>;
    possible?: Int32Array;
    /** Heads over 5 texts instead of one run. */
    profile?: boolean;
    /** Kinds of slices that are refused. */
    refused?: readonly string[];
  } = {},
): Fake {
  const {
    live = true,
    mlm = true,
    selection = {},
    possible,
    profile = false,
    refused = [],
  } = options;
  const ofRun: Meta = mlm
    ? META
    : { ...META, predictions: null, model: { ...META.model, has: { ...META.model.has, mlm } } };
  const painted = [...metricArrays(0.01), ...(mlm ? predictionArrays("as_is", TOP_K) : [])];
  const arrays = profile ? profileArrays() : new Map(painted);
  const meta: Meta = profile ? profileMeta([...arrays.keys()]) : ofRun;
  if (possible) arrays.set("possible", { data: possible, shape: [LAYERS, N] });
  return fakeRun(
    meta,
    (request) => {
      if (!live) throw new SliceFailure("There is no kernel here.", "Open the notebook.");
      const {
        kind,
        mode = "as_is",
        tau,
        top_k,
        position,
        token_ids,
      } = request as unknown as {
        kind: string;
        mode?: Mode;
        tau: number | "uniform";
        top_k: number;
        position: number;
        token_ids?: number[];
      };
      if (kind === "metrics") {
        const limit = tau === "uniform" ? 1 / N : tau;
        return { data: { tau, scale: [scaleAt(limit)] }, arrays: metricArrays(limit) };
      }
      if (kind === "predictions") {
        return { data: describe(mode, top_k), arrays: predictionArrays(mode, top_k) };
      }
      if (kind === "softmax") {
        return { data: openSoftmax(mode, position, token_ids), arrays: new Map() };
      }
      if (refused.includes(kind)) throw new SliceFailure(`No ${kind} here.`, "Try another text.");
      if (kind === "specialization") return specialization();
      if (kind === "patterns") {
        const found = Object.entries(PATTERN).map(([key, values]): [string, NdArray] => [
          `pattern:${key}`,
          stack(values),
        ]);
        return { data: { keys: Object.keys(PATTERN), chance: CHANCE }, arrays: new Map(found) };
      }
      if (kind === "roles") return roles();
      throw new SliceFailure(`Unknown kind of slice: ${kind}.`);
    },
    { arrays, live, selection: { layer: 1, head: 2, ...selection } },
  );
}

/** Let promises and the answers behind them settle. */
export const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
