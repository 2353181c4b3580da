/** Cells and labels by pointer: what a click chooses, and the lines of the flow as targets. */

import { flowAt } from "../../draw/heatmap/flow";
import type { Cell, Geometry } from "../../draw/heatmap/heatmap";
import { tapTwice } from "../../draw/touch";
import { gathered } from "../../figures/derive/group";
import type { Matrix } from "../../figures/matrix";
import { itemAt } from "../../protocol/required";
import type { ViewContext } from "../contract";

/** A cell pins its pair, a label makes its token the focus; a second time releases them. */
export function pickCell({ state }: ViewContext, { units }: Matrix, { row, column }: Cell): void {
  const { token: focus, pair } = state.get();
  const { token } = itemAt(units, row >= 0 ? row : column);
  if (row < 0 || column < 0) {
    state.set({ token: focus === token ? null : token });
    return;
  }
  const key = itemAt(units, column).token;
  const same = pair !== null && pair[0] === token && pair[1] === key;
  state.set({ token, pair: same ? null : [token, key] });
}

/** The label of a cell joins the group, or leaves it. */
export function gatherCell(
  { state, announce }: ViewContext,
  { units }: Matrix,
  labels: readonly string[],
  { row, column }: Cell,
): void {
  const unit = column >= 0 ? column : row;
  const { token } = itemAt(units, unit);
  const change = gathered(state.get().group, token);
  state.set({ group: change });
  const count = `${change.length} ${change.length === 1 ? "token" : "tokens"}`;
  announce(
    `${labels[unit]} ${change.includes(token) ? "added to" : "removed from"} the group: ${count}`,
  );
}

export interface FlowEvents {
  geometry(): Geometry | null;
  hover(cell: Cell | null): void;
  pick(cell: Cell, gathering: boolean): void;
}

export function listenToFlow(
  flow: HTMLCanvasElement,
  { geometry, hover, pick }: FlowEvents,
  signal: AbortSignal,
): void {
  const over = (event: MouseEvent): Cell | null => {
    const box = flow.getBoundingClientRect();
    const at = geometry();
    return at && flowAt(at, box.width, event.clientX - box.left, event.clientY - box.top);
  };
  const linkOf = (event: MouseEvent): string | null => {
    const cell = over(event);
    return cell && `${cell.row} ${cell.column}`;
  };
  tapTwice(flow, linkOf, signal);
  flow.addEventListener("pointermove", (event) => hover(over(event)), { signal });
  flow.addEventListener("pointerleave", () => hover(null), { signal });
  flow.addEventListener(
    "click",
    (event) => {
      const cell = over(event);
      if (cell !== null) pick(cell, event.ctrlKey || event.metaKey);
    },
    { signal },
  );
}
