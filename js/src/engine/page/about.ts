/** A page's model and text: facts that come with them, and the tokens by column. */

import { itemAt } from "../../protocol/required";
import type { Meta, ModelMeta } from "../../protocol/types";
import type { Encoded } from "../tokenizer";
import type { Turns } from "./turns";

const MASK = "[MASK]";
export const UNKNOWN = "[UNK]";

/** Facts of a model that the engine's file lacks. */
export interface About {
  readonly model: ModelMeta;
  readonly versions: Readonly<Record<string, string>>;
  /** Views that a page offers; all of them where left out. */
  readonly views?: readonly string[];
  /** Ids of the tokens that stand for a hidden and for an unknown one. */
  readonly ids: { readonly mask: number; readonly unknown: number };
}

/** A text to run. */
export interface Text {
  readonly text: string;
  readonly text_pair?: string | null;
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** The entry `snapshot` of a page that offers some of the views. */
export const savedViews = ({ views, model }: About): Pick<Meta, "snapshot"> =>
  views === undefined
    ? {}
    : { snapshot: { views, layers: upTo(model.n_layers), heads: upTo(model.n_heads) } };

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
export async function specialIds(turns: Turns): Promise<About["ids"]> {
  const { ids } = await turns.take(({ engine }) => engine.encode(`${MASK} ${UNKNOWN}`));
  return { mask: itemAt(ids, 1), unknown: itemAt(ids, 2) };
}
