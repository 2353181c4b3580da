/** Questions of the view Why and their answers, typed. */

import { METHODS, type Method } from "../../catalog/definitions";
import { CLASSIFICATION, slicedClasses } from "../../figures/classes";
import { largest } from "../../figures/derive/matrix";
import { type Described, describedIn, spelled } from "../../figures/targets";
import type { Num } from "../../protocol/meta";
import { arrayOf, itemAt } from "../../protocol/required";
import type { Meta, NdArray, SliceOptions, Source, Target } from "../../protocol/types";
import type { OrderTests } from "./order-test";

export type { Method } from "../../catalog/definitions";

const NAMES = new Map(METHODS.map((method) => [method.key, method]));

/** A method by its key; contributions from elsewhere (`show(contributions=...)`) have the name that they were given. */
export const methodOf = (key: string): Method =>
  NAMES.get(key) ?? { key, name: key, short: key, about: "Computed elsewhere", quick: true };

/** True for contributions that another library computed. */
export const isOutside = (key: string): boolean => !NAMES.has(key);

/** The methods of a run: ours, then those from elsewhere. */
export const methodsOf = ({ outside = [] }: Meta): readonly Method[] => [
  ...METHODS,
  ...outside.map(methodOf),
];

/** The target, and by how much it leads. */
export interface Titled extends Num {
  readonly of: Described;
}

export interface Contributions extends Described, Num {
  readonly method: string;
  /** Below 0 speaks against the target; otherwise values are shares. */
  readonly signed: boolean;
  readonly bias: number | null;
  readonly baseline: number | null;
  readonly gap: number | null;
  /** One a token, those of a source first; NaN where the method does not ask. */
  readonly values: Float32Array;
}

/** Tests of the orders of all methods. */
export interface Trust extends OrderTests {
  readonly methods: readonly string[];
  readonly probability: number;
  /** Share of the words masked, by step. */
  readonly shares: Float32Array;
  /** `[M, S]`; mean, low and high end of random orders `[3, S]`; `[M, M]`, null for a single method. */
  readonly deleted: NdArray;
  readonly band: NdArray;
  readonly rho: NdArray | null;
}

/** Effects of all heads on the target, layer by layer. */
export interface Effects {
  /** Logits that go when the head is switched off. */
  readonly effects: Float32Array;
  /** The gradient's guess at the size of the effect. */
  readonly proxy: Float32Array;
  /** Spearman's ρ of the two. */
  readonly correlation: number | null;
}

export async function askContributions(
  source: Source,
  target: Target,
  key: string,
  options: SliceOptions,
): Promise<Contributions> {
  const slice = await source.ask({ kind: "contributions", target, method: key }, options);
  const own = arrayOf(slice, "values").data as Float32Array;
  const above = slice.arrays.get("source")?.data as Float32Array | undefined;
  const values = above === undefined ? own : Float32Array.of(...above, ...own);
  const data = slice.data as unknown as Contributions;
  const { signed, value, error, bias, baseline, gap } = data;
  const of = describedIn(source, data);
  return { ...of, method: key, signed, value, error, bias, baseline, gap, values };
}

export async function askTrust(
  source: Source,
  target: Target,
  methods: readonly string[],
  options: SliceOptions,
): Promise<Trust> {
  const slice = await source.ask({ kind: "trust", target, methods }, options);
  const data = slice.data as unknown as Trust;
  return {
    ...data,
    shares: arrayOf(slice, "shares").data as Float32Array,
    deleted: arrayOf(slice, "deleted"),
    band: arrayOf(slice, "random"),
    rho: slice.arrays.get("rho") ?? null,
  };
}

export async function askEffects(
  source: Source,
  target: Target,
  options: SliceOptions,
): Promise<Effects> {
  const slice = await source.ask({ kind: "head_effects", target }, options);
  return {
    effects: arrayOf(slice, "effects").data as Float32Array,
    proxy: arrayOf(slice, "proxy").data as Float32Array,
    correlation: slice.data.correlation as number | null,
  };
}

/** A next token's logit, or the difference of two, as a sum over the parts of the network. */
export interface Components extends Described {
  readonly value: number;
  readonly embedding: number;
  readonly bias: number;
  /** Distance of the sum from `value`, relative to the components without their signs. */
  readonly gap: number;
  /** `[L, H]` */
  readonly heads: Float32Array;
  readonly mlps: Float32Array;
}

