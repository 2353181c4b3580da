/** Pointer and keyboard in the list of predictions: which cell has the focus, what opens, what is scrolled to. */

import { computed, signal } from "@preact/signals-core";
import { consume } from "../../draw/dom";
import { onAbort } from "../../protocol/abort";
import { itemAt, required } from "../../protocol/required";
import { watch } from "../../ui/mount";
import type { RunContext } from "../contract";
import type { Column } from "./answers";
import { type CellPlace, cellAt, nextCell, placeOf, scrollTo } from "./cells";
import type { PredictionsModel } from "./model";

/** `fill` gives a row its cells at once. */
export function createInteraction(
  host: HTMLElement,
  { state, signal: until }: RunContext,
  model: PredictionsModel,
  fill: (position: number) => void,
) {
  const { selection, current, mode, opened, softmax, visible, answers } = model;
  /** The cell where the reader has been. */
  const visited = signal<CellPlace | null>(null);
  /** The cell that Tab enters: that one, or the focus token's. */
  const entry = computed((): CellPlace => {
    const { token } = selection.value;
    const position = visible.value.find((i) => i === token) ?? visible.value[0] ?? 0;
    return visited.value ?? { position, column: "token" };
  });
  /** A click on a guess continues the text with it. */
  const continuing = (): boolean => model.goOn !== null && mode.value === "next";
  const list = (): HTMLElement | null => host.querySelector(".aw-predictions-list");
  const rowAt = (position: number): HTMLElement | null =>
    host.querySelector(`.aw-position[data-position="${position}"]`);
  const columnsOf = (position: number): readonly Column[] => {
    const maskable = rowAt(position)?.querySelector(".aw-mask-token") != null;
    const guesses = answers.value[position]?.guesses.map((_, k) => k + 1);
    return [
      "token",
      ...(maskable ? (["mask"] as const) : []),
      ...(guesses ? ["original" as const, ...guesses] : []),
    ];
  };

  function onClick({ target }: MouseEvent): void {
    const place = placeOf(target);
    if (place === null) return;
    visited.value = place;
    const { position, column } = place;
    const { token } = state.get();
    if (column === "mask") model.toggleMask(position);
    else if (column === "token") state.set({ token: token === position ? null : position });
    else if (opened.value?.position === position && opened.value.from === column) {
      opened.value = null;
    } else {
      const { original, guesses } = required(answers.value[position], "The answer");
      const { id } =
        column === "original" ? (original ?? itemAt(guesses, 0)) : itemAt(guesses, column - 1);
      if (column !== "original" && continuing()) {
        model.goOn?.(position, id);
        return;
      }
      if (token !== position) state.set({ token: position });
      opened.value = { position, tokenId: id, from: column };
    }
  }

  function onKey(event: KeyboardEvent): void {
    const open = opened.value;
    if (event.key === "Escape" && open !== null) {
      consume(event);
      opened.value = null;
      focusOn({ position: open.position, column: open.from });
      return;
    }
    const place = placeOf(event.target);
    if (place === null) return;
    const next = nextCell(event, place, visible.value, columnsOf);
    if (next === null) return;
    consume(event);
    focusOn(next);
    reveal(next.position);
  }

  function focusOn(place: CellPlace): void {
    fill(place.position);
    visited.value = place;
    const shown = list();
    const cell = shown && (cellAt(shown, place) ?? cellAt(shown, { ...place, column: "token" }));
    cell?.focus({ preventScroll: true });
  }

  let frame = 0;

  /** Bring a row in sight with the next frame: measuring now would lay the page out once more. */
  function reveal(position: number, softmax = false): void {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      const [shown, row] = [list(), rowAt(position)];
      const wanted = softmax ? (row?.nextElementSibling as HTMLElement | null) : row;
      if (shown !== null && wanted !== null && !wanted.hidden) scrollTo(shown, wanted);
    });
  }

  watch(() => {
    const { token } = selection.value;
    void current.value;
    visited.value = null;
    if (token !== null && visible.value.includes(token)) reveal(token);
  }, until);
  // The list opens at the row that the sentence speaks of, once.
  let begun = false;
  watch(() => {
    const position = model.subject.value;
    if (position === null || begun) return;
    begun = true;
    if (visited.peek() !== null) return;
    visited.value = { position, column: "token" };
    reveal(position);
  }, until);
  watch(() => {
    if (softmax.value !== null && opened.value !== null) reveal(opened.value.position, true);
  }, until);
  onAbort(until, () => cancelAnimationFrame(frame));

  return { entry, continuing, list, onClick, onKey };
}
