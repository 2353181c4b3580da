/** Rows of a long list that have their cells only while they are near what is in sight. */

import { signal } from "@preact/signals-core";
import { onAbort } from "../protocol/abort";

/**
 * Numbers of the rows that are within `margin` px of what their list shows. A row that has the focus stays, and one
 * that `keep` wants. `follow` is called with the list and its rows by number, once they are drawn.
 */
export function createNearRows(margin: number, keep: (row: number) => boolean, until: AbortSignal) {
  const near = signal<ReadonlySet<number>>(new Set());
  let observer: IntersectionObserver | null = null;
  return {
    has: (row: number) => near.value.has(row),
    add(row: number) {
      near.value = new Set(near.peek()).add(row);
    },
    follow(list: HTMLElement, rows: Iterable<Element>) {
      if (observer !== null) return;
      const numbers = new Map([...rows].map((row, number) => [row, number]));
      observer = new IntersectionObserver(
        (entries) => {
          const next = new Set(near.peek());
          for (const { target, isIntersecting } of entries) {
            const number = numbers.get(target) as number;
            if (isIntersecting) next.add(number);
            else if (!target.contains(target.ownerDocument.activeElement) && !keep(number))
              next.delete(number);
          }
          near.value = next;
        },
        { root: list, rootMargin: `${margin}px 0px` },
      );
      onAbort(until, () => observer?.disconnect());
      for (const row of numbers.keys()) observer.observe(row);
    },
  };
}
