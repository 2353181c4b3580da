/** A saved page: its runs below each other, behind a list, or two with their difference. */

import { openComparison } from "./compare/saved";
import { h } from "./draw/dom";
import { openDialog, whenSettled } from "./export/print";
import { createFrame, type Frame } from "./frame/frame";
import * as lazy from "./lazy";
import { explain } from "./protocol/failure";
import { itemAt, required } from "./protocol/required";
import { SnapshotSource } from "./protocol/snapshot";
import { acceptSelection } from "./state/binding";
import { withSaved } from "./state/saved";
import type { State } from "./state/selection";
import { createState, fit } from "./state/state";
import { provide } from "./views/lazy-views";

interface Index {
  /** All runs below each other, one at a time behind a list, or two with their difference. */
  readonly layout: "stack" | "report" | "compare";
  readonly runs: readonly Listed[];
}

interface Listed {
  readonly title: string;
  readonly tokens: number;
  /** B of a comparison, whose A is the run before. */
  readonly second?: boolean;
}

/** An entry of a list: a run, or a comparison of it with the next one. */
interface Entry {
  readonly run: number;
  readonly a: Listed;
  readonly b: Listed | null;
}

/** The entries of a list of runs, and their titles. */
export const entriesOf = (runs: readonly Listed[]): Entry[] =>
  runs.flatMap((a, run) => {
    const next = runs[run + 1];
    return a.second === true ? [] : [{ run, a, b: next?.second === true ? next : null }];
  });

const titleOf = ({ a, b }: Entry): string => (b === null ? a.title : `${a.title} | ${b.title}`);

/** A run of the page that has been drawn. */
export interface OpenedRun {
  readonly source: SnapshotSource;
  readonly frame: Frame;
  readonly state: State;
}

/** Makes a drawn run do more than a saved one can; the result stops it. */
export type Enliven = (opened: OpenedRun) => () => void;

let enliven: Enliven | null = null;

const OPEN_VIEW = ".aw-view > [data-view]";

/** The page's text up to its end; the first picture is drawn before that is read. */
const readToEnd = new Promise<void>((resolve) => {
  if (document.readyState !== "loading") resolve();
  else document.addEventListener("DOMContentLoaded", () => resolve(), { once: true });
});

/** Chunks of a run, as they are read. */
const chunksOf = (run: number) => (name: string) => {
  const element = () =>
    document.querySelector(`script.aw-data[data-run="${run}"][data-chunk="${CSS.escape(name)}"]`);
  const script = element();
  // An element has all of its text when something follows it.
  if (script?.nextSibling != null) return script.textContent;
  return readToEnd.then(() => element()?.textContent ?? null);
};

/**
 * Open a run below `parent`, unless it is no longer `wanted` by then; what cannot be opened says why.
 * The result closes it.
 */
async function open(
  run: number,
  parent: HTMLElement,
  wanted: () => boolean = () => true,
  view?: string,
  live = enliven,
): Promise<(() => void) | null> {
  performance.mark("aw:open");
  try {
    const source = await SnapshotSource.open(chunksOf(run));
    if (!wanted()) return null;
    const state = createState(acceptSelection(source.meta.snapshot.selection));
    state.set(fit(state.get(), source.meta));
    if (view !== undefined) state.set({ view });
    const frame = createFrame(withSaved(state, source.meta.snapshot));
    parent.replaceChildren(frame.element);
    frame.show(source, null);
    const stop = live?.({ source, frame, state });
    return () => {
      stop?.();
      frame.dispose();
    };
  } catch (error) {
    if (!wanted()) return null;
    const { message, hint } = explain(error);
    parent.replaceChildren(
      h("p", { role: "alert" }, `This run cannot be opened: ${message} ${hint}`),
    );
    return null;
  }
}

/** The same for an entry of a list; of a comparison both runs and their difference. */
async function openEntry(
  { run, b }: Entry,
  parent: HTMLElement,
  wanted?: () => boolean,
  view?: string,
  live = enliven,
): Promise<(() => void) | null> {
  if (b === null) return open(run, parent, wanted, view, live);
  try {
    return await openComparison(parent, [chunksOf(run), chunksOf(run + 1)], { wanted, view });
  } catch (error) {
    if (wanted?.() === false) return null;
    const { message, hint } = explain(error);
    parent.replaceChildren(
      h("p", { role: "alert" }, `This comparison cannot be opened: ${message} ${hint}`),
    );
    return null;
  }
}

