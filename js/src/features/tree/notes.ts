/** Notes above the tree: where it starts, why it is small, which parts are folded. */

import { formatCount, formatNumber } from "../../figures/format";
import { matrixName } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import type { TokenColumns } from "../../protocol/types";
import type { Grown } from "./grown";

interface Levels {
  /** Tokens that the tree can have down to each depth; those through `open` are drawn, `limit` at most. */
  readonly totals: readonly number[];
  readonly open: number;
  readonly limit: number;
}

/** `focus`: the focus token; null for none. */
export function treeNotes(
  { matrix, whole, token, left, below }: Grown,
  focus: number | null,
  { totals, open, limit }: Levels,
  tokens: TokenColumns,
): string {
  const root = token(whole.root).name;
  const notes: string[] = [];
  if (matrix.queryOf(focus) < 0) {
    notes.push(
      focus !== null && tokens.special[focus]
        ? `${tokens.text[focus]} is hidden with the special tokens, so the tree starts at “${root}”.`
        : `No token is chosen, so the tree starts at “${root}”. Choose one in the text above, or here.`,
    );
  }
  if (whole.childrenOf(whole.root).length === 0) {
    notes.push(
      matrix.keys.length === 1
        ? "It is the only token shown: there is nothing else to attend to."
        : `The model’s mask does not let it see any other ${left === null ? "token" : "word"}.`,
    );
  }
  if (below !== null) {
    notes.push(
      `First the links from the text that is written to its source, then, in other colors, those inside the source: the encoder’s ${matrixName(below)}.`,
    );
  }
  if (left !== null) {
    notes.push(
      `Words only: special tokens and punctuation, with ${formatNumber(left)} of the root’s row, are left out (Display).`,
    );
  }
  const last = totals.length - 1;
  if (open < last) {
    const folded = open + 1;
    const whole =
      itemAt(totals, folded) > limit
        ? `the whole tree could have ${formatCount(itemAt(totals, last))} tokens, of which at most ${formatCount(limit)} are drawn`
        : "there is no room for more";
    notes.push(
      `${folded === last ? `Level ${folded} is` : `Level ${folded} and below are`} folded: ${whole}. ` +
        "Open any token to see more.",
    );
  }
  return notes.join(" ");
}
