/** Clicks and keys on a token of the ribbon: focus, gather, mask, move. */

import { consume, step } from "../../draw/dom";
import { isSecondClick } from "../../draw/touch";
import type { Unit } from "../../figures/derive/units";
import { toggled } from "../../figures/derive/units";
import { chunkOf, tokensOf } from "../../figures/long/chunks";
import { itemAt } from "../../protocol/required";
import type { ViewContext } from "../../views/contract";
import type { Masking } from "./corner";
import type { RibbonLine } from "./line";

export const isGathered = ({ token, end }: Unit, group: readonly number[]): boolean =>
  group.some((each) => each >= token && each < end);

/** `rowHere`: the focus token's row is over this text, so that its tokens can be gathered. */
export function createInput(
  { source: { meta }, state, announce }: ViewContext,
  line: RibbonLine,
  { maskable, masking, mask }: Masking,
  rowHere: boolean,
) {
  function addToSum(unit: Unit): void {
    const next = toggled(state.get().group, unit);
    state.set({ group: next });
    announce(`${next.length} ${next.length === 1 ? "token" : "tokens"} gathered.`);
  }

  /** The unit that a key leads to, null for a key that moves nothing. */
  function target(key: string, index: number): number | null {
    // In a text from right to left, left is onwards.
    const turned = { ArrowLeft: "ArrowRight", ArrowRight: "ArrowLeft" }[key];
    const way = line.element.dir === "rtl" && turned ? turned : key;
    const next = step(way, index, line.units.length);
    if (next !== null || !line.long || !key.startsWith("Page")) return next;
    const chunk = chunkOf(index) + (key === "PageUp" ? -1 : 1);
    return Math.max(0, Math.min(line.n - 1, tokensOf(chunk, line.n)[0]));
  }

  return {
    press(event: KeyboardEvent): void {
      const index = line.indexOf(event.target);
      const unit = line.units[index];
      if (unit === undefined || event.altKey) return;
      const control = event.ctrlKey || event.metaKey;
      if ((event.key === "Enter" && control) || (event.key === " " && event.shiftKey)) {
        if (!rowHere) return;
        addToSum(unit);
      } else if (control || event.shiftKey) return;
      else {
        const next = target(event.key, index);
        if (next !== null) {
          state.set({ token: itemAt(line.units, next).token });
          line.buttonOf(next)?.focus({ preventScroll: true });
        } else if (event.key === "Enter" || event.key === " ") line.buttonOf(index)?.click();
        else if (event.key === "Escape") state.set({ token: null });
        else if (event.key === "x" && maskable) mask(unit);
        else return;
      }
      consume(event);
    },

    choose(event: MouseEvent): void {
      const index = line.indexOf(event.target);
      const unit = line.units[index];
      if (unit === undefined || isSecondClick(event)) return;
      if (rowHere && (event.ctrlKey || event.metaKey)) addToSum(unit);
      else if (masking.peek() && maskable) mask(unit);
      else state.set({ token: state.get().token === unit.token ? null : unit.token });
      line.buttonOf(index)?.focus({ preventScroll: true });
    },

    /** Move the focus token by a unit; false at the end of the text. */
    step(by: number): boolean {
      const { token } = state.get();
      const next = line.units[token === null ? 0 : line.unitAt(token) + by];
      if (next === undefined) return false;
      state.set({ token: next.token });
      return true;
    },

    /** From the end of the text back to the token that the first written one follows. */
    begin(): void {
      const { token } = state.get();
      const { units } = line;
      if (token === null || line.unitAt(token) < units.length - 1) return;
      const start = units[line.unitAt(Math.max((meta.written ?? 0) - 1, 0))] ?? units[0];
      if (start !== undefined) state.set({ token: start.token });
    },
  };
}
