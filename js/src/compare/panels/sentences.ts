/** Attention between sentences, B − A, where both texts have a sentence; then that of each run. */

import { CellMap } from "../../draw/cell-map/cell-map";
import { onTheme } from "../../draw/color/theme";
import { h } from "../../draw/dom";
import { onResize } from "../../draw/resize";
import { fillWhenAnswered } from "../../draw/wait";
import { formatNumber } from "../../figures/format";
import { arrayOf, itemAt } from "../../protocol/required";
import type { Slice } from "../../protocol/types";
import type { Compared } from "../data";
import { markOf, signed, signedLegend } from "../signs";
import { known, type Panel, type PanelContext } from "./contract";
import { pairOf } from "./pair";

const SHAPE = { rowHeight: null, cellMost: 56, heightMost: 400 } as const;
const LONGEST = 26;

/** Sentences of A and B that share the most matched tokens, each in one pair. */
export function matchSentences(
  { tokens }: Pick<Compared, "tokens">,
  a: readonly (readonly number[])[],
  b: readonly (readonly number[])[],
): [number, number][] {
  const sentence = (all: typeof a) => {
    const of = new Map<number, number>();
    all.forEach((positions, i) => {
      for (const position of positions) of.set(position, i);
    });
    return of;
  };
  const [ofA, ofB] = [sentence(a), sentence(b)];
  const shared = new Map<string, { pair: [number, number]; count: number }>();
  for (const [i, j] of tokens) {
    const [x, y] = [ofA.get(i), ofB.get(j)];
    if (x === undefined || y === undefined) continue;
    const key = `${x} ${y}`;
    const entry = shared.get(key) ?? { pair: [x, y] as [number, number], count: 0 };
    entry.count++;
    shared.set(key, entry);
  }
  const [takenA, takenB] = [new Set<number>(), new Set<number>()];
  const pairs: [number, number][] = [];
  for (const { pair } of [...shared.values()].sort((x, y) => y.count - x.count)) {
    if (takenA.has(pair[0]) || takenB.has(pair[1])) continue;
    takenA.add(pair[0]);
    takenB.add(pair[1]);
    pairs.push(pair);
  }
  return pairs.sort((x, y) => x[0] - y[0]);
}

export const sentences: Panel = (element, context) => {
  const { sources, signal } = context;
  const change = h("section", { "data-aw-part": "sentence-change", "aria-label": "Difference" });
  element.append(change);
  pairOf("sentences")(element, context);
  void fillWhenAnswered(change, {
    waiting: "Comparing the sentences …",
    ask: () =>
      Promise.all(
        [sources.a, sources.b].map((source) =>
          source.slice({ kind: "sentences", aggregation: "mass" }, { signal }),
        ),
      ),
    fill: (slices) => fill(change, context, slices),
    signal,
  });
};

function fill(place: HTMLElement, { compared, give, signal }: PanelContext, slices: Slice[]): void {
  const [a, b] = slices as [Slice, Slice];
  const tokens = slices.map(({ data }) => data.tokens as readonly number[][]);
  const texts = slices.map(({ data }) => data.texts as readonly string[]);
  const pairs = matchSentences(compared, itemAt(tokens, 0), itemAt(tokens, 1));
  const title = h(
    "h3",
    { class: "aw-title" },
    "Mass between sentences, all layers and heads, B − A",
  );
  if (pairs.length < 2) {
    place.append(
      title,
      h("p", { class: "aw-view-note" }, "Both texts need two sentences with a partner."),
    );
    return;
  }
  const size = pairs.length;
  const matrices = [arrayOf(a, "matrix"), arrayOf(b, "matrix")] as const;
  const at = (side: 0 | 1, i: number, j: number): number =>
    itemAt(
      matrices[side].data,
      itemAt(pairs, i)[side] * itemAt(matrices[side].shape, 1) + itemAt(pairs, j)[side],
    );
  const values = Float32Array.from(
    { length: size * size },
    (_, k) => at(1, Math.floor(k / size), k % size) - at(0, Math.floor(k / size), k % size),
  );
  give(() => ({
    columns: ["sentence", "to", "a", "b", "difference"],
    rows: Array.from(values, (value, k) => {
      const [i, j] = [Math.floor(k / size), k % size];
      const name = (one: number): string => itemAt(texts, 0)[itemAt(pairs, one)[0]] ?? "";
      return [name(i), name(j), known(at(0, i, j)), known(at(1, i, j)), known(value)];
    }),
  }));
  const top = values.reduce((most, value) => Math.max(most, Math.abs(value) || 0), 0);
  const names = pairs.map(([i]) => {
    const text = [...(itemAt(texts, 0)[i] ?? "")];
    const short = text.length > LONGEST ? `${text.slice(0, LONGEST - 1).join("")}…` : text.join("");
    return `S${i} ${short}`;
  });
  const reading = h("p", { class: "aw-compare-reading", role: "status" });
  const read = (i: number, j: number): void => {
    reading.textContent = `S${itemAt(pairs, i)[0]} looks at S${itemAt(pairs, j)[0]}: A ${formatNumber(at(0, i, j))}, B ${formatNumber(at(1, i, j))}, B − A ${signed(itemAt(values, i * size + j), 3)}`;
  };
  const strongest = (): void => {
    const k = values.findIndex((value) => Math.abs(value) === top);
    if (k >= 0) read(Math.floor(k / size), k % size);
  };
  const map = new CellMap(
    SHAPE,
    {
      point: (cell) => (cell === null ? strongest() : read(cell.row, cell.column)),
      pick: ({ row, column }) => read(row, column),
    },
    "sentence-map",
    signal,
  );
  const legend = h("div");
  place.append(h("div", { class: "aw-panel-head" }, title, legend), reading, map.element);
  const show = (): void => {
    map.recolor();
    map.show(
      {
        rows: size,
        columns: size,
        values,
        top: top || 1,
        scale: "head",
        signed: true,
        mark: markOf(top || 1),
        rowLabels: names,
        columnLabels: pairs.map(([i]) => `S${i}`),
      },
      "Mass between sentences, B minus A",
    );
    legend.replaceChildren(signedLegend(place, top));
  };
  onResize(place, (width) => map.resize(width), signal);
  onTheme(place, show, signal);
  show();
  strongest();
}
