/** The difference B − A: aligned texts, the heads, and a panel for each view. */

import { signal } from "@preact/signals-core";
import { h } from "../../draw/dom";
import { onResize } from "../../draw/resize";
import { formatNumber } from "../../figures/format";
import { headName } from "../../figures/names";
import { latest } from "../../protocol/asking";
import { messageOf } from "../../protocol/failure";
import { keysOf } from "../../protocol/meta";
import { itemAt } from "../../protocol/required";
import type { TokenColumns } from "../../protocol/types";
import { Button } from "../../ui/controls";
import { modeSignal, mount, selectionOf, setter } from "../../ui/mount";
import { Tabs } from "../../ui/tabs";
import { Alignment } from "./alignment";
import { type Compared, farthest } from "./data";
import { createGrid } from "./grid";
import { labelOfPanel, PATCHING, panelNamed, panelsOf } from "./panels";
import type { PanelContext } from "./panels/contract";
import { createPictures } from "./pictured";
import { type OpenPanel, saveTools } from "./save";

/** Up to this width (px), a phone's, the heads stand below the view; as in `style/phone.css`. */
const NARROW = 480;
/** Characters of the changed words that the first line quotes. */
const LONGEST = 80;

type Context = Omit<PanelContext, "signal" | "give">;

/** The result draws what changed since it was seen last. */
export function difference(root: HTMLElement, context: Context, until: AbortSignal): () => void {
  const { compared, sources, states, memory } = context;
  const state = states.a;
  const selection = selectionOf(state, ["token", "layer", "head", "group"], until);
  const tokenOfB = selectionOf(states.b, ["token", "layer", "head", "group"], until);
  const Pictures = createPictures(root, context, { a: selection, b: tokenOfB }, until);
  /** Matched tokens of the sources, where these are the keys. */
  const ofKeys = compared.keys && { tokens: compared.keys, hand: compared.keys_hand ?? [] };
  const mode = modeSignal(root, until);
  const seen = signal(false);
  const narrow = signal(false);
  onResize(
    root,
    (width) => {
      narrow.value = width > 0 && width <= NARROW;
    },
    until,
  );
  const name = signal("");
  /** Null where the panel has no table, "nothing" where it offers no file. */
  const table = signal<OpenPanel["table"] | "nothing">(null);
  const names = panelsOf(context);
  const Grid = createGrid(compared, sources, state);
  const lead = leadOf(context);
  let panel!: HTMLElement;
  const Save = saveTools(sources, state.get, () => ({
    name: name.peek(),
    element: panel.firstElementChild as HTMLElement,
    table: table.peek() === "nothing" ? null : (table.peek() as OpenPanel["table"]),
  }));
  const nextPanel = latest(until);

  function open(): void {
    if (root.hidden) return;
    seen.value = true;
    const { view } = state.get();
    const wanted = memory.patching ? PATCHING : names.includes(view) ? view : itemAt(names, 0);
    if (wanted === name.peek()) return;
    name.value = wanted;
    table.value = null;
    const untilNext = nextPanel();
    const element = h("div", { class: "aw-compare-panel", "data-panel": wanted });
    panel.replaceChildren(element);
    try {
      panelNamed(wanted)(element, {
        ...context,
        give: setter(table),
        signal: untilNext,
      });
    } catch (error) {
      table.value = "nothing";
      element.replaceChildren(h("p", { role: "alert", class: "aw-view-note" }, messageOf(error)));
    }
  }

  function choose(next: string): void {
    memory.patching = next === PATCHING;
    if (!memory.patching) state.set({ view: next });
    open();
  }

  function View() {
    const side = (
      <section class="aw-side" data-aw-part="distances" key="side">
        {seen.value && Grid({ selection: selection.value, mode: mode.value })}
      </section>
    );
    const main = (
      <div class="aw-main" key="main">
        <Tabs
          label="Views of the difference"
          tabs={names.map((each) => ({ name: each, label: labelOfPanel(each) }))}
          chosen={name.value}
          choose={choose}
        />
        <div
          class="aw-view"
          role="tabpanel"
          aria-label={labelOfPanel(name.value)}
          ref={(element) => {
            if (element !== null) panel = element;
          }}
        />
        {Save({ hidden: table.value === "nothing" })}
      </div>
    );
    return (
      <>
        <p class="aw-compare-lead" role="status">
          {lead.words}
          {lead.far && (
            <>
              <Button class="aw-link" onClick={() => lead.far && state.set(lead.far.place)}>
                {headName(lead.far.place.layer, lead.far.place.head)}
              </Button>{" "}
              differs most: distance {formatNumber(lead.far.distance)}, the median of all heads{" "}
              {formatNumber(lead.far.median)}.
            </>
          )}
        </p>
        <section data-aw-part="alignment" aria-label="Matched tokens">
          {seen.value && (
            <>
              {ofKeys && (
                <>
                  <h3 class="aw-title">Sources</h3>
                  <Alignment
                    compared={ofKeys}
                    texts={{ a: keysOf(sources.a.meta), b: keysOf(sources.b.meta) }}
                    name="Matched tokens of the sources"
                    chosen={{
                      a: selection.value.group[0] ?? null,
                      b: tokenOfB.value.group[0] ?? null,
                    }}
                    choose={(key) => state.set({ group: [key] })}
                  />
                  <h3 class="aw-title">Outputs</h3>
                </>
              )}
              {Pictures !== null && <Pictures />}
              {Pictures === null && (
                <Alignment
                  compared={compared}
                  texts={{ a: sources.a.meta.tokens, b: sources.b.meta.tokens }}
                  name={ofKeys ? "Matched tokens of the outputs" : "Matched tokens"}
                  chosen={{ a: selection.value.token, b: tokenOfB.value.token }}
                  choose={(token) => state.set({ token })}
                />
              )}
            </>
          )}
        </section>
        <div class="aw-body">{narrow.value ? [main, side] : [side, main]}</div>
      </>
    );
  }
  mount(root, View, until);
  state.on(
    ["view"],
    () => {
      memory.patching = false;
      open();
    },
    until,
  );
  return open;
}

