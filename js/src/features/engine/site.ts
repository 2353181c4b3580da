/**
 * Entry for the pages of the site: every saved run in its place, and one engine for all of a page, loaded when a text is
 * first typed.
 *
 * A place is an element `.aw-place` that holds a run's chunks and its picture. The model's file lies next to this script.
 */

import { h } from "../../draw/dom";
import { createFrame, type Frame } from "../../frame/frame";
import * as lazy from "../../lazy";
import { messageOf } from "../../protocol/failure";
import { required } from "../../protocol/required";
import { openSaved } from "../../state/saved";
import type { State } from "../../state/selection";
import { type LazyCode, lazyCode } from "../../views/contract";
import { attachEngine, type Facts } from "./attach";

/** Put here by js/site.mjs: facts of the model, its name, and the views that the engine computes. */
declare const MODEL: Facts & { readonly name: string; readonly views: readonly string[] };

/** Distance from the window (px) at which a place gets its widget. */
const NEAR = "600px";

const code: LazyCode = lazy;
const { name: modelName, views, ...facts } = MODEL;
const own = required(document.currentScript, "The script").getAttribute("src") ?? "";

/** The address of a file next to this script, relative to the page. */
const besideScript = (file: string): string => own.replace(/[^/]*$/, file);

const typed = attachEngine(
  {
    ...facts,
    beside: facts.beside && { ...facts.beside, src: besideScript(facts.beside.src) },
  },
  views,
);

/** A widget's name among the landmarks of a page that has several. */
function nameOf(place: HTMLElement, name: string): string {
  return places.length > 1 ? `${name}, ${places.indexOf(place) + 1} of ${places.length}` : name;
}

/** The heading that a place stands under; the widget's own are of the third level and deeper. */
const headingBefore = (place: HTMLElement): HTMLElement | undefined =>
  [...document.querySelectorAll<HTMLElement>("h1, h2, h3, h4")]
    .filter((heading) => place.compareDocumentPosition(heading) & Node.DOCUMENT_POSITION_PRECEDING)
    .at(-1);

/** Draw a place's run; one that cannot be opened leaves its picture. */
async function open(place: HTMLElement): Promise<void> {
  const chunksOf =
    (run: number) =>
    (name: string): string | null =>
      place.querySelector(`script.aw-data[data-run="${run}"][data-chunk="${CSS.escape(name)}"]`)
        ?.textContent ?? null;
  const chunk = chunksOf(0);
  try {
    if (place.querySelector('[data-run="1"]') !== null) {
      const both = h("div");
      place.append(both);
      await required(code.openPair, "The code of comparisons")(both, [chunk, chunksOf(1)]);
      place.dataset.awOpen = "";
      return;
    }
    const { source, state, free } = await openSaved(chunk);
    // A typed run has all heads; a saved one may have some.
    let shown = state;
    const selected: State = { ...free, set: (change) => shown.set(change) };
    const frame = createFrame(selected);
    frame.element.setAttribute("aria-label", nameOf(place, frame.element.ariaLabel ?? ""));
    if (headingBefore(place)?.tagName === "H1")
      place.append(h("h2", { class: "visually-hidden" }, "Widget"));
    place.append(frame.element);
    frame.show(source, null);
    const { model, profile } = source.meta;
    // A profile of the same model has no text to change.
    if (model.name === modelName && profile === null) {
      const show: Frame["show"] = (next, ...rest) => {
        if (next !== source) shown = free;
        frame.show(next, ...rest);
      };
      typed({ source, frame: { ...frame, show }, state: selected });
    }
    place.dataset.awOpen = "";
  } catch (error) {
    place.append(h("p", { role: "alert" }, `This run cannot be opened: ${messageOf(error)}`));
  }
}

lazyCode.value = code;
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
for (const place of places) observer.observe(place);
