/**
 * Two runs in one place: A, B or their difference, with one selection.
 *
 * `data-aw-part`: compare (the bar), difference; inside it alignment, distances, and what the panels have.
 * `data-side` on the three buttons: a, b, difference.
 */

import { followTheme, ROOT_CLASS } from "../draw/color/theme";
import { consume, h } from "../draw/dom";
import { onResize } from "../draw/resize";
import { headName } from "../figures/names";
import { keepHostKeysAway } from "../frame/host-keys";
import type { Source } from "../protocol/types";
import type { Selection, State } from "../state/selection";
import { SELECTION_KEYS } from "../state/state";
import { type Compared, carrySelection } from "./data";
import { difference } from "./difference";
import type { Memory, Patching } from "./panels/contract";

const SIDES = ["a", "b", "difference"] as const;
export type Shown = (typeof SIDES)[number];
const NAMES: Readonly<Record<Shown, string>> = { a: "A", b: "B", difference: "B − A" };
/** Below this width (px) the heads stand above the panel. */
const COMPACT = 620;

/** A run, and where its frame is. */
export interface Run {
  readonly source: Source;
  readonly state: State;
  readonly place: HTMLElement;
  /** Called whenever the run comes into sight. */
  draw(): void;
}

export interface Runs {
  readonly compared: Compared;
  readonly a: Run;
  readonly b: Run;
  readonly patching: Patching | null;
  readonly memory: Memory;
  readonly shown: Shown;
  /** Buttons at the end of the bar. */
  readonly tools: readonly HTMLElement[];
}

export interface Mounted {
  /** The bar and the difference, for the page. */
  readonly elements: readonly [bar: HTMLElement, difference: HTMLElement];
  /** Once they are in the page, so that what is drawn knows its width. */
  start(): void;
  shown(): Shown;
  dispose(): void;
}

/** Keep both selections the same, token by token and head by head. */
function link(compared: Compared, a: Run, b: Run, signal: AbortSignal): void {
  let busy = false;
  const same = a.source.meta.model.name === b.source.meta.model.name;
  const carry = (from: Run, to: Run, side: "a" | "b"): void => {
    if (busy) return;
    busy = true;
    const change = carrySelection(compared, from.state.get(), side);
    const { target, ...rest } = change;
    // Another vocabulary has other ids, and a saved page explains what it was saved with.
    to.state.set(same && to.source.live && target !== undefined ? change : rest);
    busy = false;
  };
  const keys: readonly (keyof Selection)[] = SELECTION_KEYS;
  a.state.on(keys, () => carry(a, b, "b"), signal);
  b.state.on(keys, () => carry(b, a, "a"), signal);
  carry(a, b, "b");
}

/** Says that B is not as it was run first. */
function patchedNote({ patched }: Compared): HTMLElement[] {
  if (!patched || patched.sites.length === 0) return [];
  const names = patched.sites.map(([kind, layer, at]) =>
    kind === "head" ? headName(layer, at) : `${kind} of layer ${layer} at token ${at}`,
  );
  const text = `B now runs with these parts of A: ${names.join(", ")}.`;
  return [h("p", { class: "aw-compare-note", "data-aw-part": "patched-note" }, text)];
}

/** Draw the bar and the difference around `host`'s frames; the caller puts `elements` into the page. */
export function mount(host: HTMLElement, runs: Runs): Mounted {
  const { compared, a, b } = runs;
  const life = new AbortController();
  const { signal } = life;
  const theme = () => a.state.get().theme;
  const buttons = SIDES.map((side) => h("button", { "data-side": side }, NAMES[side]));
  const text = (run: Run) =>
    h("bdi", {}, [run.source.meta.text, run.source.meta.text_pair].filter(Boolean).join(" · "));
  const bar = h(
    "div",
    { class: `${ROOT_CLASS} aw-compare`, "data-aw-part": "compare" },
    h("div", { class: "aw-segmented", role: "group", "aria-label": "Run" }, ...buttons),
    h("span", { class: "aw-compare-key" }, h("kbd", {}, "c"), " the next of the three"),
    ...runs.tools,
    h("p", { class: "aw-compare-text" }, h("b", {}, "A "), text(a)),
    h("p", { class: "aw-compare-text" }, h("b", {}, "B "), text(b)),
    ...patchedNote(compared),
    ...compared.notes.map((note) => h("p", { class: "aw-compare-note" }, note)),
  );
  const panel = h("div", {
    class: `${ROOT_CLASS} aw-difference`,
    "data-aw-part": "difference",
    hidden: true,
  });
  for (const root of [bar, panel]) {
    a.state.on(["theme"], followTheme(root, theme, signal), signal);
    keepHostKeysAway(root, signal);
  }
  onResize(panel, (width) => panel.classList.toggle("aw-compact", width < COMPACT), signal);
  link(compared, a, b, signal);
  const view = difference(
    panel,
    {
      compared,
      sources: { a: a.source, b: b.source },
      states: { a: a.state, b: b.state },
      patching: runs.patching,
      memory: runs.memory,
    },
    signal,
  );
  let shown = runs.shown;
  const show = (side: Shown) => {
    shown = side;
    a.place.hidden = side !== "a";
    b.place.hidden = side !== "b";
    panel.hidden = side !== "difference";
    buttons.forEach((button, i) => {
      button.setAttribute("aria-pressed", String(SIDES[i] === side));
    });
    performance.mark("aw:switch", { detail: { side } });
    if (side === "difference") view.draw();
    else (side === "a" ? a : b).draw();
    performance.mark("aw:switched", { detail: { side } });
  };
  buttons.forEach((button, i) => {
    button.addEventListener("click", () => show(SIDES[i] ?? "a"));
  });
  // Before the frames, which keep keys away from the host.
  host.addEventListener(
    "keydown",
    (event) => {
      const { target } = event;
      if (event.key !== "c" || event.ctrlKey || event.metaKey || event.altKey) return;
      if (target instanceof Element && target.matches("input, textarea, select")) return;
      show(SIDES[(SIDES.indexOf(shown) + 1) % SIDES.length] ?? "a");
      // The focused element may be hidden now, and would hear no further key.
      if (
        !(document.activeElement instanceof HTMLElement) ||
        document.activeElement.offsetParent === null
      )
        buttons[SIDES.indexOf(shown)]?.focus({ preventScroll: true });
      consume(event);
    },
    { capture: true, signal },
  );
  return {
    elements: [bar, panel],
    start: () => show(shown),
    shown: () => shown,
    dispose() {
      life.abort();
      bar.remove();
      panel.remove();
    },
  };
}