/** The words that changed, and the head that differs most. */
function leadOf({ compared, sources }: Context) {
  const far = farthest(compared);
  const metas = [sources.a.meta, sources.b.meta];
  const outputs = changedWords(
    metas.map(({ tokens }) => tokens),
    compared.tokens,
    compared.hand,
  );
  const { keys, keys_hand } = compared;
  const inKeys = keys ? changedWords(metas.map(keysOf), keys, keys_hand) : "";
  const changes = keys
    ? [inKeys && `in the sources: ${inKeys}`, outputs && `in the outputs: ${outputs}`]
    : [outputs];
  const changed = changes.filter((text) => text !== "").join("; ");
  const words =
    changed === "" ? "Every token has a partner. " : `Changed${keys ? " " : ": "}${changed}. `;
  if (far === null)
    return { words: words + (compared.reasons.distances ?? "No head can be compared."), far };
  const { distance, median, ...place } = far;
  return { words, far: { place, distance, median } };
}

/** The words of A and of B without a partner, quoted; empty where all have one. */
function changedWords(
  tokens: readonly TokenColumns[],
  matched: Compared["tokens"],
  hand: Compared["hand"] = [],
): string {
  const surface = tokens.map((columns) => columns.surface);
  // Matched by hand, another word has a partner and has still changed.
  const other = new Set(
    hand
      .filter(([i, j]) => surface[0]?.[i]?.toLowerCase() !== surface[1]?.[j]?.toLowerCase())
      .map(([i]) => i),
  );
  const pairs = matched.filter(([i]) => !other.has(i));
  const changed = tokens.map((columns, side) =>
    shortened(wordsWithout(columns, new Set(pairs.map((pair) => pair[side])))),
  );
  if (changed.every((text) => text === "")) return "";
  return changed.map((text) => (text === "" ? "nothing" : `“${text}”`)).join(" → ");
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

function shortened(words: string): string {
  const text = words.trim();
  const characters = [...text];
  if (characters.length <= LONGEST) return text;
  const most = characters.slice(0, LONGEST - 2).join("");
  return `${most.replace(/(\s+…)?\s+\S*$/, "")} …`; // whole words
}
