/** A page's model and text: facts that come with them, and the tokens by column. */

import { itemAt } from "../../../protocol/required";
import { roundedUp } from "../../../protocol/saved/precision";
import type { Meta, ModelMeta, Precision } from "../../../protocol/types";
import type { Encoded } from "../tokenizer";
import type { RequestQueue } from "./request-queue";

export const MASK = "[MASK]";
export const UNKNOWN = "[UNK]";

/** Facts of a model that the engine's file lacks. */
export interface Metadata {
  readonly model: ModelMeta;
  readonly versions: Readonly<Record<string, string>>;
  /** Views that a page offers; all of them where left out. */
  readonly views?: readonly string[];
  /** Ids of the tokens that stand for a hidden and for an unknown one. */
  readonly ids: { readonly mask: number; readonly unknown: number };
  /** Differences that rounding the model's matrices makes on some texts; zeros if none. */
  readonly rounding?: Rounding;
  /** The answer to `architecture` of any text. */
  readonly architecture?: Readonly<Record<string, unknown>>;
  /** Reads classes out of this model's hidden states. */
  readonly classifier?: ClassReader | null;
  /** Reads tags out of this model's hidden states; null for a model that none was made for. */
  readonly tagger?: TagReader | null;
}

/** Largest differences of weights, of the rollout through all layers, and of scaled scores. */
interface Rounding {
  readonly weight: number;
  readonly rollout: number;
  readonly score: number;
}

/** A classifier's head: attn_widget/features/engine/classifier.py. */
export interface ClassReader {
  readonly kind: "mean" | "first" | "cnn";
  readonly labels: readonly string[];
  readonly activation: "softmax" | "sigmoid" | "identity";
  readonly note: string;
  /** Base64 of float32. */
  readonly tensors: Readonly<
    Record<string, { readonly shape: readonly number[]; readonly data: string }>
  >;
}

/** The file `attn_widget/mini/tags.json`. */
export interface TagReader {
  readonly layer: number;
  readonly tags: readonly string[];
  /** Share of the tokens of held-out text at which it agrees with `tagger`. */
  readonly agreement: number;
  readonly tagger: string;
  /** Base64 of float16 `[tags][hidden]`. */
  readonly weight: string;
  readonly bias: readonly number[];
}

/** A text to run. */
export interface Text {
  readonly text: string;
  readonly text_pair?: string | null;
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** The entry `snapshot` of a page that offers some of the views. */
export const savedViews = ({ views, model }: Metadata): Pick<Meta, "snapshot"> =>
  views === undefined
    ? {}
    : { snapshot: { views, layers: upTo(model.n_layers), heads: upTo(model.n_heads) } };

const EXACT: Rounding = { weight: 0, rollout: 0, score: 0 };

/** Largest errors of a page's numbers against the model's. */
export function precisionOf({ rounding = EXACT }: Metadata): Precision {
  const { weight, rollout, score } = rounding;
  const moved =
    weight === 0 ? "" : `, rounded to float16: on the saved text weights to ± ${roundedUp(weight)}`;
  return {
    weight: () => weight,
    rollout,
    score,
    note: `what is typed runs here, with the model's own parameters${moved}. The view Why needs gradients, and so a kernel: show(text, view="why")`,
  };
}

/** The tokens by column, with the text that stands before each one in its segment. */
export function columnsOf(
  { ids, typeIds, offsets }: Encoded,
  names: readonly string[],
  texts: readonly [string, string],
): Meta["tokens"] {
  // Offsets count code points.
  const characters = texts.map((text) => Array.from(text));
  const part = (segment: number, start: number, end: number): string =>
    itemAt(characters, segment).slice(start, end).join("");
  const special = offsets.map(([, end]) => end === 0);
  const reached = [0, 0];
  const before = offsets.map(([start, end], i) => {
    const segment = itemAt(typeIds, i);
    if (special[i]) return "";
    const from = itemAt(reached, segment);
    reached[segment] = Math.max(from, end);
    return part(segment, from, start);
  });
  return {
    text: names,
    surface: offsets.map(([start, end], i) =>
      special[i] ? itemAt(names, i) : part(itemAt(typeIds, i), start, end),
    ),
    before,
    id: ids,
    start: offsets.map(([start]) => start),
    end: offsets.map(([, end]) => end),
    segment: typeIds,
    special,
  };
}

/** The id of the mask token, and of the unknown one, by the tokenizer itself. */
export async function specialIds(queue: RequestQueue): Promise<Metadata["ids"]> {
  const { ids } = await queue.take(({ engine }) => engine.encode(`${MASK} ${UNKNOWN}`));
  return { mask: itemAt(ids, 1), unknown: itemAt(ids, 2) };
}
