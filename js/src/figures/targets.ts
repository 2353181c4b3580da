/** Targets with their words, and the logit lens: questions that several views ask. */

import { arrayOf } from "../protocol/required";
import type { Source, Target } from "../protocol/types";

/** A target with its words: `names[0]`, against `names[1]` where there is one. */
export interface Described {
  readonly target: Target;
  readonly of: "token" | "class" | "next_sentence";
  readonly names: readonly string[];
}

/** A word piece as every layer's hidden state would have it; entry 0 is of the embeddings. */
export interface Lens {
  readonly word: string;
  readonly probabilities: Float32Array;
  readonly ranks: Int32Array;
}

/** Those that the text proposes. */
export async function askTargets(
  source: Source,
  signal: AbortSignal,
): Promise<readonly Described[]> {
  const { data } = await source.slice({ kind: "targets" }, { signal });
  return data.targets as readonly Described[];
}

export async function askLens(source: Source, target: Target, signal: AbortSignal): Promise<Lens> {
  const slice = await source.slice({ kind: "logit_lens", target }, { signal });
  const names = (slice.data.names ?? []) as readonly string[];
  return {
    word: names[0] ?? "",
    probabilities: arrayOf(slice, "probabilities").data as Float32Array,
    ranks: arrayOf(slice, "ranks").data as Int32Array,
  };
}

/** `are rather than is`, `positive`. */
export function nameOf({ names }: Pick<Described, "names">): string {
  const [first = "", second] = names;
  return second === undefined ? first : `${first} rather than ${second}`;
}
