/** The find box: a text, a head, a part of speech, a weight, a position. */

import { batch, signal } from "@preact/signals-core";
import { createRef } from "preact";
import { consume, h } from "../../../draw/dom";
import { findTag, findText, parseQuery } from "../../../figures/long/find";
import type { Hit } from "../../../figures/row";
import { onAbort } from "../../../protocol/abort";
import { isAbort } from "../../../protocol/failure";
import { Button } from "../../../ui/controls";
import { mount } from "../../../ui/mount";
import type { ViewContext } from "../../contract";

interface Finder {
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
  { source, state, signal: until }: ViewContext,
  events: {
    /** Other hits. */
    found(): void;
    go(hit: Hit): void;
    weight(least: number): void;
  },
): Finder {
  const { meta } = source;
  const { tokens, model } = meta;
  const input = createRef<HTMLInputElement>();
  const hits = signal<readonly Hit[]>([]);
  const at = signal(-1);
  /** Words behind the buttons. */
  const status = signal("");
  const element = h("div", { class: "aw-find", role: "search" });
  let timer: ReturnType<typeof setTimeout> | undefined;
  let tags: readonly (string | null)[] | null = null;
  let last = "";

  function show(next: readonly Hit[], text = ""): void {
    batch(() => {
      hits.value = next;
      at.value = -1;
      status.value = text;
    });
    events.found();
  }

  function step(by: number): void {
    const count = hits.value.length;
    if (count === 0) return;
    go(at.value < 0 && by < 0 ? count - 1 : (at.value + by + count) % count);
  }

  function go(index: number): void {
    at.value = index;
    status.value = `${index + 1} of ${hits.value.length}`;
    const hit = hits.value[index];
    if (hit !== undefined) events.go(hit);
  }

  async function askTags(): Promise<readonly (string | null)[]> {
    if (tags !== null) return tags;
    const { data } = await source.ask({ kind: "language" }, { signal: until });
    tags = Array.isArray(data.token_pos) ? (data.token_pos as (string | null)[]) : [];
    return tags;
  }

  const typedText = (): string => input.current?.value ?? "";

  /** `now`: Enter was pressed, which also goes there. */
  function look(now: boolean): void {
    clearTimeout(timer);
    const typed = typedText();
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
      status.value = "tagging …";
      askTags()
        .then((column) => {
          if (typedText() !== typed) return;
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

  function onKeyDown(event: KeyboardEvent): void {
    if (event.key === "Enter") {
      if (event.shiftKey && hits.value.length > 0) step(-1);
      else look(true);
    } else if (event.key === "Escape" && input.current && input.current.value !== "") {
      input.current.value = "";
      last = "";
      show([]);
    } else return;
    consume(event);
  }

  const stepper = (label: string, face: string, by: number) => (
    <Button label={label} title={label} disabled={hits.value.length === 0} onClick={() => step(by)}>
      {face}
    </Button>
  );
  const View = () => (
    <>
      <input
        type="search"
        class="aw-input aw-find-input"
        placeholder="Find: text, L3 H5, NOUN, weight > 0.3"
        aria-label="Find a text, a head (L3 H5), a part of speech (NOUN), links (weight > 0.3) or a position (#120)"
        autocomplete="off"
        spellcheck={false}
        data-aw-part="find"
        ref={input}
        onInput={() => {
          clearTimeout(timer);
          timer = setTimeout(() => look(false), TYPING_MS);
        }}
        onKeyDown={onKeyDown}
      />
      {stepper("Previous hit", "‹", -1)}
      {stepper("Next hit", "›", 1)}
      <span class="aw-muted aw-number aw-find-said" role="status">
        {status.value}
      </span>
    </>
  );
  mount(element, View, until);
  onAbort(until, () => clearTimeout(timer));
  return {
    element,
    hits: () => hits.peek(),
    at: () => at.peek(),
    go,
    focus() {
      input.current?.focus();
      input.current?.select();
    },
  };
}
