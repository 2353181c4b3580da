/** Hidden states of matched tokens: how far they have turned from each other, layer by layer. */

import { CellMap } from "../../draw/cell-map/cell-map";
import { onTheme } from "../../draw/color/theme";
import { h } from "../../draw/dom";
import { onResize } from "../../draw/resize";
import { formatNumber } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import { follow, known, type Panel, pairNames } from "./contract";

const SHAPE = { rowHeight: 24, cellMost: 44, heightMost: 560 } as const;

export const states: Panel = (element, context) => {
  const { compared, states: both, signal } = context;
  const cosines = compared.arrays.get("states");
  if (cosines === undefined) {
    element.append(
      h("p", { class: "aw-view-note" }, compared.reasons.states ?? "There are no hidden states."),
    );
    return;
  }
  const names = pairNames(context);
  const [rows = 0, columns = 0] = cosines.shape;
  context.give(() => ({
    columns: ["after_layer", "token", "position_a", "position_b", "cosine"],
    rows: Array.from(cosines.data, (cosine, at) => {
      const column = at % columns;
      const [a, b] = itemAt(compared.tokens, column);
      return [Math.floor(at / columns) - 1, names[column] ?? "", a, b, known(cosine)];
    }),
  }));
  const turned = Float32Array.from(cosines.data, (cosine) => 1 - cosine);
  const top = turned.reduce((most, value) => Math.max(value, most), 0);
  const layers = Array.from({ length: rows }, (_, i) =>
    i === 0 ? "embeddings" : `layer ${i - 1}`,
  );
  const reading = h("p", {
    class: "aw-compare-reading",
    role: "status",
    "data-aw-part": "states-reading",
  });
  const read = (row: number, column: number): void => {
    const cosine = itemAt(cosines.data, row * columns + column);
    reading.textContent = `${names[column]}, ${row === 0 ? "embeddings" : `after layer ${row - 1}`}: cosine ${formatNumber(cosine, 4)}`;
    reading.dataset.awValue = String(cosine);
  };
  const farthest = (): void => {
    const at = turned.indexOf(top);
    if (at >= 0) read(Math.floor(at / columns), at % columns);
  };
  const map = new CellMap(
    SHAPE,
    {
      point: (cell) => (cell === null ? farthest() : read(cell.row, cell.column)),
      pick: ({ column }) => both.a.set({ token: itemAt(compared.tokens, column)[0] }),
    },
    "states",
    signal,
  );
  const place = h("div", {}, map.element);
  element.append(
    h(
      "div",
      { class: "aw-panel-head" },
      h("h3", { class: "aw-title" }, "Hidden states, A against B"),
      h(
        "span",
        { class: "aw-hint" },
        `background color: same direction (cosine 1); strongest color: cosine ${formatNumber(1 - top)}, the lowest here`,
      ),
    ),
    reading,
    place,
  );
  const show = (): void => {
    map.show(
      {
        rows,
        columns,
        values: turned,
        top: top || 1,
        scale: "head",
        rowLabels: layers,
        columnLabels: names,
      },
      "Hidden states, 1 minus cosine",
    );
    mark();
  };
  const mark = (): void => {
    const column = compared.tokens.findIndex(([a]) => a === both.a.get().token);
    const row = Math.min(both.a.get().layer + 1, rows - 1);
    map.mark(column < 0 ? null : { row, column });
  };
  onResize(place, (width) => map.resize(width), signal);
  follow(context, ["token", "layer"], mark);
  onTheme(
    element,
    () => {
      map.recolor();
      show();
    },
    signal,
  );
  show();
  farthest();
};
