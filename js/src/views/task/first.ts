/** Attention of the first token in the last layers: one row a layer, on one scale. */

import { modeOf, onTheme } from "../../draw/color/theme";
import { weightLegend } from "../../draw/color/weight-legend";
import { h, setAttributes } from "../../draw/dom";
import { directionOf, unitFace } from "../../draw/text-line";
import { QUIET_MS } from "../../draw/wait";
import { firstTokenRequest } from "../../figures/classes";
import { largest, maximum } from "../../figures/derive/matrix";
import { sumsOf, type Unit, unitsOf } from "../../figures/derive/units";
import { exact, formatNumber } from "../../figures/format";
import { headName, schemeOf, unitLabel } from "../../figures/names";
import { explain, isAbort } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import type { HeadIndex, Source } from "../../protocol/types";
import type { ViewContext } from "../contract";
import { type PaintedRows, paintedRows, strongest } from "./rows";

interface Rows {
  readonly head: HeadIndex;
  readonly layers: readonly number[];
  /** `[layers, n]`. */
  readonly weights: Float32Array;
  /** Made of a saved page's codes, and off by what it says. */
  readonly coded: boolean;
}

/** The word of every token; null where words cannot be known. */
export async function wordsOf(
  source: Source,
  signal: AbortSignal,
): Promise<readonly (number | null)[] | null> {
  try {
    const { data } = await source.slice({ kind: "language" }, { signal });
    return Array.isArray(data.token_word) ? (data.token_word as (number | null)[]) : null;
  } catch (error) {
    if (isAbort(error)) throw error;
    return null;
  }
}

/** A small number that is one of the model's. */
const figure = (value: string, all: string, kind = ""): HTMLElement =>
  h("span", { class: `aw-number ${kind}`.trim(), "data-aw-value": all, title: all }, value);

