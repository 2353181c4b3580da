/** Marks where windows of a text overlap: a bar along both axes of a matrix and below the words, with its legend. */

import type { Range } from "../../figures/long/levels";
import { axisRanges, mostReads, namesOf, overlapAt, overlapsOf } from "../../figures/long/windows";
import { onAbort } from "../../protocol/abort";
import type { Meta } from "../../protocol/types";
import { h, setAttributes } from "../dom";
import type { Geometry } from "../heatmap/types";

type Track = Geometry["rows"];

/** A map, and what lies on its axes. */
interface Marked {
  readonly element: HTMLElement;
  readonly geometry: Geometry | null;
}

/** A bar along an axis, px. */
interface Bar {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Thickness of a bar (px), and its distance from the plot. */
const [THICK, APART] = [3, 2] as const;
/** Bars nearer to each other than this (px) are drawn as one. */
const MIN_GAP = 2;

/** Parts of an axis in sight, in px from the edge of the plot. */
function inSight(ranges: readonly Range[], track: Track, edge: number, side: number): Range[] {
  const shown: [number, number][] = [];
  for (const [from, to] of ranges) {
    const start = Math.max(0, track.start - edge + from * track.size);
    const end = Math.min(side, track.start - edge + to * track.size);
    const before = shown.at(-1);
    if (end <= start) continue;
    if (before !== undefined && start - before[1] < MIN_GAP) before[1] = end;
    else shown.push([start, end]);
  }
  return shown;
}

/** Label of a bar that marks an overlap. */
export const overlapNote = (meta: Meta): string =>
  `read in ${mostReads(meta) > 2 ? "several" : "two"} windows; a row is from the one in which its token is most central`;

/** The same in a caption; null of a text that was read at once. */
export const barsOf = (meta: Meta): string | null =>
  overlapsOf(meta).length === 0 ? null : `Bars along the axes: ${overlapNote(meta)}.`;

function legend(meta: Meta): HTMLElement {
  return h(
    "p",
    { class: "aw-hint", "data-aw-part": "overlaps" },
    h("span", { class: "aw-overlap aw-overlap-swatch", "aria-hidden": "true" }),
    overlapNote(meta),
  );
}

/** Bars along both axes; `units`: what a short text's matrix has there. Redrawn after every drawing of the map. */
export function markAxes(
  { element, geometry: g }: Marked,
  meta: Meta,
  units: readonly { readonly token: number }[] | null = null,
): void {
  if (g === null || overlapsOf(meta).length === 0) return;
  let layer = element.querySelector<HTMLElement>(".aw-overlaps");
  if (layer === null) {
    layer = h("div", { class: "aw-overlaps", "aria-hidden": "true" });
    element.append(layer);
    element.parentElement?.after(legend(meta));
  }
  layer.replaceChildren(
    ...overlapBars(g, meta, units).map((bar) => {
      const strip = h("div", { class: "aw-overlap" });
      for (const [name, value] of Object.entries(bar)) strip.style.setProperty(name, `${value}px`);
      return strip;
    }),
  );
}

/** Bars of the overlaps in sight: above the columns, then along the rows. */
export function overlapBars(
  g: Geometry,
  meta: Meta,
  units: readonly { readonly token: number }[] | null,
): Bar[] {
  const ranges = axisRanges(meta, units === null ? null : units.map(({ token }) => token));
  const before = THICK + APART;
  return [
    ...inSight(ranges, g.columns, g.left, g.width).map(([from, to]) => ({
      left: g.left + from,
      top: g.top - before,
      width: to - from,
      height: THICK,
    })),
    ...inSight(ranges, g.rows, g.top, g.height).map(([from, to]) => ({
      left: g.left - before,
      top: g.top + from,
      width: THICK,
      height: to - from,
    })),
  ];
}

/** Words that several windows read, marked in the ribbon and named in their titles. */
export function markRibbon(element: HTMLElement, meta: Meta, signal: AbortSignal): void {
  if (overlapsOf(meta).length === 0) return;
  const mark = (): void => {
    for (const button of element.querySelectorAll<HTMLElement>("[data-token]")) {
      const overlap = overlapAt(meta, Number(button.dataset.token));
      setAttributes(button, { "data-aw-overlap": overlap === undefined ? null : "" });
    }
  };
  const observer = new MutationObserver(mark);
  observer.observe(element, { childList: true, subtree: true });
  onAbort(signal, () => observer.disconnect());
  mark();
  const describe = ({ target }: Event): void => {
    const button = (target as Element).closest<HTMLElement>("[data-aw-overlap]");
    const overlap = button === null ? undefined : overlapAt(meta, Number(button.dataset.token));
    if (button === null || overlap === undefined) return;
    const description = `read in ${namesOf(overlap)}`;
    // The ribbon rewrites both whenever a word is pointed at.
    for (const name of ["title", "aria-label"]) {
      const text = button.getAttribute(name) ?? "";
      if (!text.includes(description)) button.setAttribute(name, `${text}, ${description}`);
    }
  };
  for (const name of ["focusin", "pointerover"])
    element.addEventListener(name, describe, { signal });
}
