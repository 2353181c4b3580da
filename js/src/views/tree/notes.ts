/** Notes above the tree: where it starts, why it is small, which parts are folded. */

import { formatCount } from "../../figures/format";
import type { Matrix } from "../../figures/matrix";
import { itemAt } from "../../protocol/required";
import type { TokenColumns } from "../../protocol/types";

export interface Grown {
  readonly matrix: Matrix;
  /** The focus token; null for none. */
  readonly token: number | null;
  /** The root's name and number of children. */
  readonly root: string;
  readonly children: number;
  /** Tokens that the tree can have down to each depth; those through `open` are drawn, `limit` at most. */
  readonly totals: readonly number[];
  readonly open: number;
  readonly limit: number;
}

export function treeNotes(
  { matrix, token, root, children, totals, open, limit }: Grown,
  tokens: TokenColumns,
): string {
  const notes: string[] = [];
  if (matrix.unitOf(token) < 0) {
    notes.push(
      token !== null && tokens.special[token]
        ? `${tokens.text[token]} is hidden with the special tokens, so the tree starts at “${root}”.`
        : `No token is chosen, so the tree starts at “${root}”. Choose one in the text above, or here.`,
    );
  }
  if (children === 0) {
    notes.push(
      matrix.size === 1
        ? "It is the only token shown: there is nothing else to attend to."
        : "The model’s mask does not let it see any other token.",
    );
  }
  const last = totals.length - 1;
  if (open < last) {
    const folded = open + 1;
    notes.push(
      `${folded === last ? `Level ${folded} is` : `Level ${folded} and below are`} folded: ` +
        `the whole tree could have ${formatCount(itemAt(totals, last))} tokens, of which at most ${formatCount(limit)} are drawn. ` +
        "Open any token to see more.",
    );
  }
  return notes.join(" ");
}
