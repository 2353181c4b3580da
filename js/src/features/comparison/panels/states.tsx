/** Hidden states of matched tokens: how far they have turned from each other, layer by layer. */

import { formatNumber } from "../../../figures/format";
import { createSaidCells } from "../../../marks/cells";
import { itemAt } from "../../../protocol/required";
import { largestAbsolute } from "../../../protocol/ties";
import { mount, selectionOf, watch } from "../../../ui/mount";
import { finite, Note, type Panel, pairNames } from "./contract";

const SHAPE = { rowHeight: 24, cellMost: 44, heightMost: 560 } as const;

export const states: Panel = (element, context) => {
  const { compared, states: both, signal: until } = context;
  const cosines = compared.arrays.get("states");
  if (cosines === undefined) {
    const why = compared.reasons.states ?? "There are no hidden states.";
    return mount(element, () => <Note text={why} />, until);
  }
  const names = pairNames(context);
  const [rows = 0, columns = 0] = cosines.shape;
  context.give(() => ({
    columns: ["after_layer", "token", "position_a", "position_b", "cosine"],
    rows: Array.from(cosines.data, (cosine, at) => {
      const column = at % columns;
      const [a, b] = itemAt(compared.tokens, column);
      return [Math.floor(at / columns) - 1, names[column] ?? "", a, b, finite(cosine)];
    }),
  }));
  const turned = Float32Array.from(cosines.data, (cosine) => 1 - cosine);
  const cells = createSaidCells(
    {
      shape: SHAPE,
      part: "states",
      pick: ({ column }) => both.a.set({ token: itemAt(compared.tokens, column)[0] }),
    },
    (row, column) => {
      const cosine = itemAt(cosines.data, row * columns + column);
      const where = row === 0 ? "embeddings" : `after layer ${row - 1}`;
      return {
        text: `${names[column]}, ${where}: cosine ${formatNumber(cosine, 4)}`,
        value: cosine,
      };
    },
    until,
  );
  const selection = selectionOf(both.a, ["token", "layer"], until);
  mount(
    element,
    () => (
      <>
        <div class="aw-panel-head">
          <h3 class="aw-title">Hidden states, A against B</h3>
          <span class="aw-hint">
            background color: same direction (cosine 1); strongest color: cosine{" "}
            {formatNumber(1 - largestAbsolute(turned))}, the lowest here
          </span>
        </div>
        {cells.Reading({ part: "states-reading" })}
        {cells.Map()}
      </>
    ),
    until,
  );
  cells.show({
    values: turned,
    rowLabels: Array.from({ length: rows }, (_, i) => (i === 0 ? "embeddings" : `layer ${i - 1}`)),
    columnLabels: names,
    name: "Hidden states, 1 minus cosine",
  });
  watch(() => {
    const { token, layer } = selection.value;
    const column = compared.tokens.findIndex(([a]) => a === token);
    cells.mark(column < 0 ? null : { row: Math.min(layer + 1, rows - 1), column });
  }, until);
};
