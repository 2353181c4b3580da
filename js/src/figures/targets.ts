/** Targets with their words, and the logit lens: questions that several views ask. */

import { arrayOf } from "../protocol/required";
import type { Source, Target } from "../protocol/types";
import { tokenLabel } from "./format";
import { guessAfter } from "./guess";
import { schemeOf } from "./names";

/** A target with its words: `names[0]`, against `names[1]` where there is one. */
export interface Described {
  readonly target: Target;
  readonly of: "token" | "class" | "next_sentence" | "similarity";
  readonly names: readonly string[];
  /** Names that may only begin a word. */
  readonly beginnings?: readonly string[];
}

/** A word piece as every layer's hidden state would have it; entry 0 is of the embeddings. */
export interface Lens {
  readonly word: string;
  readonly probabilities: Float32Array;
  readonly ranks: Int32Array;
}

/** A token of the vocabulary as labels show it; of a decoder as it goes on with the text up to a position. */
export function spelled(
  { meta }: Source,
  token: string,
  position?: number,
  beginnings?: readonly string[],
): string {
  const { tokens, model } = meta;
  const scheme = schemeOf(tokens);
  return model.predicts === "next" && position !== undefined
    ? guessAfter(token, scheme, tokens, position, beginnings).name
    : tokenLabel(token, scheme).text;
}

/** A target as the kernel describes it, its tokens as labels show them. */
export const describedIn = (
  source: Source,
  { target, of, names, beginnings }: Described,
): Described => ({
  target,
  of,
  names:
    of === "token"
      ? names.map((name) => spelled(source, name, target.position, beginnings))
      : names,
});

/** Targets that the text proposes. */
export async function askTargets(
  source: Source,
  signal: AbortSignal,
): Promise<readonly Described[]> {
  const { data } = await source.ask({ kind: "targets" }, { signal });
  return (data.targets as readonly Described[]).map((target) => describedIn(source, target));
}

export async function askLens(source: Source, target: Target, signal: AbortSignal): Promise<Lens> {
  const slice = await source.ask({ kind: "logit_lens", target }, { signal });
  const { names = [], beginnings } = slice.data as Partial<Described>;
  return {
    word: spelled(source, names[0] ?? "", target.position, beginnings),
    probabilities: arrayOf(slice, "probabilities").data as Float32Array,
    ranks: arrayOf(slice, "ranks").data as Int32Array,
  };
}

/** `are rather than is`, `positive`. */
export function nameOf({ names }: Pick<Described, "names">): string {
  const [first = "", second] = names;
  return second === undefined ? first : `${first} rather than ${second}`;
}
