/** Which labels of a crowded axis are written: as many as fit, the weightiest first. */

import { itemAt } from "../../protocol/required";

/** A run of positions on screen: `count` steps of `size` pixels from `start`. */
export interface Track {
  readonly start: number;
  readonly size: number;
  readonly count: number;
}

/** The labels that leave room for the `strong` ones, which come besides. */
export function giveWay(
  chosen: readonly number[],
  strong: readonly number[],
  track: Track,
  gap: number,
): number[] {
  return chosen.filter((i) => strong.every((s) => Math.abs(i - s) * track.size >= gap && i !== s));
}

/**
 * Indices whose labels are written, at least `gap` pixels apart and inside `[from, to]`. All of them where
 * they fit; otherwise by `priority`.
 */
export function pickLabels(
  track: Track,
  [from, to]: readonly [number, number],
  gap: number,
  priority: ArrayLike<number>,
): number[] {
  const middle = (i: number): number => track.start + (i + 0.5) * track.size;
  const inside: number[] = [];
  for (let i = 0; i < track.count; i++) {
    if (middle(i) >= from && middle(i) <= to) inside.push(i);
  }
  if (track.size >= gap) return inside;
  const slots = Math.max(1, Math.floor((to - from) / gap));
  const taken = new Set<number>();
  const chosen: number[] = [];
  for (const i of inside.sort((a, b) => itemAt(priority, b) - itemAt(priority, a) || a - b)) {
    if (chosen.length >= slots) break;
    const at = Math.floor(middle(i));
    let free = true;
    for (let d = Math.ceil(1 - gap); d < gap && free; d++) free = !taken.has(at + d);
    if (!free) continue;
    taken.add(at);
    chosen.push(i);
  }
  return chosen.sort((a, b) => a - b);
}