async function stack(main: HTMLElement, index: Index): Promise<void> {
  for (const [run, { title }] of index.runs.entries()) {
    const place = h("section", { class: "aw-page-run", "aria-label": title });
    main.append(place);
    await open(run, place);
  }
}

/** A list to pick from; a run is inflated when it is opened and let go when another one is. */
function report(main: HTMLElement, index: Index): void {
  const place = h("section", { class: "aw-page-run" });
  const filter = h("input", {
    type: "search",
    placeholder: "Filter texts",
    "aria-label": "Filter texts",
  });
  const entries = entriesOf(index.runs);
  const links = entries.map(({ run, a, b }) =>
    h(
      "li",
      {},
      h(
        "a",
        { href: `#run=${run}` },
        h("bdi", { class: "aw-page-title" }, a.title),
        b === null ? null : h("bdi", { class: "aw-page-title" }, b.title),
        h(
          "span",
          { class: "aw-page-count" },
          b === null ? `${a.tokens} tokens` : `compared, ${a.tokens} and ${b.tokens} tokens`,
        ),
      ),
    ),
  );
  const list = h("ol", { start: 0 }, ...links);
  const count = h("p", { class: "aw-page-count", role: "status" });
  const narrow = () => {
    const wanted = filter.value.trim().toLocaleLowerCase();
    let shown = 0;
    links.forEach((item, i) => {
      item.hidden = !titleOf(itemAt(entries, i)).toLocaleLowerCase().includes(wanted);
      if (!item.hidden) shown++;
    });
    count.textContent = `${shown} of ${links.length} texts`;
  };
  filter.addEventListener("input", narrow);
  let close: (() => void) | null = null;
  let turn = 0;
  const follow = async () => {
    const wanted = Number(/^#run=(\d+)$/.exec(location.hash)?.[1] ?? 0);
    const chosen = Math.max(
      0,
      entries.findIndex(({ run }) => run === wanted),
    );
    const entry = itemAt(entries, chosen);
    const mine = ++turn;
    links.forEach((item, i) => {
      const link = item.firstElementChild;
      if (i === chosen) link?.setAttribute("aria-current", "page");
      else link?.removeAttribute("aria-current");
    });
    close?.();
    close = null;
    place.setAttribute("aria-label", titleOf(entry));
    const current = () => mine === turn;
    const opened = await openEntry(entry, place, current);
    if (current()) close = opened;
  };
  window.addEventListener("hashchange", () => void follow());
  main.classList.add("aw-page-report");
  const printer = h("button", {}, "Print all texts");
  const asked = async () => {
    printer.disabled = true;
    const view = place.querySelector<HTMLElement>(OPEN_VIEW)?.dataset.view;
    await printAll(main, index, view).catch((error: unknown) => {
      count.textContent = explain(error).message;
    });
    printer.disabled = false;
  };
  printer.addEventListener("click", () => void asked());
  main.append(h("nav", { "aria-label": "Texts" }, filter, count, list, printer), place);
  narrow();
  void follow();
}

/** Open every text out of sight, in the view that is open, print them all, and let them go. */
async function printAll(main: HTMLElement, index: Index, view: string | undefined): Promise<void> {
  const all = h("div", { class: "aw-page-all" });
  const opened: ((() => void) | null)[] = [];
  main.append(all);
  try {
    for (const entry of entriesOf(index.runs)) {
      const place = h("section", { class: "aw-page-run", "aria-label": titleOf(entry) });
      all.append(place);
      opened.push(await openEntry(entry, place, undefined, view, null));
      const panel = place.querySelector(".aw-view");
      if (panel !== null) await whenSettled(panel);
    }
    openDialog(window);
  } finally {
    for (const close of opened) close?.();
    all.remove();
  }
}

/** Two runs and their difference; runs that cannot be compared stand below each other. */
async function compare(main: HTMLElement, index: Index): Promise<void> {
  try {
    await openComparison(main, [chunksOf(0), chunksOf(1)]);
  } catch (error) {
    const { message, hint } = explain(error);
    main.replaceChildren(
      h("p", { role: "alert" }, `The difference cannot be shown: ${message} ${hint}`),
    );
    await stack(main, index);
  }
}

/** Draw the page's runs; `live` is called with each. */
export function startPage(live: Enliven | null): void {
  provide(lazy);
  enliven = live;
  const main = required(document.querySelector<HTMLElement>("main"), "<main>");
  const index = JSON.parse(
    required(document.getElementById("aw-index"), "#aw-index").textContent,
  ) as Index;
  main.replaceChildren();
  if (index.layout === "report") report(main, index);
  else if (index.layout === "compare") void compare(main, index);
  else void stack(main, index);
}
