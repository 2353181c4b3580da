/** Clicks and keys on the head grid: choose a head, go to the next one, switch one off. */

import { consume } from "../../draw/dom";
import type { ViewContext } from "../../views/contract";
import type { GridModel } from "./model";
import { createTyping } from "./off";

export function createGridInput(context: ViewContext, model: GridModel) {
  const { state, source } = context;
  const { profile } = source.meta;
  const { layers, heads, side, columns, rows, layered, off, parts } = model;

  const chosen = (): readonly [layer: number, head: number] => {
    const { layer, head } = state.get();
    return [layer, head === "mean" ? 0 : head];
  };

  function select(layer: number, head: number, focus = true): void {
    state.set(layered.peek() ? { layer } : { layer, head });
    // A saved page goes on to the next head that it has.
    if (focus)
      parts.grid?.querySelector<HTMLElement>('[tabindex="0"]')?.focus({ preventScroll: true });
  }

  const type = createTyping((layer, head) => {
    if (layer < layers && head < heads) select(layer, head);
    else context.announce(`There is no layer ${layer}, head ${head}.`);
  });

  function click({ target }: Event): void {
    const label = (target as Element).closest<HTMLElement>("[data-number]");
    if (label !== null) {
      const number = Number(label.dataset.number);
      const ofHead = !label.classList.contains("aw-grid-layer");
      if (ofHead && !model.isSaved(chosen()[0], number) && !layered.peek())
        context.announce("This head is not in this saved page.");
      else if (ofHead) select(chosen()[0], number, false);
      else if (source.has?.({ kind: "weights", layer: number, head: "mean" }) === false)
        context.announce("The mean head of this layer is not in this saved page.");
      else state.set(layered.peek() ? { layer: number } : { layer: number, head: "mean" });
      return;
    }
    const button = (target as Element).closest<HTMLElement>(".aw-grid-head");
    if (button?.ariaDisabled === "true" && !layered.peek())
      context.announce("This head is not in this saved page.");
    else if (button) select(Number(button.dataset.layer), Number(button.dataset.head));
  }

  function press(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [layer, head] = chosen();
    const [row, column] = side ? [head, layer] : [layer, head];
    const moves: Record<string, readonly [number, number]> = {
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      Home: [row, 0],
      End: [row, columns - 1],
      PageUp: [0, column],
      PageDown: [rows - 1, column],
    };
    const move = moves[event.key];
    if (move !== undefined) {
      const [l, k] = side ? [move[1], move[0]] : move;
      if (l >= 0 && l < layers && k >= 0 && k < heads) select(l, k);
    } else if (event.key === "o" && profile === null) off.toggle(layer, head);
    else if (event.key === "O" && profile === null) off.clear();
    else if (!type(event.key)) return;
    consume(event);
  }
  return { chosen, select, click, press };
}

export type GridInput = ReturnType<typeof createGridInput>;
