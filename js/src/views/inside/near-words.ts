/** Below the map: the words of an open index of a corpus that a layer reads like the focus token. */

import { h } from "../../draw/dom";
import { exact, formatCount, formatNumber, tokenLabel } from "../../figures/format";
import { schemeOf } from "../../figures/names";
import { explain } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import type { ViewContext } from "../contract";

interface Near {
  readonly similarity: number;
  readonly token: string;
  readonly pos: string | null;
  readonly text: string;
  readonly index: number;
  readonly start: number;
  readonly end: number;
}

interface Answer {
  readonly layer: number;
  readonly texts: number;
  readonly tokens: number;
  readonly approximate: boolean;
  readonly rows: readonly Near[];
  readonly counted: number;
  readonly tags: readonly (readonly [string, number])[];
}

/** A text with the word marked; offsets count code points. */
function sentence({ text, start, end }: Near): HTMLElement {
  const points = Array.from(text);
  const part = (from: number, to?: number): string => points.slice(from, to).join("");
  return h("bdi", {}, part(0, start), h("mark", {}, part(start, end)), part(end));
}

export function nearWords(
  { source, state, signal, act, report }: ViewContext,
  focus: () => number,
): HTMLElement {
  const element = h("section", { class: "aw-near", "data-aw-part": "near", hidden: true });
  const { text, surface } = source.meta.tokens;
  const scheme = schemeOf(source.meta.tokens);
  let asking: AbortController | null = null;

  async function show(): Promise<void> {
    asking?.abort();
    asking = new AbortController();
    const wanted = AbortSignal.any([signal, asking.signal]);
    if (!source.live) return;
    const token = focus();
    try {
      const slice = await source.slice({ kind: "near", token }, { signal: wanted });
      if (wanted.aborted) return;
      element.hidden = false;
      element.replaceChildren(...content(token, slice.data as unknown as Answer));
    } catch {
      // No index is open, or it is of another model: nothing of the view is wrong.
      if (!wanted.aborted) element.hidden = true;
    }
  }

  function content(token: number, found: Answer): HTMLElement[] {
    const { rows, tags, counted } = found;
    const name = tokenLabel(itemAt(text, token), scheme, surface[token]).text;
    const how = found.approximate ? "found by the approximate index" : "all compared exactly";
    return [
      h(
        "h4",
        {},
        "Read like ",
        h("bdi", {}, name),
        h(
          "span",
          { class: "aw-muted" },
          ` output of layer ${found.layer}, among ${formatCount(found.tokens)} tokens of ${formatCount(found.texts)} texts; ${how}`,
        ),
      ),
      tagBars(tags, counted),
      h("ol", { "data-aw-part": "near-words" }, ...rows.map(line)),
    ];
  }

  function tagBars(tags: Answer["tags"], counted: number): HTMLElement {
    const bars = tags.map(([tag, count]) => {
      const bar = h("i", { "aria-hidden": "true" });
      bar.style.inlineSize = `${(100 * count) / counted}%`;
      const number = h(
        "span",
        { class: "aw-number", "data-aw-value": String(count) },
        String(count),
      );
      return h(
        "li",
        {},
        h("span", {}, tag || "no tag"),
        h("span", { class: "aw-near-bar" }, bar),
        number,
      );
    });
    const label = `Tags of the ${counted} nearest tokens`;
    return h(
      "div",
      { class: "aw-near-tags" },
      h("p", { class: "aw-muted" }, label),
      h("ul", {}, ...bars),
    );
  }

  function line(near: Near): HTMLElement {
    const number = h(
      "span",
      { class: "aw-number", "data-aw-value": exact(near.similarity), title: "Cosine similarity" },
      formatNumber(near.similarity, 3),
    );
    if (act === null) return h("li", {}, number, h("span", {}, sentence(near)));
    const open = h("button", { title: "Run this text" }, sentence(near));
    open.addEventListener("click", () => {
      act({ kind: "run", text: near.text, truncation: true }).catch((error: unknown) => {
        const { message, hint } = explain(error);
        report(message, hint);
      });
    });
    return h("li", {}, number, open, h("span", { class: "aw-muted" }, near.pos ?? ""));
  }

  state.on(["token"], () => void show(), signal);
  void show();
  return element;
}
