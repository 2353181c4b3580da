/** The selection of the next text: it opens by itself, unless the reader has chosen a head or a place in the text. */

import type { HeadIndex, Meta } from "../../../../protocol/types";
import { carriedSelection } from "../carry-over";
import type { EngineSource } from "../source";

/** The part of a selection that an opening decides. */
interface Places {
  readonly layer: number;
  readonly head: HeadIndex;
  readonly token: number | null;
  readonly pair: readonly [query: number, key: number] | null;
  readonly group: readonly number[];
  readonly words: boolean;
}

interface Reopening {
  /** The places of a text that was run, from those of the text before; its opening is computed where it is read. */
  next(selected: Places, found: Pick<EngineSource, "meta" | "opening">): Partial<Places>;
  /** Keep what the page opened on: another place is the reader's choice. */
  opened(selected: Places): void;
}

const isPlace = (a: Places, b: Places): boolean =>
  a.token === b.token && a.pair === b.pair && a.group === b.group;
const isHead = (a: Pick<Places, "layer" | "head">, b: Pick<Places, "layer" | "head">): boolean =>
  a.layer === b.layer && a.head === b.head;

/**
 * @param first the saved run, whose text is run again before any other, or not at all
 * @param saved its selection
 */
export function createReopening(first: Meta, saved: Places): Reopening {
  let before = first;
  /** Places of the last text that opened by itself; null on a page that was saved with a chosen head. */
  let own: Places | null = saved;
  let anew = false;
  return {
    next(selected, found) {
      const { meta } = found;
      const carried = carriedSelection(selected, before.tokens, meta.tokens);
      const isSame = meta.text === before.text && meta.text_pair === before.text_pair;
      if (before === first && isSame && !isHead(found.opening, saved)) own = null;
      before = meta;
      anew = !isSame && own !== null && isHead(selected, own) && isPlace(selected, own);
      if (!anew) return carried;
      const { layer, head, token, words } = found.opening;
      const merged = selected.words === own?.words ? { words } : {};
      return { layer, head, token, pair: null, group: [], ...merged };
    },
    opened(selected) {
      if (anew) own = selected;
    },
  };
}
