/**
 * Entry for the pages of the site: every saved run in its place, and one engine for all of a page, loaded when a text is
 * first typed.
 *
 * A place is an element `.aw-place` that holds a picture and the chunks of a run, or names the file that holds those. That file and the
 * model's lie next to this script.
 */

import { h } from "../../../draw/dom";
import { messageOf } from "../../../protocol/failure";
import { required } from "../../../protocol/required";
import { lazyCode } from "../../../views/contract";
import { runsOf } from "./files";
import { startFront } from "./front";
import { openRun, runViews } from "./run";

/** Distance from the window (px) at which a place gets its widget. */
const NEAR = "600px";

/** A widget's name among the landmarks of a page that has several. */
function nameOf(place: HTMLElement, name: string): string {
  return places.length > 1 ? `${name}, ${places.indexOf(place) + 1} of ${places.length}` : name;
}

/** The heading that a place stands under; the widget's own are of the third level and deeper. */
const headingBefore = (place: HTMLElement): HTMLElement | undefined =>
  [...document.querySelectorAll<HTMLElement>("h1, h2, h3, h4")]
    .filter((heading) => place.compareDocumentPosition(heading) & Node.DOCUMENT_POSITION_PRECEDING)
    .at(-1);

/** The runs that lie in a place: one, or the two of a comparison. */
function runsIn(place: HTMLElement): ((name: string) => string | null)[] {
  const has = (run: number): boolean => place.querySelector(`[data-run="${run}"]`) !== null;
  return [0, 1]
    .filter(has)
    .map(
      (run) => (name) =>
        place.querySelector(`script.aw-data[data-run="${run}"][data-chunk="${CSS.escape(name)}"]`)
          ?.textContent ?? null,
    );
}

/** Draw a place's run; one that cannot be opened leaves its picture. */
async function open(place: HTMLElement): Promise<void> {
  try {
    const { awFile, awFront } = place.dataset;
    const [first, second] = awFile === undefined ? runsIn(place) : await runsOf(awFile);
    const chunks = required(first, "The run");
    if (second !== undefined) {
      const both = h("div");
      place.append(both);
      await runViews();
      const { openPair } = required(lazyCode.peek(), "The code of the views");
      await required(openPair, "The code of comparisons")(both, [chunks, second]);
    } else {
      if (headingBefore(place)?.tagName === "H1")
        place.append(h("h2", { class: "visually-hidden" }, "Widget"));
      if (awFront !== undefined) await startFront(place, chunks);
      else {
        const { frame } = await openRun(place, chunks);
        frame.element.setAttribute("aria-label", nameOf(place, frame.element.ariaLabel ?? ""));
      }
    }
    place.dataset.awOpen = "";
  } catch (error) {
    place.append(h("p", { role: "alert" }, `This run cannot be opened: ${messageOf(error)}`));
  }
}

const places = [...document.querySelectorAll<HTMLElement>(".aw-place")];
const observer = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      void open(target as HTMLElement);
    }
  },
  { rootMargin: NEAR },
);
for (const place of places) {
  observer.observe(place);
  // Tips, tables and the other views: a reader who touches a widget will want them.
  for (const kind of ["pointerenter", "focusin"])
    place.addEventListener(kind, () => runViews().catch(() => undefined), { once: true });
}