export function firstToken(element: HTMLElement, stage: ViewContext): () => void {
  const { source, state, report, announce, signal } = stage;
  const errorAt = (value: number, terms = 1): number =>
    rows?.coded === true ? (source.precision?.weight(value, terms, rows.head === "mean") ?? 0) : 0;
  const { tokens, model } = source.meta;
  const n = tokens.text.length;
  const scheme = schemeOf(tokens);
  const life = new AbortController();
  const ends = AbortSignal.any([signal, life.signal]);
  const name = (unit: Unit): string => unitLabel(unit, scheme);
  const first = unitsOf(tokens, { special: true })[0];
  const firstName = first === undefined ? "" : name(first);

  let rows: Rows | null = null;
  let asking: AbortController | null = null;
  /** The word of every token, once it is known. */
  let tokenWord: readonly (number | null)[] | null | undefined;
  let byWords = true;
  /** The head that was chosen last, to go back to from the mean. */
  let lastHead = 0;
  let top = 0;
  let units: readonly Unit[] = [];

  const button = (data: string, value: string, text: string, pressed: () => void): HTMLElement => {
    const made = h("button", { [data]: value }, text);
    made.addEventListener("click", pressed, { signal: ends });
    return made;
  };
  const meanButton = button("data-first-head", "mean", "Mean of heads", () =>
    state.set({ head: "mean" }),
  );
  const headButton = button("data-first-head", "one", "", () => state.set({ head: lastHead }));
  const wordsButton = button("data-first-unit", "words", "Words", () => divide(true));
  const tokensButton = button("data-first-unit", "tokens", "Tokens", () => divide(false));
  const segmented = (label: string, part: string, ...buttons: HTMLElement[]): HTMLElement =>
    h(
      "div",
      { class: "aw-segmented", role: "group", "aria-label": label, "data-aw-part": part },
      ...buttons,
    );
  const legend = weightLegend();
  const body = h("div", { class: "aw-first-rows" });
  const readout = h("p", { class: "aw-readout", "data-aw-part": "first-readout" });
  const section = h(
    "section",
    { class: "aw-first", "aria-label": "Attention of the first token", "data-aw-part": "first" },
    h(
      "div",
      { class: "aw-panel-head" },
      h("h3", { class: "aw-title" }, h("bdi", { dir: "ltr" }, firstName), " looks at"),
      segmented("Heads", "first-head", meanButton, headButton),
      segmented("Words or tokens", "first-unit", wordsButton, tokensButton),
      legend.element,
    ),
    body,
    readout,
  );
  element.append(section);

  function choose(layer: number): void {
    if (rows === null) return;
    state.set({ layer, head: rows.head, token: 0, quantity: "weights" });
    announce(`All views now show layer ${layer}.`);
  }

  /** The token of a unit that a row gives most: the one whose pair is pinned. */
  function tokenOf({ weights }: Rows, row: number, { token, end }: Unit): number {
    const own = weights.subarray(row * n + token, row * n + end);
    return token + itemAt(largest(own, 1), 0);
  }

  function pin(row: number, index: number): void {
    if (rows === null) return;
    const layer = itemAt(rows.layers, row);
    const unit = itemAt(units, index);
    const token = tokenOf(rows, row, unit);
    state.set({ layer, head: rows.head, token: 0, pair: [0, token], quantity: "weights" });
    announce(`Pinned ${firstName} to ${name(unit)} in layer ${layer}.`);
  }

  function showReadout(
    at: { row: number; unit: number } | null,
    values: readonly Float32Array[],
  ): void {
    if (rows === null) return;
    if (at === null) {
      readout.textContent =
        "Click a layer to color the text above by its row; click a word to pin the pair.";
      return;
    }
    const unit = itemAt(units, at.unit);
    const value = itemAt(itemAt(values, at.row), at.unit);
    const error = errorAt(value, unit.end - unit.token);
    const pieces = unit.end - unit.token;
    readout.replaceChildren(
      h("strong", {}, headName(itemAt(rows.layers, at.row), rows.head)),
      "  ",
      h("bdi", { dir: "ltr" }, firstName),
      " → ",
      h("bdi", { dir: "ltr" }, name(unit)),
      h("span", { class: "aw-drill-at" }, String(unit.token)),
      "  ",
      h(
        "strong",
        {
          class: "aw-number",
          "data-aw-value": exact(value, error),
          title: exact(value, error),
        },
        formatNumber(value, undefined, error),
      ),
      pieces > 1 ? `  the sum of its ${pieces} tokens` : "",
    );
  }

  async function load(): Promise<void> {
    const { head } = state.get();
    if (head !== "mean") lastHead = head;
    setAttributes(meanButton, { "aria-pressed": String(head === "mean") });
    setAttributes(headButton, { "aria-pressed": String(head !== "mean") });
    headButton.textContent = `Head H${lastHead}`;
    asking?.abort();
    const mine = new AbortController();
    asking = mine;
    const late = setTimeout(() => section.setAttribute("aria-busy", "true"), QUIET_MS);
    const wait = AbortSignal.any([mine.signal, ends]);
    try {
      const [{ data, arrays }, words] = await Promise.all([
        source.slice(firstTokenRequest(head), { signal: wait }),
        tokenWord === undefined ? wordsOf(source, wait) : tokenWord,
      ]);
      if (wait.aborted) return;
      tokenWord = words;
      rows = {
        head,
        layers: data.layers as readonly number[],
        weights: arrays.get("weights")?.data as Float32Array,
        coded: data.coded === true,
      };
      draw();
    } catch (error) {
      if (isAbort(error) || wait.aborted) return;
      const { message, hint } = explain(error);
      report(message, hint);
      if (rows === null) readout.textContent = `${message} ${hint}`.trim();
    } finally {
      clearTimeout(late);
      if (asking === mine) section.removeAttribute("aria-busy");
    }
  }

  let picture: PaintedRows | null = null;

  function divide(words: boolean): void {
    byWords = words;
    draw();
  }

  function draw(): void {
    if (rows === null) return;
    const { layers, weights } = rows;
    const words = byWords && tokenWord !== null;
    setAttributes(wordsButton, {
      "aria-pressed": String(words),
      disabled: tokenWord === null,
      title: tokenWord === null ? "The words of this text are not known." : null,
    });
    setAttributes(tokensButton, { "aria-pressed": String(!words) });
    // Special tokens are no words: what they receive stands at the end of the row.
    const every = unitsOf(tokens, {
      special: !words && state.get().special,
      tokenWord: words ? (tokenWord ?? null) : null,
    });
    // White space is a token of its own now and then, and no word.
    units = words ? every.filter(({ token }) => tokenWord?.[token] != null) : every;
    const row = (i: number): Float32Array => weights.subarray(i * n, (i + 1) * n);
    const values = layers.map((_, i) => sumsOf(row(i), units));
    const outside = tokens.special.map(
      (special, i) => special || (words && tokenWord?.[i] == null),
    );
    const specials = layers.map((_, i) =>
      row(i).reduce((sum, weight, token) => sum + (outside[token] ? weight : 0), 0),
    );
    const specialCount = outside.filter(Boolean).length;
    picture?.stop();
    body.replaceChildren();
    top = values.reduce((most, one) => Math.max(most, maximum(one)), 0);
    legend.show(top, state.get().scale, errorAt(top));
    if (units.length === 0) {
      body.append(
        h("p", { class: "aw-hint" }, "The text has only special tokens, which are hidden."),
      );
      readout.textContent = "";
      picture = null;
      return;
    }
    const pieces = units.reduce((most, { token, end }) => Math.max(most, end - token), 1);
    const say = (value: number): string => formatNumber(value, undefined, errorAt(value, pieces));
    const all = (value: number): string => exact(value, errorAt(value, pieces));
    const face = (unit: Unit): string => unitFace(unit, source.meta);
    const naming = { units, name, face, say, exact: all };
    const bare = words || !state.get().special;
    picture = paintedRows(body, {
      ...naming,
      tokens,
      direction: directionOf(source.meta.text),
      rows: layers.map((layer, i) => {
        const own = itemAt(values, i);
        const special = itemAt(specials, i);
        const error = errorAt(special, specialCount);
        const share = formatNumber(special, undefined, error);
        return {
          key: layer,
          label: `L${layer}`,
          spoken: `layer ${layer}`,
          values: own,
          ends: [
            strongest(naming, own),
            ...(bare
              ? [
                  h(
                    "div",
                    {
                      class: "aw-first-special",
                      role: "gridcell",
                      "aria-label": `special tokens: ${share}`,
                    },
                    figure(share, exact(special, error)),
                  ),
                ]
              : []),
          ],
          ...(bare ? { short: `special ${share}` } : {}),
        };
      }),
      heads: ["layer", "", "strongest", ...(bare ? ["special"] : [])],
      top,
      signed: false,
      label: `Layers by ${words ? "words" : "tokens"}: Enter on a layer selects it, on a ${words ? "word" : "token"} pins the pair`,
      part: "first-layers",
      keyName: "data-layer",
      scale: () => state.get().scale,
      mode: () => modeOf(element),
      point: (at) => showReadout(at, values),
      pick: pin,
      choose: (i) => choose(itemAt(layers, i)),
      selected: (i) => layers[i] === state.get().layer,
      pinned(i, unit) {
        const { layer, pair } = state.get();
        const { token, end } = itemAt(units, unit);
        return layers[i] === layer && pair?.[0] === 0 && pair[1] >= token && pair[1] < end;
      },
      announce,
    });
    picture.mark();
    showReadout(null, values);
  }

  const repaint = (): void => {
    legend.show(top, state.get().scale, errorAt(top));
    picture?.paint();
    picture?.mark();
  };
  onTheme(element, repaint, ends);
  state.on(["head"], () => void load(), ends);
  state.on(["words"], () => divide(state.get().words), ends);
  state.on(["special"], draw, ends);
  state.on(["layer", "pair"], () => picture?.mark(), ends);
  state.on(["scale"], repaint, ends);
  if (model.n_layers > 0) void load();
  return () => {
    picture?.stop();
    asking?.abort();
    life.abort();
    section.remove();
  };
}
