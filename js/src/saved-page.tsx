/** A saved page: its runs below each other, behind a list, or two with their difference. */

import { signal } from "@preact/signals-core";
import { h } from "./draw/dom";
import type { Frame } from "./frame/frame";
import { DELAY_MS } from "./frame/preload";
import { drawSaved } from "./frame/saved";
import { messageOf } from "./protocol/failure";
import { itemAt, required } from "./protocol/required";
import { inflate } from "./protocol/saved/inflate";
import type { SavedSource } from "./protocol/saved/source";
import { keepAddress } from "./state/address";
import { openSaved } from "./state/saved";
import type { State } from "./state/selection";
import { mount } from "./ui/mount";
import { whenSettled } from "./ui/settled";
import { lazyCode, type OpenPair } from "./views/contract";
import { codeInPage } from "./views/lazy-views";

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
const entriesOf = (runs: readonly Listed[]): Entry[] =>
  runs.flatMap((a, run) => {
    const next = runs[run + 1];
    return a.second === true ? [] : [{ run, a, b: next?.second === true ? next : null }];
  });

const titleOf = ({ a, b }: Entry): string => (b === null ? a.title : `${a.title} | ${b.title}`);

/** A run of the page that has been drawn. */
export interface OpenedRun {
  readonly source: SavedSource;
  readonly frame: Frame;
  readonly state: State;
}

/** Makes a drawn run do more than a saved one can; the result stops it. */
export type AttachEngine = (opened: OpenedRun) => () => void;

let attachEngine: AttachEngine | null = null;

/** The page's text up to its end; the first picture is drawn before that is read. */
const readToEnd = new Promise<void>((resolve) => {
  if (document.readyState !== "loading") resolve();
  else document.addEventListener("DOMContentLoaded", () => resolve(), { once: true });
});

/** The text of an element, as it is read. */
function textOf(selector: string): string | Promise<string | null> {
  const element = () => document.querySelector(selector);
  const script = element();
  // An element has all of its text when something follows it.
  if (script?.nextSibling != null) return script.textContent;
  return readToEnd.then(() => element()?.textContent ?? null);
}

/** Chunks of a run. */
const chunksOf = (run: number) => (name: string) =>
  textOf(`script.aw-data[data-run="${run}"][data-chunk="${CSS.escape(name)}"]`);

/** Run the code of the lazy views (saved-lazy.ts), whose hash the page's policy has. */
async function runLazyCode(): Promise<void> {
  const text = await textOf("#aw-lazy");
  // In the output of a cell it is a script of its own, which has run once the page has been read.
  if (lazyCode.peek() !== null) return;
  const script = h("script");
  script.textContent = new TextDecoder().decode(await inflate(required(text, "#aw-lazy")));
  document.head.append(script);
  // A copy that a browser makes of the page unpacks its own.
  script.remove();
}

let running: Promise<void> | null = null;
function lazyCodeOnce(): Promise<void> {
  running ??= runLazyCode();
  return running;
}

/** The function that opens two runs as one. */
async function pairOpener(): Promise<OpenPair> {
  await lazyCodeOnce();
  return required(lazyCode.peek()?.openPair, "The code of comparisons");
}

/** A pause in typing, ms. */
const PAUSE_MS = 600;
let pressed = Number.NEGATIVE_INFINITY;

/** Resolves once no key was pressed for a while: unpacking and running a large script takes longer than a key may wait. */
async function pauseInTyping(): Promise<void> {
  for (;;) {
    const left = pressed + PAUSE_MS - performance.now();
    if (left <= 0) return;
    await new Promise((resolve) => setTimeout(resolve, left));
  }
}

/** Run that code after the first picture, in a pause of typing. A failure is reported when the reader asks for a view. */
async function preload(picture: Element): Promise<void> {
  await whenSettled(picture);
  await new Promise((resolve) => setTimeout(resolve, DELAY_MS));
  await pauseInTyping();
  await lazyCodeOnce().catch((error: unknown) => console.debug("attn-widget:", error));
}

type Close = () => void;

/** Say in `place` why something cannot be shown. */
function refuse(place: HTMLElement, what: string, error: unknown): void {
  place.replaceChildren(h("p", { role: "alert" }, `${what}: ${messageOf(error)}`));
}

/**
 * Open a run, or a comparison of two, in `place`, unless it is no longer `wanted` by then; what cannot be opened says
 * why. An `addressed` run follows the page's address. The result closes it.
 */
