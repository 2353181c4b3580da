/** The difference B − A: aligned texts, the heads, and a panel for each view. */

import { h } from "../draw/dom";
import { listenToTabs, markTab, revealTab } from "../draw/roving";
import { explain } from "../protocol/failure";
import { itemAt } from "../protocol/required";
import type { TokenColumns } from "../protocol/types";
import { alignment } from "./alignment";
import { farthest } from "./data";
import { differenceGrid } from "./grid";
import { labelOfPanel, PATCHING, panelNamed, panelsOf } from "./panels";
import type { PanelContext } from "./panels/contract";
import { type OpenPanel, saveTools } from "./save";

/** Characters of the changed words that the first line quotes. */
const LONGEST = 80;

type Context = Omit<PanelContext, "signal" | "give">;

export interface Difference {
  /** Draw what changed since it was seen last. */
  draw(): void;
  readonly element: HTMLElement;
}

export function difference(root: HTMLElement, context: Context, signal: AbortSignal): Difference {
  const { compared, sources, states, memory } = context;
  const state = states.a;
  const lead = h("p", { class: "aw-compare-lead", role: "status" }, ...leadOf(context));
  const lines = h("section", { "data-aw-part": "alignment", "aria-label": "Matched tokens" });
  const grid = h("section", { class: "aw-side", "data-aw-part": "distances" });
  const tabs = h("div", {
    class: "aw-tabs",
    role: "tablist",
    "aria-label": "Views of the difference",
  });
  const panel = h("div", { class: "aw-view", role: "tabpanel" });
  let table: OpenPanel["table"] = null;
  const save = saveTools(sources, state.get, () => ({
    name: shown,
    element: panel.firstElementChild as HTMLElement,
    table,
  }));
  const main = h("div", { class: "aw-main" }, tabs, panel, save);
  root.append(lead, lines, h("div", { class: "aw-body" }, grid, main));

  const names = panelsOf(context);
  const buttons = names.map((name) =>
    h("button", { role: "tab", class: "aw-tab", "data-view": name }, labelOfPanel(name)),
  );
  tabs.append(...buttons);
  let shown = "";
  let life = new AbortController();

  function give(given: OpenPanel["table"] | "nothing"): void {
    save.hidden = given === "nothing";
    table = given === "nothing" ? null : given;
  }

  function open(): void {
    if (root.hidden) return;
    const { view } = state.get();
    const name = memory.patching ? PATCHING : names.includes(view) ? view : itemAt(names, 0);
    markTab(buttons, name);
    if (name === shown) return;
    revealTab(tabs, buttons, name);
    shown = name;
    give(null);
    life.abort();
    life = new AbortController();
    const element = h("div", { class: "aw-compare-panel", "data-panel": name });
    panel.replaceChildren(element);
    panel.setAttribute("aria-label", labelOfPanel(name));
    try {
      panelNamed(name)(element, {
        ...context,
        give,
        signal: AbortSignal.any([signal, life.signal]),
      });
    } catch (error) {
      give("nothing");
      const { message, hint } = explain(error);
      element.replaceChildren(
        h("p", { role: "alert", class: "aw-view-note" }, `${message} ${hint}`),
      );
    }
  }
  const choose = (name: string): void => {
    memory.patching = name === PATCHING;
    if (!memory.patching) state.set({ view: name });
    open();
  };
  listenToTabs(tabs, buttons, choose, signal);

  let drawn = false;
  const draw = (): void => {
    if (root.hidden) return;
    if (!drawn) {
      drawn = true;
      const ribbons = alignment(compared, sources, (chosen) => state.set({ token: chosen }));
      lines.append(ribbons.element);
      const mark = (): void => ribbons.mark(state.get().token, states.b.get().token);
      for (const side of [states.a, states.b]) side.on(["token"], mark, signal);
      mark();
      differenceGrid(grid, compared, sources, state, signal);
    }
    open();
  };
  const follow = (): void => {
    memory.patching = false;
    open();
  };
  state.on(["view"], follow, signal);
  signal.addEventListener("abort", () => life.abort(), { once: true });
  return { draw, element: root };
}

/** The words that changed, and the head that differs most, which a click chooses. */
function leadOf({ compared, sources, states }: Context): (Node | string)[] {
  const far = farthest(compared);
  const surface = [sources.a, sources.b].map(({ meta }) => meta.tokens.surface);
  // Matched by hand, another word has a partner and has still changed.
  const other = new Set(
    (compared.hand ?? [])
      .filter(([i, j]) => surface[0]?.[i]?.toLowerCase() !== surface[1]?.[j]?.toLowerCase())
      .map(([i]) => i),
  );
  const pairs = compared.tokens.filter(([i]) => !other.has(i));
  const matched = [0, 1].map((side) => new Set(pairs.map((pair) => pair[side])));
  const changed = [sources.a, sources.b].map((source, side) =>
    shortened(wordsWithout(source.meta.tokens, matched[side] ?? new Set())),
  );
  const words = changed.some((text) => text !== "")
    ? `Changed: ${changed.map((text) => (text === "" ? "nothing" : `“${text}”`)).join(" → ")}. `
    : "Every token has a partner. ";
  if (far === null) return [words, compared.reasons.distances ?? "No head can be compared."];
  const { layer, head, distance } = far;
  const button = h("button", { class: "aw-link-button" }, `layer ${layer}, head ${head}`);
  button.addEventListener("click", () => states.a.set({ layer, head }));
  return [words, "The head that differs most: ", button, ` (distance ${distance.toFixed(3)}).`];
}

/** Text of the tokens that have no partner; "…" stands for those between that have one. */
export function wordsWithout(
  { surface, before, special }: Pick<TokenColumns, "surface" | "before" | "special">,
  matched: ReadonlySet<number | undefined>,
): string {
  let text = "";
  let last = -1;
  surface.forEach((word, i) => {
    if (matched.has(i) || special[i]) return;
    if (text !== "") text += last === i - 1 ? itemAt(before, i) : " … ";
    text += word;
    last = i;
  });
  return text;
}

function shortened(text: string): string {
  const characters = [...text];
  if (characters.length <= LONGEST) return text;
  const most = characters.slice(0, LONGEST - 2).join("");
  return `${most.replace(/(\s+…)?\s+\S*$/, "")} …`; // whole words
}
