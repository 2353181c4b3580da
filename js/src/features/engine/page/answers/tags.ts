/** Parts of speech by a linear read-out of the model's own hidden states (training/tags.py). */

import { itemAt } from "../../../../protocol/required";
import type { EngineRun } from "../engine-run";
import type { TagReader } from "../metadata";

/** A float16 by its bits. */
function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * 2 ** -24 * fraction;
  return sign * 2 ** (exponent - 15) * (1 + fraction / 1024);
}

const decoded = new WeakMap<TagReader, Float32Array>();

function weightOf(reader: TagReader): Float32Array {
  const cached = decoded.get(reader);
  if (cached !== undefined) return cached;
  const bytes = atob(reader.weight);
  const weights = Float32Array.from({ length: bytes.length / 2 }, (_, i) =>
    half(bytes.charCodeAt(2 * i) | (bytes.charCodeAt(2 * i + 1) << 8)),
  );
  decoded.set(reader, weights);
  return weights;
}

export const nameOf = ({ layer, agreement, tagger }: TagReader): string =>
  `a linear read-out of hidden state ${layer}, which agrees with ${tagger} on ${(100 * agreement).toFixed(1)}% of held-out tokens`;

/** Letters of another script than Latin: the read-out was made for English. */
const FOREIGN = /(?!\p{Script=Latin})\p{L}/u;
// "[MASK]" that is typed stands for a word.
const PLACEHOLDER = /^\[[A-Z]+\d*\]$/u;

/** The tag of each word, as the mean of its tokens' logits has it; of the text as it stands, masked or not. */
export async function tagsOf(
  run: EngineRun,
  reader: TagReader,
  words: readonly { readonly text: string }[],
  wordOf: readonly (number | null)[],
): Promise<(string | null)[]> {
  const width = run.meta.model.hidden_size;
  const states = await run.intactHidden(reader.layer);
  const weight = weightOf(reader);
  const sums = words.map(() => new Float64Array(reader.tags.length));
  const counts = words.map(() => 0);
  wordOf.forEach((word, token) => {
    if (word === null) return;
    const sum = itemAt(sums, word);
    counts[word] = itemAt(counts, word) + 1;
    for (let tag = 0; tag < sum.length; tag++) {
      let logit = itemAt(reader.bias, tag);
      for (let d = 0; d < width; d++)
        logit += (states[token * width + d] as number) * (weight[tag * width + d] as number);
      sum[tag] = (sum[tag] as number) + logit;
    }
  });
  return words.map(({ text }, word) => {
    if (counts[word] === 0 || FOREIGN.test(text) || PLACEHOLDER.test(text)) return null;
    const sum = itemAt(sums, word);
    return reader.tags[sum.indexOf(Math.max(...sum))] ?? null;
  });
}
