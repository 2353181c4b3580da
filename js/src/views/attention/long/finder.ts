/** The find box: a text, a head, a part of speech, a weight, a position. */

import { consume, h } from "../../../draw/dom";
import { findTag, findText, parseQuery } from "../../../figures/long/find";
import type { Hit } from "../../../figures/long/store";
import { isAbort } from "../../../protocol/failure";
import type { ViewContext } from "../../contract";

export interface Finder {
  readonly element: HTMLElement;
  hits(): readonly Hit[];
  /** The hit visited last; -1 before the first. */
  at(): number;
  focus(): void;
  /** Go to a hit by its number. */
  go(index: number): void;
}

const TYPING_MS = 120;

export function finder(
  { source, state, signal }: ViewContext,
  events: {
    /** Other hits. */
    found(): void;
    go(hit: Hit): void;
    weight(least: number): void;
  },
): Finder {
  const { meta } = source;
  const { tokens, model } = meta;
  const input = h("input", {
    type: "search",
    class: "aw-input aw-find-input",
    placeholder: "Find: text, L3 H5, NOUN, weight > 0.3",
    "aria-label":
      "Find a text, a head (L3 H5), a part of speech (NOUN), links (weight > 0.3) or a position (#120)",
    autocomplete: "off",
    spellcheck: "false",
    "data-aw-part": "find",
  });
  const said = h("span", { class: "aw-muted aw-number aw-find-said", role: "status" });
  const button = (label: string, face: string, by: number): HTMLElement => {
    const made = h(
      "button",
      { class: "aw-button", "aria-label": label, title: label, disabled: true },
      face,
    );
    made.addEventListener("click", () => step(by), { signal });
    return made;
  };
  const before = button("Previous hit", "‹", -1) as HTMLButtonElement;
  const after = button("Next hit", "›", 1) as HTMLButtonElement;
  const element = h("div", { class: "aw-find", role: "search" }, input, before, after, said);
  let hits: readonly Hit[] = [];
  let at = -1;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let tags: readonly (string | null)[] | null = null;
  let last = "";

  function show(next: readonly Hit[], text = ""): void {
    hits = next;
    at = -1;
    before.disabled = after.disabled = hits.length === 0;
    said.textContent = text;
    events.found();
  }

  function step(by: number): void {
    if (hits.length === 0) return;
    go(at < 0 && by < 0 ? hits.length - 1 : (at + by + hits.length) % hits.length);
  }

  function go(index: number): void {
    at = index;
    said.textContent = `${at + 1} of ${hits.length}`;
    const hit = hits[at];
    if (hit !== undefined) events.go(hit);
  }

  async function askTags(): Promise<readonly (string | null)[]> {
    if (tags !== null) return tags;
    const { data } = await source.slice({ kind: "language" }, { signal });
    tags = Array.isArray(data.token_pos) ? (data.token_pos as (string | null)[]) : [];
    return tags;
  }

  /** `now`: Enter was pressed, which also goes there. */
  function look(now: boolean): void {
    clearTimeout(timer);
    const typed = input.value;
    const fresh = typed !== last;
    last = typed;
    const query = parseQuery(typed, {
      layers: model.n_layers,
      heads: model.n_heads,
      tokens: tokens.text.length,
    });
    if (query.kind === "head" || query.kind === "weight" || query.kind === "token") {
      if (!now) {
        show([], "press Enter to go there");
        last = "";
        return;
      }
      if (query.kind === "head") {
        state.set({ layer: query.layer, head: query.head });
        show([], `L${query.layer} ${query.head === "mean" ? "mean" : `H${query.head}`}`);
      } else if (query.kind === "weight") {
        events.weight(query.least);
        show([], "in the list below");
      } else {
        show([[query.token, query.token + 1]]);
        step(1);
      }
      return;
    }
    if (query.kind === "wrong") show([], query.reason);
    else if (query.kind === "none") show([]);
    else if (query.kind === "text") {
      if (fresh) {
        const matches = findText(tokens, query.text);
        show(matches, matches.length === 0 ? "not in the text" : `${matches.length}`);
      }
      if (now) step(1);
    } else if (!fresh) step(1);
    else {
      said.textContent = "tagging …";
      askTags()
        .then((column) => {
          if (input.value !== typed) return;
          const matches = findTag(column, query.tag);
          const none = column.some((tag) => tag !== null) ? "none" : "no tags";
          show(matches, matches.length === 0 ? none : `${matches.length}`);
          if (now) step(1);
        })
        .catch((error: unknown) => {
          if (!isAbort(error)) show([], "Tags are unavailable.");
        });
    }
  }
  input.addEventListener(
    "input",
    () => {
      clearTimeout(timer);
      timer = setTimeout(() => look(false), TYPING_MS);
    },
    { signal },
  );
  input.addEventListener(
    "keydown",
    (event) => {
      if (event.key === "Enter") {
        if (event.shiftKey && hits.length > 0) step(-1);
        else look(true);
      } else if (event.key === "Escape" && input.value !== "") {
        input.value = "";
        last = "";
        show([]);
      } else return;
      consume(event);
    },
    { signal },
  );
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  return {
    element,
    hits: () => hits,
    at: () => at,
    go,
    focus() {
      input.focus();
      input.select();
    },
  };
}
