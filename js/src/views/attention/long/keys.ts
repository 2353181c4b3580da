/** A long matrix by keyboard: the cursor goes by blocks, `m` to the strongest links of the focus token, one after the other. */

import { consume } from "../../../draw/dom";
import { windowsOf } from "../../../draw/heatmap/axis";
import type { Heatmap } from "../../../draw/heatmap/heatmap";
import type { Cell } from "../../../draw/heatmap/types";
import { levelOf } from "../../../draw/long/tile-images";
import { strongestOf } from "../../../figures/derive/matrix";
import { formatNumber } from "../../../figures/format";
import type { LongMatrix, LongRow } from "../../../figures/long/store";
import type { ViewContext } from "../../contract";
import { moveBlock, zoomByKey } from "../keys";

/** Strongest links that `m` goes through before it starts over. */
const WALK = 20;

interface LongKeys {
  readonly context: ViewContext;
  matrix(): LongMatrix | null;
  row(): LongRow | null;
  cursor(): Cell | null;
  value(cell: Cell): number | null;
  /** Labels of a query and of a key. */
  name(token: number): string;
  keyName(token: number): string;
  hover(cell: Cell | null): void;
  pick(cell: Cell): void;
  goTo(query: number, key: number): void;
  find(): void;
}

/**
 * The next of the strongest keys of a row after the one that is pinned: the strongest first, and again after the last.
 */
export function nextStrongest(row: LongRow, pinned: number | null, back: boolean): number | null {
  const best = strongestOf(row.values, WALK);
  if (best.length === 0) return null;
  const at = pinned === null ? -1 : best.indexOf(pinned);
  const next = at < 0 ? 0 : (at + (back ? -1 : 1) + best.length) % best.length;
  return best[next] ?? null;
}

export function listenToLongMap(element: HTMLElement, map: Heatmap, keys: LongKeys): void {
  const { state, signal, announce } = keys.context;

  function walk(back: boolean): void {
    const row = keys.row();
    if (row === null) {
      announce("Choose a token first; then this key goes to its strongest link.");
      return;
    }
    const { pair } = state.get();
    const key = nextStrongest(row, pair?.[0] === row.token ? pair[1] : null, back);
    if (key === null) return;
    keys.goTo(row.token, key);
    const weight = formatNumber(row.values[key] ?? 0);
    announce(`${keys.name(row.token)} to ${keys.keyName(key)}, position ${key}: ${weight}`);
  }

  function release(): boolean {
    const { pair, token } = state.get();
    if (keys.cursor() !== null) keys.hover(null);
    else if (pair !== null) state.set({ pair: null });
    else if (token !== null) state.set({ token: null });
    else return false;
    return true;
  }

  function press(event: KeyboardEvent, matrix: LongMatrix): boolean {
    const { key } = event;
    const g = map.geometry;
    if (g === null) return false;
    const window = windowsOf(g);
    const cursor = keys.cursor();
    const middle = ([from, to]: readonly [number, number]): number => Math.floor((from + to) / 2);
    const at = cursor ?? {
      row: state.get().token ?? middle(window.rows),
      column: middle(window.columns),
    };
    if (zoomByKey(map, key)) return true;
    if (key === "Enter" || key === " ") keys.pick(at);
    else if (key === "Escape") return release();
    else if (event.shiftKey && key.startsWith("Arrow")) {
      const across = { ArrowLeft: -0.25, ArrowRight: 0.25 }[key] ?? 0;
      const down = { ArrowUp: -0.25, ArrowDown: 0.25 }[key] ?? 0;
      map.panBy(across, down);
    } else {
      const next = moveBlock(key, at, matrix, 2 ** levelOf(g, matrix.coarsest));
      if (next === null) return false;
      const moved = cursor === null ? at : next;
      keys.hover(moved);
      map.reveal(moved);
      const value = keys.value(moved);
      if (value !== null) {
        const spoken = Number.isNaN(value) ? "masked" : formatNumber(value);
        announce(`${keys.name(moved.row)} to ${keys.keyName(moved.column)}: ${spoken}`);
      }
    }
    return true;
  }

  /** Keys of the whole view. */
  function pressAnywhere(key: string): boolean {
    if (key === "m" || key === "M") walk(key === "M");
    else if (key === "/") keys.find();
    else return false;
    return true;
  }

  element.addEventListener(
    "keydown",
    (event) => {
      const { target, key, ctrlKey, metaKey, altKey } = event;
      const matrix = keys.matrix();
      if (ctrlKey || metaKey || altKey || target instanceof HTMLInputElement) return;
      const onMap = target === map.element && matrix !== null && press(event, matrix);
      if (onMap || pressAnywhere(key)) consume(event);
    },
    { signal },
  );
}
