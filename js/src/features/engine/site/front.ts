/** The front page: examples to choose from, any text that is typed, and an address that keeps what is shown. */

import { messageOf } from "../../../protocol/failure";
import { required } from "../../../protocol/required";
import type { Chunks } from "../../../protocol/saved/run";
import type { Meta } from "../../../protocol/types";
import { fromAddress } from "../../../state/address";
import { fit } from "../../../state/state";
import { runsOf } from "./files";
import { openRun, type SiteRun } from "./run";

/** Characters of a text that an address holds; a longer one is typed or pasted. */
const LONGEST = 2000;
const KEPT = ["view", "layer", "head", "token"] as const;
/** Sentence below the examples once a text was typed: the engine has no gradients. */
const TYPED =
  "Computed in this browser. Why needs gradients: the examples have it recorded, and a notebook has it for any text.";

/** A reader's own words in a sentence of ours: short, without line breaks and marks that turn what follows around. */
const quoted = (text: string): string =>
  `"${text.slice(0, 30).replace(/[\s\p{C}]+/gu, " ")}${text.length > 30 ? "…" : ""}"`;

const sameText = (a: Meta, b: Meta): boolean =>
  a.text === b.text && (a.text_pair || null) === (b.text_pair || null);

/** `first`: the run of the first example, which lies in the page. */
export async function startFront(place: HTMLElement, first: Chunks): Promise<void> {
  const said = required(document.querySelector<HTMLElement>("#example-said"), "#example-said");
  const buttons = [...document.querySelectorAll<HTMLButtonElement>("[data-example]")];
  const nameOf = (button: HTMLButtonElement): string => button.dataset.example ?? "";
  const buttonOf = (name: string): HTMLButtonElement | undefined =>
    buttons.find((button) => nameOf(button) === name);
  const opening = required(buttons[0], "The first example");
  let shown: { readonly run: SiteRun; readonly name: string; readonly recorded: Meta } | null =
    null;
  let turn = 0;

  function say(sentence: string, button: HTMLButtonElement | null): void {
    said.textContent = sentence;
    for (const each of buttons) each.setAttribute("aria-pressed", String(each === button));
  }

  /** The address of what is shown; null where an address cannot hold it. */
  function address(): string | null {
    if (shown === null) return null;
    const { run, name, recorded } = shown;
    const now = run.meta();
    const own = !sameText(now, recorded);
    if (own && now.text.length + (now.text_pair?.length ?? 0) > LONGEST) return null;
    const selection = run.state.get();
    const given = new URLSearchParams(own ? { text: now.text } : { example: name });
    if (own && now.text_pair) given.set("pair", now.text_pair);
    for (const key of KEPT) if (selection[key] !== null) given.set(key, String(selection[key]));
    return `#${given}`;
  }

  function keepAddress(): void {
    try {
      history.replaceState(null, "", address() ?? location.pathname + location.search);
    } catch {
      // A sandboxed frame has no address of its own.
    }
  }

  /** Draw an example in place of what is shown. */
  async function open(button: HTMLButtonElement): Promise<SiteRun | null> {
    const mine = ++turn;
    const name = nameOf(button);
    const chunks = button === opening ? first : required((await runsOf(name))[0], "The example");
    if (mine !== turn) return null;
    place.style.minHeight = `${place.offsetHeight}px`;
    shown?.run.close();
    shown = null;
    const run = await openRun(place, chunks, (meta: Meta) => {
      if (shown?.run !== run) return;
      const own = !sameText(meta, shown.recorded);
      say(own ? TYPED : (button.dataset.said ?? ""), own ? null : button);
      keepAddress();
    });
    if (mine !== turn) {
      run.close();
      return null;
    }
    place.style.minHeight = "";
    shown = { run, name, recorded: run.meta() };
    run.state.on(KEPT, keepAddress);
    say(button.dataset.said ?? "", button);
    return run;
  }

  /** Show what the address names, and say what of it cannot be shown. */
  async function follow(): Promise<void> {
    // The address changes on the way.
    const { hash } = location;
    const given = new URLSearchParams(hash.slice(1));
    const [text, pair] = [given.get("text") ?? "", given.get("pair")];
    const wished = given.get("example");
    const notes: string[] = [];
    const button = wished === null ? opening : buttonOf(wished);
    if (button === undefined)
      notes.push(`This page has no example ${quoted(wished ?? "")}; here is the first one.`);
    const run = await open(button ?? opening);
    if (run === null) return;
    const size = text.length + (pair?.length ?? 0);
    if (size > LONGEST)
      notes.push(
        `The address holds a text of ${size.toLocaleString("en")} characters; this page reads up to ${LONGEST.toLocaleString("en")} from an address. Paste the text into the field instead.`,
      );
    else if (text.trim() !== "" && run.type === null)
      notes.push("The model of this example is not on this site: its text is recorded.");
    else if (text.trim() !== "") await run.type?.(text, pair || null);
    if (shown?.run !== run) return;
    const meta = run.meta();
    const { view, ...places } = fromAddress(hash);
    const views = meta.snapshot?.views ?? [];
    const opened = run.state.get();
    // An address that names what the text opened on is not a choice of the reader's.
    if (KEPT.some((key) => key !== "view" && (places[key] ?? opened[key]) !== opened[key]))
      run.state.set(fit({ ...opened, ...places }, meta));
    if (view !== undefined && views.includes(view)) run.state.set({ view });
    const there = run.state.get();
    for (const key of KEPT)
      if (given.has(key) && given.get(key) !== String(there[key]))
        notes.push(`This run has no ${key} ${quoted(given.get(key) ?? "")}.`);
    if (notes.length > 0) said.textContent = notes.join(" ");
  }

  for (const button of buttons)
    button.addEventListener("click", () => {
      open(button).then(keepAddress, (error: unknown) => {
        said.textContent = `This example cannot be opened: ${messageOf(error)}`;
      });
    });
  window.addEventListener("hashchange", () => {
    follow().catch((error: unknown) => {
      said.textContent = messageOf(error);
    });
  });
  await follow();
}