export async function askComponents(
  source: Source,
  target: Target,
  signal: AbortSignal,
): Promise<Components> {
  const slice = await source.ask({ kind: "components", target }, { signal });
  const data = slice.data as unknown as Components;
  return {
    ...data,
    ...describedIn(source, data),
    heads: arrayOf(slice, "heads").data as Float32Array,
    mlps: arrayOf(slice, "mlps").data as Float32Array,
  };
}

/** One entry of a head's output. */
export interface Choice {
  readonly id: number;
  readonly name: string;
  readonly probability: number;
}

/** The number that is explained, without what it is compared with. */
export type Question =
  | { readonly of: "token"; readonly position: number; readonly masked: boolean }
  | { readonly of: "class"; readonly position: number | null }
  | { readonly of: "next_sentence" };

/** Words listed for a position; classes of a text. */
const LISTED = 6;

/** The likeliest entries of the head that a question is about; none for the next sentence. */
export async function askChoices(
  source: Source,
  question: Question,
  signal: AbortSignal,
): Promise<readonly Choice[]> {
  if (question.of === "next_sentence") return [];
  if (question.of === "class") {
    const classes = slicedClasses(await source.ask(CLASSIFICATION, { signal }));
    const row = (question.position ?? 0) * classes.labels.length;
    const logits = classes.labels.map((_, id) => classes.logits[row + id] ?? Number.NaN);
    return largest(logits, LISTED).map((id) => ({
      id,
      name: itemAt(classes.labels, id),
      probability: classes.probabilities[row + id] ?? Number.NaN,
    }));
  }
  const { position, masked } = question;
  const slice = await source.ask(
    {
      kind: "predictions",
      mode: source.meta.model.predicts === "next" ? "next" : masked ? "masked" : "as_is",
      top_k: LISTED,
      rows: [position, position + 1],
    },
    { signal },
  );
  const vocabulary = slice.data.vocabulary as Readonly<Record<string, string>>;
  const ids = Array.from(arrayOf(slice, "prediction_ids").data);
  const shares = arrayOf(slice, "prediction_probabilities").data;
  return ids.map((id, i) => ({
    id,
    name: spelled(source, vocabulary[id] ?? String(id), position),
    probability: itemAt(shares, i),
  }));
}

/** Fields in the order that makes equal targets the same request. */
export function targetFrom(
  question: Question,
  plus: number | string,
  against: number | string | null,
): Target {
  const minus = against === null || against === plus ? {} : { against };
  switch (question.of) {
    case "token": {
      const { position, masked } = question;
      return { position, token: plus, ...minus, ...(masked ? { masked } : {}) };
    }
    case "class": {
      const { position } = question;
      return { ...(position === null ? {} : { position }), ...minus, label: plus };
    }
    default:
      return { next_sentence: true };
  }
}

/** The first token of which Why can be asked "why this one?": it was written, as all after the start token of an encoder-decoder are. */
export const firstWritten = ({ written, source_tokens }: Meta): number | null =>
  written ?? (source_tokens ? 1 : null);

/** For each token from `first` on, a target at the position that wrote it: that token rather than the likeliest other one. */
export async function askWritten(
  source: Source,
  first: number,
  signal: AbortSignal,
): Promise<readonly Target[]> {
  const { id } = source.meta.tokens;
  const slice = await source.ask(
    { kind: "predictions", mode: "next", top_k: 2, rows: [first - 1, id.length - 1] },
    { signal },
  );
  const best = Array.from(arrayOf(slice, "prediction_ids").data);
  return id.slice(first).map((token, i) => {
    const [likeliest, second] = [itemAt(best, 2 * i), itemAt(best, 2 * i + 1)];
    const question = { of: "token", position: first - 1 + i, masked: false } as const;
    return targetFrom(question, token, likeliest === token ? second : likeliest);
  });
}

/** The question that a target answers. */
export function questionOf(target: Target): Question {
  if (target.next_sentence) return { of: "next_sentence" };
  if (target.label !== undefined) return { of: "class", position: target.position ?? null };
  return { of: "token", position: target.position ?? 0, masked: target.masked ?? false };
}
