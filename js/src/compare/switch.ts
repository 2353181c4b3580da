/**
 * A page of two runs: A, B or their difference, with one selection.
 *
 * `data-aw-part`: compare (the bar), difference; inside it alignment, distances, changes, guesses, reading.
 * `data-side` on the three buttons: a, b, difference.
 */

import { followTheme, ROOT_CLASS } from "../draw/color/theme";
import { consume, h } from "../draw/dom";
import { createFrame } from "../frame/frame";
import { type Chunks, SnapshotSource } from "../protocol/snapshot";
import { acceptSelection } from "../state/binding";
import { withSaved } from "../state/saved";
import { createState, fit } from "../state/state";
import { carrySelection, openCompared } from "./data";
import { difference } from "./difference";

const SIDES = ["a", "b", "difference"] as const;
type Shown = (typeof SIDES)[number];
const NAMES: Readonly<Record<Shown, string>> = { a: "A", b: "B", difference: "B − A" };

/** One run: its frame is drawn by the same code as a run that stands alone. */
async function openRun(chunks: Chunks) {
  const source = await SnapshotSource.open(chunks);
  const state = createState(acceptSelection(source.meta.snapshot.selection));
  state.set(fit(state.get(), source.meta));
  const place = h("section", { class: "aw-page-run", hidden: true });
  let drawn = false;
  return {
    source,
    state,
    place,
    /** A frame is made when it is first seen, so that it knows its width. */
    draw() {
      if (drawn) return;
      drawn = true;
      const frame = createFrame(withSaved(state, source.meta.snapshot));
      place.append(frame.element);
      frame.show(source, null);
    },
  };
}

export async function openComparison(
  main: HTMLElement,
  chunks: readonly [a: Chunks, b: Chunks],
): Promise<void> {
  const compared = await openCompared(chunks[0]);
  const a = await openRun(chunks[0]);
  const b = await openRun(chunks[1]);
  const { signal } = new AbortController();
  const buttons = SIDES.map((side) => h("button", { "data-side": side }, NAMES[side]));
  const text = (run: typeof a) =>
    h("bdi", {}, [run.source.meta.text, run.source.meta.text_pair].filter(Boolean).join(" · "));
  const bar = h(
    "div",
    { class: `${ROOT_CLASS} aw-compare`, "data-aw-part": "compare" },
    h("div", { class: "aw-segmented", role: "group", "aria-label": "Run" }, ...buttons),
    h("span", { class: "aw-compare-key" }, h("kbd", {}, "c"), " the next of the three"),
    h("p", { class: "aw-compare-text" }, h("b", {}, "A "), text(a)),
    h("p", { class: "aw-compare-text" }, h("b", {}, "B "), text(b)),
    ...compared.notes.map((note) => h("p", { class: "aw-compare-note" }, note)),
  );
  followTheme(bar, () => "auto", signal);
  const panel = h("div", {
    class: `${ROOT_CLASS} aw-difference`,
    "data-aw-part": "difference",
    hidden: true,
  });
  followTheme(panel, () => "auto", signal);
  main.replaceChildren(bar, a.place, b.place, panel);
  const view = difference(panel, compared, { a: a.source, b: b.source }, a.state, signal);

  let shown: Shown = "difference";
  const show = (side: Shown) => {
    // The difference shows A's selection.
    const from = shown === "b" ? "b" : "a";
    const to = side === "b" ? "b" : "a";
    if (from !== to) {
      const [source, target] = to === "b" ? [a, b] : [b, a];
      target.state.set(carrySelection(compared, source.state.get(), to));
    }
    shown = side;
    a.place.hidden = side !== "a";
    b.place.hidden = side !== "b";
    panel.hidden = side !== "difference";
    buttons.forEach((button, i) => {
      button.setAttribute("aria-pressed", String(SIDES[i] === side));
    });
    if (side === "difference") view.draw();
    else (side === "a" ? a : b).draw();
  };
  buttons.forEach((button, i) => {
    button.addEventListener("click", () => show(SIDES[i] ?? "a"));
  });
  const onKey = (event: KeyboardEvent) => {
    const { target } = event;
    if (event.key !== "c" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (target instanceof Element && target.matches("input, textarea, select")) return;
    show(SIDES[(SIDES.indexOf(shown) + 1) % SIDES.length] ?? "a");
    consume(event);
  };
  // Before the frames, which keep keys away from the host.
  document.addEventListener("keydown", onKey, { capture: true });
  show(shown);
}
