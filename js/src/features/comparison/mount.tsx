/**
 * Two runs in one place: A, B or their difference, with one selection.
 *
 * `data-aw-part`: compare (the bar), difference; inside it alignment, distances, and what the panels have.
 * `data-side` on the three buttons: a, b, difference.
 */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import type { ComponentChildren } from "preact";
import { followTheme, ROOT_CLASS } from "../../draw/color/theme";
import { consume, h } from "../../draw/dom";
import { onResize } from "../../draw/resize";
import { headName } from "../../figures/names";
import { keepHostKeysAway } from "../../frame/host-keys";
import { Contact } from "../../frame/messages";
import type { Notice } from "../../protocol/failure";
import type { Source } from "../../protocol/types";
import type { State } from "../../state/selection";
import { SELECTION_KEYS } from "../../state/state";
import { Segmented } from "../../ui/controls";
import { mount as draw } from "../../ui/mount";
import { type Compared, carrySelection } from "./data";
import { difference } from "./difference";
import type { Memory, Patching } from "./panels/contract";

const SIDES = [
  ["a", "A"],
  ["b", "B"],
  ["difference", "B − A"],
] as const;
export type Shown = (typeof SIDES)[number][0];
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

interface Runs {
  readonly compared: Compared;
  readonly a: Run;
  readonly b: Run;
  readonly patching: Patching | null;
  readonly memory: Memory;
  readonly shown: Shown;
  /** At the end of the bar. */
  readonly tools?: ComponentChildren;
  /** Why the kernel gives no answer, which stands in A's frame while that is shown. */
  readonly kernel?: ReadonlySignal<Notice | null>;
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
function link(compared: Compared, a: Run, b: Run, until: AbortSignal): void {
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
  a.state.on(SELECTION_KEYS, () => carry(a, b, "b"), until);
  b.state.on(SELECTION_KEYS, () => carry(b, a, "a"), until);
  carry(a, b, "b");
}

/** The parts of A that B runs with now. */
function patchedNote({ patched }: Compared): string | null {
  if (!patched || patched.sites.length === 0) return null;
  const names = patched.sites.map(([kind, layer, at]) =>
    kind === "head" ? headName(layer, at) : `${kind} of layer ${layer} at token ${at}`,
  );
  return `B now runs with these parts of A: ${names.join(", ")}.`;
}

/** Draw the bar and the difference around `host`'s frames; the caller puts `elements` into the page. */
export function mount(host: HTMLElement, runs: Runs): Mounted {
  const { compared, a, b } = runs;
  const lifetime = new AbortController();
  const { signal: until } = lifetime;
  const shown = signal(runs.shown);
  const patched = patchedNote(compared);
  const bar = h("div", { class: `${ROOT_CLASS} aw-compare`, "data-aw-part": "compare" });
  const panel = h("div", {
    class: `${ROOT_CLASS} aw-difference`,
    "data-aw-part": "difference",
    hidden: true,
  });
  const text = (name: string, { source: { meta } }: Run) => (
    <p class="aw-compare-text">
      <b>{name} </b>
      <bdi>
        {meta.wordless
          ? meta.note
          : [meta.source_text, meta.text, meta.text_pair].filter(Boolean).join(" · ")}
      </bdi>
    </p>
  );
  draw(
    bar,
    () => (
      <>
        <Segmented label="Run" name="side" options={SIDES} value={shown.value} choose={show} />
        <span class="aw-muted">
          press <kbd>c</kbd> to switch
        </span>
        {runs.tools}
        {text("A", a)}
        {text("B", b)}
        {patched && (
          <p class="aw-muted" data-aw-part="patched-note">
            {patched}
          </p>
        )}
        <Contact
          notice={shown.value === "a" ? null : (runs.kernel?.value ?? null)}
          part="compare-kernel"
        />
        {compared.notes.map((note) => (
          <p class="aw-muted" key={note}>
            {note}
          </p>
        ))}
      </>
    ),
    until,
  );
  for (const root of [bar, panel]) {
    a.state.on(
      ["theme"],
      followTheme(root, () => a.state.get().theme, until),
      until,
    );
    keepHostKeysAway(root, until);
  }
  onResize(panel, (width) => panel.classList.toggle("aw-compact", width < COMPACT), until);
  link(compared, a, b, until);
  const { patching, memory } = runs;
  const sources = { a: a.source, b: b.source };
  const states = { a: a.state, b: b.state };
  const open = difference(panel, { compared, sources, states, patching, memory }, until);

  function show(side: Shown): void {
    shown.value = side;
    a.place.hidden = side !== "a";
    b.place.hidden = side !== "b";
    panel.hidden = side !== "difference";
    performance.mark("aw:switch", { detail: { side } });
    if (side === "difference") open();
    else (side === "a" ? a : b).draw();
    performance.mark("aw:switched", { detail: { side } });
  }
  function press(event: KeyboardEvent): void {
    const { target } = event;
    if (event.key !== "c" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (target instanceof Element && target.matches("input, textarea, select")) return;
    const now = SIDES.findIndex(([side]) => side === shown.peek());
    show((SIDES[(now + 1) % SIDES.length] ?? SIDES[0])[0]);
    // The focused element may be hidden now, and would get no further key.
    const active = document.activeElement;
    if (!(active instanceof HTMLElement) || active.offsetParent === null)
      bar.querySelector<HTMLElement>('[aria-pressed="true"]')?.focus({ preventScroll: true });
    consume(event);
  }
  // Before the frames, which keep keys away from the host.
  host.addEventListener("keydown", press, { capture: true, signal: until });
  return {
    elements: [bar, panel],
    start: () => show(shown.peek()),
    shown: () => shown.peek(),
    dispose() {
      lifetime.abort();
      bar.remove();
      panel.remove();
    },
  };
}
