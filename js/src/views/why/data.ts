/** Questions of the view Why and their answers, typed. */

import type { Described } from "../../figures/targets";
import { arrayOf } from "../../protocol/required";
import type { NdArray, Slice, SliceOptions, Source, Target } from "../../protocol/types";

export interface Contributions extends Described {
  readonly method: string;
  /** Below 0 speaks against the target; otherwise values are shares. */
  readonly signed: boolean;
  readonly value: number;
  readonly bias: number | null;
  readonly baseline: number | null;
  readonly gap: number | null;
  /** One a token; NaN where the method does not ask. */
  readonly values: Float32Array;
}

/** A method's order among random ones, as `attn_widget.influence.orders.order_test.OrderTest` has it. */
export interface OrderTest {
  /** Percent of random orders that lower the probability less, with its 95% interval. */
  readonly percentile: number;
  readonly low: number;
  readonly high: number;
  /** p value after correction for the methods that were tried. */
  readonly adjusted: number;
  readonly better: boolean;
}

export interface Trust {
  readonly methods: readonly string[];
  readonly probability: number;
  readonly comprehensiveness: readonly number[];
  /** By method; null where a method gives no order, or nothing can be tested. */
  readonly tests: readonly (OrderTest | null)[];
  /** Why no verdict is possible. */
  readonly untestable: string | null;
  readonly random: {
    readonly mean: number;
    readonly low: number;
    readonly high: number;
    readonly orders: number;
    /** Drawn orders; otherwise every order of the words. */
    readonly drawn: boolean;
    readonly words: number;
  };
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

/** A method of contributions: its name, and how it works in a line. */
export interface Method {
  readonly key: string;
  readonly name: string;
  /** In a sentence and in tables. */
  readonly short: string;
  readonly about: string;
  /** It takes one or two passes of the model, whatever the text's length. */
  readonly quick: boolean;
}

const ROLLOUT = "Rollout of ";
const lowered = (name: string): string => name.charAt(0).toLowerCase() + name.slice(1);

const method = (key: string, name: string, quick: boolean, about: string): Method => ({
  key,
  name,
  short: name.startsWith(ROLLOUT) ? name.slice(ROLLOUT.length) : lowered(name),
  quick,
  about,
});

/** In the order of `attn_widget.influence.methods.METHODS`. */
export const METHODS: readonly Method[] = [
  method(
    "decomposition",
    "Decomposition",
    true,
    "The network, linearized at this run; adds up to the target with a bias (after Modarressi et al. 2023)",
  ),
  method("gradient_x_input", "Gradient × input", true, "Slope of the target times the embedding"),
  method(
    "integrated_gradients",
    "Integrated gradients",
    false,
    "Along the path from the masked text (Sundararajan et al. 2017)",
  ),
  method("occlusion", "Occlusion", false, "Decrease of the target when a word is masked"),
  method(
    "attention_gradient",
    "Attention × gradient",
    true,
    "Positive part, rolled through the layers (Chefer et al. 2021)",
  ),
  method("weights", "Rollout of weights", true, "Attention weights alone (Abnar & Zuidema 2020)"),
  method(
    "norms",
    "Rollout of norms",
    true,
    "Weights times transformed values (Kobayashi et al. 2020)",
  ),
  method(
    "mixing",
    "Rollout of mixing",
    true,
    "With residual and LayerNorm (Kobayashi et al. 2021)",
  ),
  method(
    "alti",
    "Rollout of ALTI",
    true,
    "How close each part is to the sum (Ferrando et al. 2022)",
  ),
  method(
    "value_zeroing",
    "Rollout of value zeroing",
    false,
    "Each layer rerun without one token's values (Mohebbi et al. 2023)",
  ),
];

const described = (data: Slice["data"]): Described => data as unknown as Described;

export async function askContributions(
  source: Source,
  target: Target,
  key: string,
  options: SliceOptions,
): Promise<Contributions> {
  const slice = await source.slice({ kind: "contributions", target, method: key }, options);
  const values = arrayOf(slice, "values").data as Float32Array;
  const { signed, value, bias, baseline, gap } = slice.data as unknown as Contributions;
  return { ...described(slice.data), method: key, signed, value, bias, baseline, gap, values };
}

export async function askTrust(
  source: Source,
  target: Target,
  methods: readonly string[],
  options: SliceOptions,
): Promise<Trust> {
  const slice = await source.slice({ kind: "trust", target, methods }, options);
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
  const slice = await source.slice({ kind: "head_effects", target }, options);
  return {
    effects: arrayOf(slice, "effects").data as Float32Array,
    proxy: arrayOf(slice, "proxy").data as Float32Array,
    correlation: slice.data.correlation as number | null,
  };
}
