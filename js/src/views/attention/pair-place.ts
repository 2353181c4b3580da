/** The place below the pinned pair, which features fill; it moves with the pair from drawing to drawing. */

import { signal } from "@preact/signals-core";
import { h } from "../../draw/dom";
import type { Matrix } from "../../figures/matrix";
import type { PinnedCell, ViewContext } from "../contract";

const same = (a: PinnedCell | null, b: PinnedCell | null): boolean =>
  JSON.stringify(a) === JSON.stringify(b);

export interface PairPlace {
  /** Holds the place as long as it stands in the page. */
  readonly hold: (box: HTMLElement | null) => void;
  /** Another pair, by row and column of a matrix; null without one. */
  show(
    pair: { readonly matrix: Matrix; readonly row: number; readonly column: number } | null,
  ): void;
}

export function createPairPlace(context: ViewContext): PairPlace {
  const cell = signal<PinnedCell | null>(null);
  const places = (context.pairs ?? []).map((draw) => {
    const place = h("div", {});
    draw(place, context, cell);
    return place;
  });
  return {
    hold(box) {
      if (box !== null && places[0]?.parentElement !== box) box.append(...places);
    },
    show(pair) {
      const { layer, head } = context.state.get();
      const { matrix, row, column } = pair ?? {};
      const [query, key] = [matrix?.queries[row ?? -1], matrix?.keys[column ?? -1]];
      // The selection may be ahead of the matrix on screen.
      const there =
        matrix?.quantity === "weights" && matrix.layer === layer && matrix.head === head;
      const next =
        there && query !== undefined && key !== undefined
          ? {
              ...{ layer, head, query: query.token, key: key.token },
              merged: query.end - query.token > 1 || key.end - key.token > 1,
            }
          : null;
      if (!same(cell.peek(), next)) cell.value = next;
    },
  };
}
