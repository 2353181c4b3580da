/** Line below the strips: the number of the token that was pointed at, and the cell of the matrix that it leads to. */

import { h } from "../../draw/dom";
import { type Unit, unitOfToken } from "../../figures/derive/units";
import { exact, formatNumber } from "../../figures/format";
import { errorOf } from "../../figures/matrix";
import { placeName } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import type { Target } from "../../protocol/types";
import type { Quantity, Selection } from "../../state/selection";
import type { ViewContext } from "../contract";
import type { Method } from "./data";
import { sumOfUnit } from "./sum";

export interface Readout {
  readonly element: HTMLElement;
  /** Say the number of the unit that holds `token`. */
  show(token: number, of: Shown): void;
  clear(): void;
}

export interface Shown {
  readonly method: Method;
  readonly values: ArrayLike<number>;
  readonly units: readonly Unit[];
  readonly target: Target;
}

/** The rollout that a method reads its row from; null for the others. */
export function quantityOf(method: string): Quantity | null {
  if (method === "weights") return "rollout";
  return ["norms", "mixing", "alti", "value_zeroing"].includes(method)
    ? (`${method}_rollout` as Quantity)
    : null;
}

export function createReadout(context: ViewContext, label: (unit: Unit) => string): Readout {
  const { source, state, matrix, signal } = context;
  const element = h("p", { class: "aw-why-readout aw-hint", "data-aw-part": "why-readout" });

  function show(token: number, { method, values, units, target }: Shown): void {
    const unit = units[unitOfToken(units, token)];
    if (unit === undefined) return;
    const value = sumOfUnit(values, unit);
    const number = h(
      "span",
      { class: "aw-number", "data-aw-value": exact(value), title: exact(value) },
      Number.isNaN(value) ? "N/A" : formatNumber(value),
    );
    element.replaceChildren(
      `${unit.token} `,
      h("bdi", {}, label(unit)),
      `: ${method.short} `,
      number,
      ...inMatrix(unit, method.key, target),
    );
  }

  /** The weight on screen in Attention, from the target's position to this token, and a button to go there. */
  function inMatrix(unit: Unit, method: string, target: Target): Node[] {
    const shown = matrix.get();
    const query = target.position ?? 0;
    const [row, column] = [shown?.unitOf(query) ?? -1, shown?.unitOf(unit.token) ?? -1];
    if (shown === null || row < 0 || column < 0) return [];
    const weight = itemAt(shown.weights, row * shown.size + column);
    const open = h(
      "button",
      { class: "aw-why-link", "data-aw-part": "why-matrix" },
      "see in the matrix",
    );
    const rolled = quantityOf(method);
    const change: Partial<Selection> =
      rolled === null ? {} : { quantity: rolled, layer: source.meta.model.n_layers - 1 };
    open.addEventListener(
      "click",
      () => state.set({ ...change, view: "attention", token: query, pair: [query, unit.token] }),
      { signal },
    );
    const hidden = target.masked === true && !isMasked(query);
    return [
      document.createTextNode(" "),
      h(
        "span",
        { class: "aw-why-cell" },
        `· ${placeName(shown)}: `,
        h("bdi", {}, label(itemAt(shown.units, row))),
        " → ",
        h("bdi", {}, label(unit)),
        " ",
        h(
          "span",
          { class: "aw-number", "data-aw-weight": exact(weight, errorOf(shown, weight)) },
          formatNumber(weight, undefined, errorOf(shown, weight)),
        ),
        hidden ? ", unmasked " : " ",
        open,
      ),
    ];
  }

  const isMasked = (token: number): boolean =>
    source.meta.masked.some((one) => one.token === token);

  return { element, show, clear: () => element.replaceChildren() };
}
