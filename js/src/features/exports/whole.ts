/**
 * A picture is of the whole view: what has not been in sight is drawn, what scrolls is unrolled. What would make it
 * larger than browsers draw stays as it is on screen, and the picture says which rows it has.
 */

import { showUnseen } from "../../draw/wait";
import { formatCount } from "../../figures/format";

/** A part that was asked for stays quiet about it at first (ms). */
const QUIET_MS = 200;
/** Time that a part may take before the picture is made without it (ms). */
const PATIENCE_MS = 20_000;
/** Tables are not shown smaller than this: the picture grows wider. */
const MIN_ZOOM = 0.4;

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, QUIET_MS));

/** Nothing in `panel` is on its way, and no row of a long list waits for its cells. */
const settled = (panel: Element): boolean =>
  panel.querySelector('[aria-busy="true"], .aw-position:empty') === null;

/** Draw what has not been in sight yet. */
export async function drawUnseen(panel: Element): Promise<void> {
  if (showUnseen(panel)) await pause();
  for (const end = Date.now() + PATIENCE_MS; !settled(panel) && Date.now() < end; ) await pause();
}

export interface Unrolled {
  /** Scrolling elements that the picture has whole. */
  readonly whole: ReadonlySet<Element>;
  /** Width that the picture needs beyond that of the panel on screen, px. */
  readonly wider: number;
  /** Parts of the picture taken from the others, one line each. */
  readonly parts: readonly string[];
}

/** Which scrolling elements of a panel fit into a picture no higher than `most` px. */
export function unroll(panel: HTMLElement, most: number): Unrolled {
  const scrolling = [panel, ...panel.querySelectorAll<HTMLElement>("*")].filter(scrolls);
  const more = (element: HTMLElement): number => element.scrollHeight - element.clientHeight;
  let room = most - panel.offsetHeight;
  const whole = new Set<Element>();
  const parts: string[] = [];
  // The smaller ones first: as many as fit.
  for (const element of scrolling.sort((a, b) => more(a) - more(b))) {
    if (more(element) <= room) {
      room -= more(element);
      whole.add(element);
    } else parts.push(partOf(element));
  }
  const wider = Math.max(
    0,
    ...[...whole].map(({ scrollWidth, clientWidth }) => MIN_ZOOM * scrollWidth - clientWidth),
  );
  return { whole, wider, parts: parts.filter((part) => part !== "") };
}

function scrolls(element: HTMLElement): boolean {
  const { clientHeight, scrollHeight, clientWidth, scrollWidth } = element;
  // Sizes are rounded to whole pixels.
  if (scrollHeight <= clientHeight + 1 && scrollWidth <= clientWidth + 1) return false;
  const { overflowX, overflowY } = getComputedStyle(element);
  return /auto|scroll/.test(`${overflowX} ${overflowY}`);
}

/** `Rows 5 to 16 of 59.`; empty where there are none. */
function partOf(scroller: Element): string {
  const rows = [...scroller.querySelectorAll("tbody > tr, [role=row][data-position]")]
    .map((row) => row.getBoundingClientRect())
    .filter(({ height }) => height > 0);
  const { top, bottom } = scroller.getBoundingClientRect();
  const seen = rows.flatMap((box, i) => {
    const middle = (box.top + box.bottom) / 2;
    return middle >= top && middle <= bottom ? [i + 1] : [];
  });
  const [first, last] = [seen[0], seen.at(-1)];
  if (first === undefined || last === undefined || seen.length === rows.length) return "";
  return `Rows ${formatCount(first)} to ${formatCount(last)} of ${formatCount(rows.length)}.`;
}

/** Show the copy of a scrolling element at its full size; one that is too wide, smaller. */
export function showWhole(copy: HTMLElement, { clientWidth, scrollWidth }: Element): void {
  for (const side of ["block", "inline"]) copy.style.setProperty(`max-${side}-size`, "none");
  copy.style.setProperty("block-size", "auto", "important");
  copy.style.setProperty("overflow", "visible", "important");
  const zoom = Math.max(MIN_ZOOM, clientWidth / scrollWidth);
  if (zoom < 1) copy.style.setProperty("zoom", String(zoom));
}
