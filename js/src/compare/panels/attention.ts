/** The chosen head between matched tokens, B − A: as a matrix, and as a flow in two colors. */

import { CellMap } from "../../draw/cell-map/cell-map";
import { onTheme } from "../../draw/color/theme";
import { h } from "../../draw/dom";
import { onResize } from "../../draw/resize";
import { formatNumber } from "../../figures/format";
import { headName } from "../../figures/names";
import { calledOf, measureOf } from "../../figures/quantities";
import { explain, isAbort } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import { carriedHead, type Weights, weightsOf } from "../data";
import { markOf, signed, signedLegend } from "../signs";
import { follow, known, type Panel, pairNames } from "./contract";
import { createFlow } from "./flow";

const QUANTITIES = [
  "weights",
  "scores",
  "norms",
  "mixing",
  "alti",
  "value_zeroing",
  "rollout",
] as const;
const SHAPE = { rowHeight: null, cellMost: 44, heightMost: 560 } as const;

export const attention: Panel = (element, context) => {
  const { compared, sources, states, signal } = context;
  const names = pairNames(context);
  const title = h("h3", { class: "aw-title" });
  const reading = h("p", {
    "data-aw-part": "reading",
    role: "status",
    class: "aw-compare-reading",
  });
  const legend = h("div");
  const state = states.a;
  let weights: Weights | null = null;

  const read = (row: number, column: number): void => {
    if (weights === null) return;
    const at = row * weights.size + column;
    const [a, b, change] = [weights.a, weights.b, weights.change].map((all) => itemAt(all, at));
    reading.textContent =
      `${names[row]} → ${names[column]}: A ${formatNumber(a as number)}, B ${formatNumber(b as number)}, ` +
      `B − A ${signed(change as number, 3)}`;
    reading.dataset.awValue = String(change);
  };
  const readStrongest = (): void => {
    const shown = weights;
    if (shown === null) return;
    const at = shown.change.findIndex((value) => Math.abs(value) === shown.most);
    if (at >= 0) read(Math.floor(at / shown.size), at % shown.size);
  };
  const choose = (row: number): void => state.set({ token: itemAt(compared.tokens, row)[0] });
  const map = new CellMap(
    SHAPE,
    {
      point: (cell) => (cell === null ? readStrongest() : read(cell.row, cell.column)),
      pick: ({ row }) => choose(row),
      row: choose,
    },
    "difference-map",
    signal,
  );
  const flow = createFlow(names, choose);
  const quantity = h(
    "select",
    { class: "aw-select", "aria-label": "Quantity", "data-aw-part": "difference-quantity" },
    ...QUANTITIES.map((name) =>
      h("option", { value: name }, name === "scores" ? name : calledOf(measureOf(name))),
    ),
  );
  quantity.addEventListener("change", () => {
    state.set({ quantity: quantity.value as (typeof QUANTITIES)[number] });
  });
  const plots = h(
    "div",
    { class: "aw-compare-plots" },
    h("div", { class: "aw-compare-map" }, map.element),
    flow.element,
  );
  const missing = h("p", { class: "aw-view-note", role: "status", hidden: true });
  element.append(
    h("div", { class: "aw-panel-head" }, title, quantity, legend),
    reading,
    missing,
    plots,
  );
  element.dataset.awPart = "changes";

  context.give(() => {
    const shown = weights;
    if (shown === null) return null;
    const { size, a, b, change } = shown;
    const rows = Array.from(change, (value, at) => [
      ...([Math.floor(at / size), at % size] as const).flatMap((k) => {
        const [i, j] = itemAt(compared.tokens, k);
        return [names[k] ?? "", i, j];
      }),
      ...[itemAt(a, at), itemAt(b, at), value].map(known),
    ]);
    const ends = ["query", "key"].flatMap((end) => [end, `${end}_a`, `${end}_b`]);
    return { columns: [...ends, "a", "b", "difference"], rows };
  });

  const rowOf = () => compared.tokens.findIndex(([a]) => a === state.get().token);
  const mark = (): void => {
    map.mark(null, rowOf());
    flow.light(rowOf());
  };
  const show = (found: Weights): void => {
    weights = found;
    const { layer, head } = state.get();
    map.show(
      {
        rows: found.size,
        columns: found.size,
        values: found.change,
        top: found.most || 1,
        scale: "head",
        signed: true,
        mark: markOf(found.most || 1),
        rowLabels: names,
        columnLabels: names,
      },
      `${headName(layer, head)}, B minus A`,
    );
    flow.show(found, element);
    legend.replaceChildren(signedLegend(element, found.most));
    mark();
    readStrongest();
  };

  let turn = 0;
  const load = async (): Promise<void> => {
    const mine = ++turn;
    const selection = state.get();
    const { layer, head } = selection;
    const partner = carriedHead(compared, layer, head, "b");
    const same = partner?.layer === layer && partner.head === head;
    title.textContent = `${headName(layer, head)}${
      partner === null || same ? "" : ` of A, ${headName(partner.layer, partner.head)} of B`
    }: B − A`;
    quantity.value = selection.quantity;
    let why = "";
    const answer = await weightsOf(compared, sources, selection).catch((error: unknown) => {
      if (!isAbort(error)) why = Object.values(explain(error)).join(" ");
      return null;
    });
    if (mine !== turn || signal.aborted) return;
    missing.hidden = answer !== null;
    plots.hidden = answer === null;
    missing.textContent =
      answer !== null
        ? ""
        : why ||
          (compared.tokens.length === 0
            ? "No token is matched, so no weights can be compared."
            : `${headName(layer, head)} has no partner in B.`);
    if (answer === null) reading.textContent = "";
    else show(answer);
  };
  onResize(map.element.parentElement as HTMLElement, (width) => map.resize(width), signal);
  follow(context, ["layer", "head", "quantity"], () => void load());
  follow(context, ["token"], mark);
  onTheme(
    element,
    () => {
      map.recolor();
      if (weights !== null) show(weights);
    },
    signal,
  );
  void load();
};
