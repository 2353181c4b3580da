/** Pointer and keys on the picture: point, choose, draw a region. */

import { signal } from "@preact/signals-core";
import { consume } from "../../draw/dom";
import { isSecondClick } from "../../draw/touch";
import { formatNumber } from "../../figures/format";
import { watch } from "../../ui/mount";
import { type Place, placeOf, regionOf, stepFrom, tokenAt, tokensIn, tokenUnder } from "./geometry";
import type { ImageModel } from "./model";
import { timesChance } from "./words";

/** A press that moves so far (px) draws a region. */
const DRAG = 4;

export function createInput(
  model: ImageModel,
  stage: () => HTMLElement | null,
  until: AbortSignal,
) {
  const { grid, state, picture, pointed, values, numOf, announce, nameOf } = model;
  /** First corner of a region that is extended by keys. */
  let anchor: Place | null = null;
  let pressed: { readonly x: number; readonly y: number; readonly at: Place } | null = null;
  let dragged = false;
  /** True while a finger draws regions instead of scrolling the page. */
  const drawing = signal(false);
  /** The patch that has the keys. */
  const cursor = signal<Place>({ row: grid.rows >> 1, column: grid.columns >> 1 });

  watch(() => {
    const { token } = model.selection.value;
    const chosen = token === null ? null : placeOf(grid, token);
    if (chosen !== null) cursor.value = chosen;
  }, until);

  function tokenOf({ clientX, clientY }: MouseEvent): number | null {
    const found = picture.answer.peek();
    const box = stage()?.getBoundingClientRect();
    if (found === null || box === undefined || box.width === 0) return null;
    const x = ((clientX - box.left) / box.width) * found.width;
    const y = ((clientY - box.top) / box.height) * found.height;
    return tokenUnder(grid, found.rects, x, y);
  }
  const placeUnder = (event: MouseEvent): Place | null => {
    const token = tokenOf(event);
    return token === null ? null : placeOf(grid, token);
  };

  function spoken(token: number): string {
    const value = values.peek()?.[token];
    return value === undefined || Number.isNaN(value)
      ? nameOf(token)
      : `${nameOf(token)}: ${formatNumber(numOf(value))}${timesChance(model, numOf(value))}`;
  }

  function move(event: KeyboardEvent, to: Place): void {
    const from = cursor.peek();
    cursor.value = to;
    if (event.shiftKey) {
      anchor ??= from;
      const next = regionOf(anchor, to);
      model.chooseRegion(next);
      announce(`Mean of ${tokensIn(grid, next).length} patches.`);
      return;
    }
    anchor = null;
    const token = tokenAt(grid, to);
    model.choose(token);
    announce(`${nameOf(token)} chosen.`);
  }

  return {
    drawing,
    cursor,
    spoken,
    pointerDown(event: PointerEvent): void {
      const at = placeUnder(event);
      dragged = false;
      if (event.button !== 0 || at === null) return;
      if (event.pointerType === "touch" && !drawing.peek()) return;
      pressed = { x: event.clientX, y: event.clientY, at };
      stage()?.setPointerCapture?.(event.pointerId);
    },
    pointerMove(event: PointerEvent): void {
      const token = tokenOf(event);
      if (pressed === null) {
        pointed.value = token;
        return;
      }
      const far = Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y);
      const to = token === null ? null : placeOf(grid, token);
      if (to === null || (!dragged && far < DRAG)) return;
      dragged = true;
      pointed.value = null;
      model.chooseRegion(regionOf(pressed.at, to));
    },
    pointerUp(): void {
      pressed = null;
      if (!dragged) return;
      anchor = null;
      announce(`Mean of ${state.get().group.length} patches.`);
    },
    leave(): void {
      if (pressed === null) pointed.value = null;
    },
    click(event: MouseEvent): void {
      if (dragged || isSecondClick(event)) {
        dragged = false;
        return;
      }
      const token = tokenOf(event);
      if (token === null) return;
      const hadRegion = model.chosen.peek().kind === "region";
      const at = placeOf(grid, token);
      if (at !== null) cursor.value = at;
      anchor = null;
      // Any click takes a region away.
      if (hadRegion) model.choose(null);
      else model.choose(state.get().token === token ? null : token);
    },
    press(event: KeyboardEvent): void {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const { token, group } = state.get();
      const at = cursor.peek();
      if (event.key === "Escape") {
        if (group.length === 0 && token === null) return;
        anchor = null;
        model.choose(null);
        announce("Nothing chosen.");
      } else if (event.key === "Enter" || event.key === " ") {
        const here = tokenAt(grid, at);
        model.choose(token === here ? null : here);
      } else {
        const to = stepFrom(grid, at, event.key);
        if (to === null) return;
        move(event, to);
      }
      consume(event);
    },
  };
}

export type ImageInput = ReturnType<typeof createInput>;
