/** A source that answers with the figures of the tiny text. */

import { SliceFailure } from "../src/protocol/failure";
import type { Meta } from "../src/protocol/types";
import type { Selection } from "../src/state/selection";
import type { Mode } from "../src/views/predictions/data";
import { type Fake, fakeRun } from "./fake";
import {
  CHANCE,
  metricArrays,
  PATTERN,
  patternArrays,
  profileArrays,
  roles,
  scaleAt,
  specialization,
} from "./head-figures";
import { describe, openSoftmax, predictionArrays } from "./prediction-figures";
import { HEADS, IDS, LAYERS, N, SPECIAL, SURFACES, TOKENS, VOCABULARY } from "./tiny-text";

export const TOP_K = 5;

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
  // The numbers of the first paint are on screen at once; a test of masked ones asks for them.
  predictions: { ...describe("as_is", TOP_K), opens: "as_is" },
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
        rows,
      } = request as unknown as {
        kind: string;
        mode?: Mode;
        tau: number | "uniform";
        top_k: number;
        position: number;
        token_ids?: number[];
        rows?: readonly [number, number];
      };
      if (kind === "metrics") {
        const limit = tau === "uniform" ? 1 / N : tau;
        return { data: { tau, scale: [scaleAt(limit)] }, arrays: metricArrays(limit) };
      }
      if (kind === "predictions") {
        return { data: describe(mode, top_k), arrays: predictionArrays(mode, top_k, rows) };
      }
      if (kind === "softmax") {
        return { data: openSoftmax(mode, position, token_ids), arrays: new Map() };
      }
      if (refused.includes(kind)) throw new SliceFailure(`No ${kind} here.`, "Try another text.");
      if (kind === "specialization") return specialization();
      if (kind === "patterns") {
        return {
          data: { keys: Object.keys(PATTERN), chance: { previous: CHANCE, next: CHANCE } },
          arrays: patternArrays(),
        };
      }
      if (kind === "roles") return roles();
      throw new SliceFailure(`Unknown kind of slice: ${kind}.`);
    },
    { arrays, live, selection: { layer: 1, head: 2, ...selection } },
  );
}
