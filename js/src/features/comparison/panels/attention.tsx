/** The chosen head between matched tokens, B − A: as a matrix, and as a flow in two colors. */

import { signal } from "@preact/signals-core";
import { MIXINGS } from "../../../catalog/selection";
import { formatNumber } from "../../../figures/format";
import { headName } from "../../../figures/names";
import { calledOf, measureOf } from "../../../figures/quantities";
import { createSaidCells } from "../../../marks/cells";
import { isAbort, messageOf } from "../../../protocol/failure";
import { itemAt } from "../../../protocol/required";
import { Select } from "../../../ui/controls";
import { modeSignal, mount, selectionOf, watch } from "../../../ui/mount";
import { signed } from "../../../ui/signs";
import { keyPairs, partnerHead, type Weights, weightsOf } from "../data";
import { ChangeLegend } from "../figures";
import { finite, keyNames, type Panel, pairNames } from "./contract";
import { Flow } from "./flow";

const QUANTITIES = (["weights", "scores", ...MIXINGS, "rollout"] as const).map(
  (name) => [name, name === "scores" ? name : calledOf(measureOf(name))] as const,
);
const SHAPE = { rowHeight: null, cellMost: 44, heightMost: 560 } as const;
/** From so many tokens on the matrix takes the width, as in the view Attention, and the flow stands below it. */
const WIDE_FROM = 40;
const WIDE_HEIGHT = 800;

export const attention: Panel = (element, context) => {
  const { compared, sources, states, signal: until } = context;
  const state = states.a;
  const names = pairNames(context);
  const keys = keyNames(context);
  const wide = Math.max(names.length, keys.length) >= WIDE_FROM;
  const mode = modeSignal(element, until);
  const selection = selectionOf(state, ["layer", "head", "quantity"], until);
  const token = selectionOf(state, ["token"], until);
  const weights = signal<Weights | null>(null);
  /** Why there are none; empty while they are asked for. */
  const absent = signal("");
  const choose = (row: number): void => state.set({ token: itemAt(compared.tokens, row)[0] });
  const chosenRow = (): number => compared.tokens.findIndex(([a]) => a === token.value.token);
  const shape = wide ? { ...SHAPE, heightMost: WIDE_HEIGHT } : SHAPE;
  const cells = createSaidCells(
    { shape, part: "difference-map", pick: ({ row }) => choose(row), row: choose },
    (row, column, value) => {
      const shown = weights.peek();
      if (shown === null) return { text: "" };
      const { a, b, columns } = shown;
      const at = row * columns + column;
      const [ofA, ofB] = [formatNumber(itemAt(a, at)), formatNumber(itemAt(b, at))];
      return {
        text: `${names[row]} → ${keys[column]}: A ${ofA}, B ${ofB}, B − A ${signed(value, 3)}`,
        value,
      };
    },
    until,
  );
  element.dataset.awPart = "changes";

  context.give(() => {
    const shown = weights.peek();
    if (shown === null) return null;
    const { columns, a, b, change } = shown;
    const query = (k: number) => [names[k] ?? "", ...itemAt(compared.tokens, k)];
    const key = (k: number) => [keys[k] ?? "", ...itemAt(keyPairs(compared), k)];
    return {
      columns: [
        ...["query", "key"].flatMap((name) => [name, `${name}_a`, `${name}_b`]),
        "a",
        "b",
        "difference",
      ],
      rows: Array.from(change, (value, at) => [
        ...query(Math.floor(at / columns)),
        ...key(at % columns),
        ...[itemAt(a, at), itemAt(b, at), value].map(finite),
      ]),
    };
  });

  mount(
    element,
    () => {
      const { layer, head, quantity } = selection.value;
      const partner = partnerHead(compared, layer, head, "b");
      const same = partner === null || (partner.layer === layer && partner.head === head);
      const shown = weights.value;
      return (
        <>
          <div class="aw-panel-head">
            <h3 class="aw-title">
              {headName(layer, head)}
              {!same && ` of A, ${headName(partner.layer, partner.head)} of B`}: B − A
            </h3>
            <Select
              label="Quantity"
              part="difference-quantity"
              options={QUANTITIES}
              value={quantity as (typeof QUANTITIES)[number][0]}
              choose={(next) => state.set({ quantity: next })}
            />
            <div>{shown && <ChangeLegend top={shown.most} mode={mode.value} />}</div>
          </div>
          {cells.Reading({ part: "reading" })}
          <p class="aw-view-note" role="status" hidden={absent.value === ""}>
            {absent.value}
          </p>
          <div class={`aw-compare-plots${wide ? " is-wide" : ""}`} hidden={absent.value !== ""}>
            {cells.Map()}
            <Flow
              names={names}
              keys={keys}
              weights={shown}
              row={chosenRow()}
              mode={mode.value}
              choose={choose}
            />
          </div>
        </>
      );
    },
    until,
  );

  let turn = 0;
  async function load(): Promise<void> {
    const request = ++turn;
    const { layer, head } = state.get();
    let why = "";
    const answer = await weightsOf(compared, sources, state.get()).catch((error: unknown) => {
      if (!isAbort(error)) why = messageOf(error);
      return null;
    });
    if (request !== turn || until.aborted) return;
    if (answer === null) {
      cells.clear();
      absent.value =
        why ||
        (names.length === 0 || keys.length === 0
          ? "No token is matched, so no weights can be compared."
          : `${headName(layer, head)} has no partner in B.`);
      return;
    }
    absent.value = "";
    weights.value = answer;
    cells.show({
      values: answer.change,
      rowLabels: names,
      columnLabels: keys,
      name: `${headName(layer, head)}, B minus A`,
      signed: true,
    });
  }
  watch(() => {
    void selection.value;
    void load();
  }, until);
  watch(() => cells.mark(null, chosenRow()), until);
};
