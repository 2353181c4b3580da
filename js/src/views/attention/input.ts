/** Pointer and keys on the pictures. */

import { consume } from "../../draw/dom";
import type { Cell } from "../../draw/heatmap/types";
import { tapTwice } from "../../draw/touch";
import { spokenQuery } from "../../figures/names";
import { gatherCell, pickCell, spokenCell } from "./cells";
import { pressKey } from "./keys";
import type { Point } from "./layout";
import { type AttentionModel, isEmpty } from "./model";
import type { Pictures } from "./pictures";
import type { Tip } from "./tip";

export class Input {
  constructor(
    readonly model: AttentionModel,
    readonly pictures: Pictures,
    readonly tip: Tip,
  ) {}

  listen(element: HTMLElement): void {
    const { signal } = this.model.context;
    const press = (event: KeyboardEvent) => this.#press(event) && consume(event);
    element.addEventListener("keydown", press, { signal });
    const { current } = this.pictures.flow;
    if (current === null) return;
    const linkOf = (event: MouseEvent): string | null => {
      const cell = this.pictures.flowCell(event);
      return cell && `${cell.row} ${cell.column}`;
    };
    tapTwice(current, linkOf, signal);
  }

  /** `at`: the pointer, in the box of the pictures, where a cell has no place of its own. */
  hover(cell: Cell | null, at: Point | null = null): void {
    const { cursor } = this.model;
    if (cell?.row === cursor?.row && cell?.column === cursor?.column) return;
    this.model.cursor = cell;
    this.tip.pointer = at;
    this.pictures.mark();
    this.tip.show();
    if (cell !== null && cell.row >= 0 && cell.column >= 0) this.loadNumbers();
  }

  /** Scores, queries and keys of the pair under inspection. */
  loadNumbers(): void {
    void this.model.loadNumbers(() => this.tip.show());
  }

  /** With Ctrl or Cmd a cell joins the group. */
  pick(cell: Cell, gathering = false): void {
    const { context, matrix, labels } = this.model;
    if (matrix.value === null) return;
    if (gathering) gatherCell(context, matrix.value, labels, cell);
    else pickCell(context, matrix.value, labels, cell);
  }

  #announceCell(): void {
    const { matrix, cursor, cells, labels, context } = this.model;
    const shown = matrix.value;
    if (shown === null || cursor === null || cells === null) return;
    const { row, column } = cursor;
    const value = spokenCell(shown, cells, row * shown.keys.length + column);
    context.announce(`${spokenQuery(labels, row)} to ${labels.keys[column]}: ${value}`);
  }

  /** Release selections one by one; false if there is none. */
  #release(): boolean {
    const { state } = this.model.context;
    const { pair, group } = state.get();
    if (this.model.cursor !== null) this.hover(null);
    else if (pair !== null) state.set({ pair: null });
    else if (group.length > 0) state.set({ group: [] });
    else return false;
    return true;
  }

  #press(event: KeyboardEvent): boolean {
    const { map } = this.pictures;
    const { matrix, cursor, context } = this.model;
    if (event.target !== map.element) return event.key === "Escape" && this.#release();
    const shown = matrix.value;
    if (shown === null || isEmpty(shown) || event.altKey) return false;
    return pressKey(event, {
      ...{ map, matrix: shown, cursor },
      focused: shown.queryOf(context.state.get().token),
      hover: (cell) => this.hover(cell),
      pick: (cell, gathering) => this.pick(cell, gathering),
      release: () => this.#release(),
      announceCell: () => this.#announceCell(),
    });
  }
}