async function open(
  { run, b }: Pick<Entry, "run" | "b">,
  place: HTMLElement,
  {
    wanted = () => true,
    addressed = false,
  }: { readonly wanted?: () => boolean; readonly addressed?: boolean } = {},
): Promise<Close | null> {
  performance.mark("aw:open");
  try {
    if (b !== null) {
      const openPair = await pairOpener();
      return await openPair(place, [chunksOf(run), chunksOf(run + 1)], { wanted });
    }
    const opened = await openSaved(chunksOf(run));
    if (!wanted()) return null;
    const { source, state } = opened;
    if (addressed) keepAddress(state, source.meta);
    place.replaceChildren();
    const frame = drawSaved(place, opened);
    const stop = attachEngine?.({ source, frame, state });
    return () => {
      stop?.();
      frame.dispose();
    };
  } catch (error) {
    const what = b === null ? "This run" : "This comparison";
    if (wanted()) refuse(place, `${what} cannot be opened`, error);
    return null;
  } finally {
    void preload(place);
  }
}

async function stack(main: HTMLElement, index: Index): Promise<void> {
  for (const entry of entriesOf(index.runs)) {
    const place = h("section", { class: "aw-page-run", "aria-label": titleOf(entry) });
    main.append(place);
    await open(entry, place, { addressed: index.runs.length === 1 });
  }
}

/** A list to pick from; a run is inflated when it is opened, and its memory is freed when another one is. */
function report(main: HTMLElement, index: Index): void {
  const entries = entriesOf(index.runs);
  const place = h("section", { class: "aw-page-run" });
  const nav = h("nav", { "aria-label": "Texts" });
  const filter = signal("");
  const chosen = signal(0);

  const matches = (entry: Entry): boolean =>
    titleOf(entry).toLocaleLowerCase().includes(filter.value.trim().toLocaleLowerCase());
  const item = (entry: Entry, i: number) => {
    const { run, a, b } = entry;
    return (
      <li key={run} hidden={!matches(entry)}>
        <a href={`#run=${run}`} aria-current={i === chosen.value ? "page" : undefined}>
          <bdi class="aw-page-title">{a.title}</bdi>
          {b && <bdi class="aw-page-title">{b.title}</bdi>}
          <span class="aw-page-count">
            {b === null ? `${a.tokens} tokens` : `compared, ${a.tokens} and ${b.tokens} tokens`}
          </span>
        </a>
      </li>
    );
  };
  mount(
    nav,
    () => (
      <>
        <input
          type="search"
          placeholder="Filter texts"
          aria-label="Filter texts"
          onInput={({ currentTarget: { value } }) => {
            filter.value = value;
          }}
        />
        <p class="aw-page-count" role="status">
          {`${entries.filter(matches).length} of ${entries.length} texts`}
        </p>
        <ol start={0}>{entries.map(item)}</ol>
      </>
    ),
    new AbortController().signal,
  );

  let close: Close | null = null;
  let turn = 0;
  async function follow(): Promise<void> {
    const wanted = Number(/^#run=(\d+)$/.exec(location.hash)?.[1] ?? 0);
    const found = entries.findIndex(({ run }) => run === wanted);
    chosen.value = Math.max(0, found);
    const entry = itemAt(entries, chosen.peek());
    const request = ++turn;
    const current = () => request === turn;
    close?.();
    close = null;
    place.setAttribute("aria-label", titleOf(entry));
    const opened = await open(entry, place, { wanted: current });
    if (current()) close = opened;
  }
  window.addEventListener("hashchange", () => void follow());
  main.classList.add("aw-page-report");
  main.append(nav, place);
  void follow();
}

/** Two runs and their difference; runs that cannot be compared stand below each other. */
async function compare(main: HTMLElement, index: Index): Promise<void> {
  try {
    const openPair = await pairOpener();
    await openPair(main, [chunksOf(0), chunksOf(1)]);
  } catch (error) {
    refuse(main, "The difference cannot be shown", error);
    await stack(main, { ...index, runs: index.runs.map((run) => ({ ...run, second: false })) });
  }
}

/** Draw the page's runs; `live` is called with each. */
export function startPage(live: AttachEngine | null): void {
  const press = (): void => {
    pressed = performance.now();
  };
  document.addEventListener("keydown", press, { capture: true });
  codeInPage(lazyCodeOnce);
  attachEngine = live;
  const main = required(document.querySelector<HTMLElement>("main"), "<main>");
  const index = JSON.parse(
    required(document.getElementById("aw-index"), "#aw-index").textContent,
  ) as Index;
  main.replaceChildren();
  for (const picture of document.querySelectorAll("body > .aw-static")) picture.remove();
  if (index.layout === "report") report(main, index);
  else if (index.layout === "compare") void compare(main, index);
  else void stack(main, index);
}
