/** The selection of the next text: it opens by itself, unless the reader has chosen a head or a place in the text. */

import type { Meta } from "../../../../protocol/types";
import type { Selection, State } from "../../../../state/selection";
import { carriedSelection } from "../carry-over";
import type { EngineSource } from "../source";

/** Keys that no later text changes once the reader has set them. */
const PLACES = ["layer", "head", "token", "pair", "group"] as const;

interface Reopening {
  /** The change for a text that was run; its opening is computed where it is read. */
  next(found: Pick<EngineSource, "meta" | "opening">): Partial<Selection>;
  /** To be called once that change is made, which the reader has not chosen. */
  opened(): void;
}

/** `first`: the saved run, whose text is run again before any other, or not at all; `state` holds the selection that it was saved with. */
export function createReopening(first: Meta, state: Pick<State, "get" | "touched">): Reopening {
  const saved = state.get();
  const chosen = new Set<keyof Selection>();
  let before = first;
  state.touched.clear();
  return {
    next(found) {
      const { meta } = found;
      for (const key of state.touched) chosen.add(key);
      const isSame = meta.text === before.text && meta.text_pair === before.text_pair;
      if (before === first && isSame) {
        const { layer, head } = found.opening;
        // The page was saved with a chosen head.
        if (saved.layer !== layer || saved.head !== head) chosen.add("head");
      }
      const carried = carriedSelection(state.get(), before.tokens, meta.tokens);
      before = meta;
      if (isSame || PLACES.some((key) => chosen.has(key))) return carried;
      const { layer, head, token, words } = found.opening;
      const merged = chosen.has("words") ? {} : { words };
      return { layer, head, token, pair: null, group: [], ...merged };
    },
    opened: () => state.touched.clear(),
  };
}
