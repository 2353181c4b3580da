/** Every earlier head, shaded by what it brings to each side of the sum; a cell leads to the link at which the head read it. */

import { headName } from "../../figures/names";
import { createSaidCells } from "../../marks/cells";
import { itemAt } from "../../protocol/required";
import { largestAbsolute } from "../../protocol/ties";
import { RampLegend } from "../../ui/legend";
import { watch } from "../../ui/mount";
import { signed } from "../../ui/signs";
import { type Found, type Part, SIDES, type SideName } from "./data";
import type { QkModel } from "./model";

const CELLS = { rowHeight: null, cellMost: 30, heightMost: 420 };
const TITLES: Readonly<Record<SideName, string>> = {
  key: "Key side, by head",
  query: "Query side, by head",
};

/** Contribution of each head to a side, layer by layer; null without heads. */
export function gridOf({ parts, sums }: Found, side: SideName) {
  const heads = parts[side].flatMap((part, at) => (part.kind === "head" ? [{ part, at }] : []));
  const count = 1 + Math.max(-1, ...heads.map(({ part }) => part.head ?? 0));
  if (count === 0) return null;
  return {
    count,
    parts: heads.map(({ part }) => part),
    values: Float32Array.from(heads, ({ at }) => itemAt(sums[side], at)),
  };
}

/** Largest contribution of a head to either side: a shade means the same on both. */
export const headsTop = (found: Found): number =>
  Math.max(...SIDES.map((side) => largestAbsolute(gridOf(found, side)?.values ?? [])));

export function createHeads({ found, headsOpen: open, names, follow, mode, until }: QkModel) {
  const sides = SIDES.map((side) => {
    let parts: readonly Part[] = [];
    let count = 1;
    const cells = createSaidCells(
      {
        shape: CELLS,
        part: `qk-heads-${side}`,
        pick: (cell) => follow(side, itemAt(parts, cell.row * count + cell.column)),
      },
      (row, column, value) => {
        const part = itemAt(parts, row * count + column);
        const from = part.source === null ? "" : ` from ${names.token(side, part.source)}`;
        const text = `${headName(row, column)}${from}: ${signed(value, 3)}`;
        return { text, value };
      },
      until,
    );
    watch(() => {
      const now = found.value;
      const grid = open.value && now !== null ? gridOf(now, side) : null;
      if (now === null || grid === null) return cells.clear();
      ({ parts, count } = grid);
      cells.show({
        values: grid.values,
        rowLabels: Array.from({ length: parts.length / count }, (_, layer) => `L${layer}`),
        columnLabels: Array.from({ length: count }, (_, head) => `H${head}`),
        name: `What each earlier head brings on the ${side} side: layers by heads`,
        signed: true,
        top: headsTop(now),
        mark: () => null,
      });
    }, until);
    return { side, cells };
  });
  return function Heads() {
    const now = found.value;
    if (now === null || !open.value || gridOf(now, "key") === null) return null;
    return (
      <section class="aw-qk-sides" data-aw-part="qk-heads">
        <div class="aw-cluster aw-small">
          <RampLegend max={headsTop(now)} mode={mode.value} signed />
          <span class="aw-muted">what each earlier head adds to the score or takes from it</span>
        </div>
        {sides.map(({ side, cells }) => (
          <div key={side}>
            <h4 class="aw-title">{TITLES[side]}</h4>
            <cells.Map />
            <cells.Reading part={`qk-head-${side}`} />
          </div>
        ))}
      </section>
    );
  };
}
