/** Which labels of a crowded axis are written: as many as fit, the weightiest first. */

import { itemAt } from "../../protocol/required";
import type { Geometry, Track } from "./types";

/** Labels that stand on end only if they are words: a turned comma is an apostrophe. */
export const isSign = (label: string): boolean => /^[\p{P}\p{S}]{1,2}$/u.test(label);

export type Range = readonly [from: number, to: number];

/** First and one past the last position of a track inside `[from, to]`. */
export function windowOf(track: Track, from: number, to: number): [number, number] {
  return [
    Math.max(0, Math.floor((from - track.start) / track.size + 1e-6)),
    Math.min(track.count, Math.ceil((to - track.start) / track.size - 1e-6)),
  ];
}

/** Rows and columns in the window of a map, fractions included. */
export function windowsOf(g: Geometry): { readonly rows: Range; readonly columns: Range } {
  const within = ({ start, size }: Track, from: number, extent: number): Range => [
    (from - start) / size,
    (from + extent - start) / size,
  ];
  return { rows: within(g.rows, g.top, g.height), columns: within(g.columns, g.left, g.width) };
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
