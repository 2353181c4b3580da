/** The chosen head between matched tokens, B − A: as a matrix, and as a flow in two colors. */

import { computed, signal } from "@preact/signals-core";
import { MIXINGS } from "../../../catalog/selection";
import { h } from "../../../draw/dom";
import { formatNumber } from "../../../figures/format";
import { headName } from "../../../figures/names";
import { calledOf, measureOf } from "../../../figures/quantities";
import { createSaidCells } from "../../../marks/cells";
import { isAbort, messageOf } from "../../../protocol/failure";
import { itemAt } from "../../../protocol/required";
import { Select } from "../../../ui/controls";
import { modeSignal, mount, selectionOf, watch } from "../../../ui/mount";
import { signed } from "../../../ui/signs";
import { FEATURES } from "../../../views";
import type { ComparedPair } from "../../../views/contract";
import { carrySelection, keyPairs, partnerHead, type Weights, weightsOf } from "../data";
import { ChangeLegend } from "../figures";
import { finite, keyNames, type Panel, type PanelContext, pairNames } from "./contract";
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
  const pair = pairOfBoth(context);
  const parts = FEATURES.flatMap(({ comparedPair }) => comparedPair ?? []);
  const chosenRow = (): number => compared.tokens.findIndex(([a]) => a === token.value.token);
  const shape = wide ? { ...SHAPE, heightMost: WIDE_HEIGHT } : SHAPE;
  const cells = createSaidCells(
    {
      ...{ shape, part: "difference-map", row: choose },
      pick({ row, column }) {
        const ends = [compared.tokens, keyPairs(compared)] as const;
        const [query, key] = [itemAt(ends[0], row)[0], itemAt(ends[1], column)[0]];
        state.set({ token: query, pair: [query, key] });
      },
    },
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

  const places = parts.map((draw) => {
    const place = h("div", {});
    draw(place, pair);
    return place;
  });
  const hold = (box: HTMLElement | null): void => box?.append(...places);
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
          {parts.length > 0 && pair.cells.value === null && (
            <p class="aw-view-note">Click a cell to pin its pair in both runs.</p>
          )}
          <div ref={hold} />
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
  watch(() => {
    const at = pair.cells.value?.a;
    const column = keyPairs(compared).findIndex(([key]) => key === at?.key);
    const row = compared.tokens.findIndex(([query]) => query === at?.query);
    cells.mark(at ? { row, column } : null, chosenRow());
  }, until);
};

/** The pinned pair of both runs, for what features say of it. */
function pairOfBoth({ compared, sources, states, signal }: PanelContext): ComparedPair {
  const chosen = selectionOf(states.a, ["layer", "head", "pair"], signal);
  const cells = computed(() => {
    const { layer, head, pair } = chosen.value;
    const of = carrySelection(compared, chosen.value, "b");
    if (!pair || !of.pair || of.layer === undefined || of.head === undefined) return null;
    return {
      a: { layer, head, query: pair[0], key: pair[1], merged: false },
      b: { layer: of.layer, head: of.head, query: of.pair[0], key: of.pair[1], merged: false },
    };
  });
  const columns = { query: compared.tokens, key: keyPairs(compared) };
  return {
    ...{ sources, cells, signal, state: states.a },
    partners: {
      token: (side, token) => columns[side].find(([a]) => a === token)?.[1] ?? null,
      head(layer, head) {
        const of = partnerHead(compared, layer, head, "b");
        return of === null ? null : [of.layer, of.head as number];
      },
    },
  };
}
