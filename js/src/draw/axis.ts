/** Which labels of a crowded axis are written: as many as fit, the weightiest first. */

/** A run of positions on screen: `count` steps of `size` pixels from `start`. */
export interface Track {
  readonly start: number;
  readonly size: number;
  readonly count: number;
}

/**
 * Indices whose labels are written, at least `gap` pixels apart and inside `[from, to]`. All of them where
 * they fit; otherwise `first` before all others, then by `priority`.
 */
export function pickLabels(
  track: Track,
  [from, to]: readonly [number, number],
  gap: number,
  priority: ArrayLike<number>,
  first: readonly number[] = [],
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
  const candidates = [
    ...first.filter((i) => inside.includes(i)),
    ...inside.sort((a, b) => priority[b]! - priority[a]! || a - b),
  ];
  for (const i of candidates) {
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
