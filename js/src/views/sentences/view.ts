/** Attention between sentences: who looks at whom, and through which tokens. */

import { onTheme } from "../../draw/color/theme";
import { weightLegend } from "../../draw/color/weight-legend";
import { consume, h } from "../../draw/dom";
import { onResize } from "../../draw/resize";
import { byTouch } from "../../draw/touch";
import { QUIET_MS } from "../../draw/wait";
import { copyExactValues, exact, formatNumber } from "../../figures/format";
import { explain, isAbort } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import type { State } from "../../state/selection";
import type { ViewContext, ViewHandle } from "../contract";
import { type Answer, ask } from "./ask";
import { askedOf, carriedName, carriedOf } from "./carried";
import { type Choice, sentenceControls } from "./controls";
import { type Asked, asked, matrixTable, sentenceOf, strongestOther } from "./data";
import { createDrill, type Drill, placeOfPair } from "./drill";
import { oneLine, type Place, SentenceGrid, sentenceName } from "./grid";

/** Choices of the reader, kept as long as the widget lives. */
const choices = new WeakMap<State, Choice>();

const sameAsked = (one: Asked, other: Asked): boolean =>
  one.aggregation === other.aggregation &&
  one.layer === other.layer &&
  one.head === other.head &&
  one.quantity === other.quantity;

export function sentences(element: HTMLElement, stage: ViewContext): ViewHandle {
  const { source, state, signal, report, announce } = stage;
  const { meta } = source;
  let choice: Choice = choices.get(state) ?? { aggregation: "mass", scope: "all" };
  let answered: Answer | null = null;
  let drill: Drill | null = null;
  let loading: AbortController | null = null;
  let drilling: AbortController | null = null;

  const controls = sentenceControls(
    (part) => choose({ ...choice, ...part }),
    () => state.set({ quantity: "weights" }),
    signal,
  );
  const legend = weightLegend();
  const note = h("p", { class: "aw-isa-note", "data-aw-part": "note", hidden: true });
  const answer = h("p", { class: "aw-isa-answer", "data-aw-part": "strongest" });
  const readout = h("p", { class: "aw-readout", "data-aw-part": "readout" });
  const below = h("div", { class: "aw-isa-below" });
  const grid = new SentenceGrid(
    {
      stand: () => showReadout(null),
      point: (place) => showReadout(place),
      open: (place) => toggle(place),
      escape() {
        if (drill === null) return false;
        close();
        return true;
      },
    },
    meta.text_pair !== null,
    signal,
  );
  const picture = h("div", { class: "aw-isa-picture" }, grid.element, answer, readout);
  const waiting = h(
    "p",
    { class: "aw-isa-waiting aw-muted", hidden: true },
    "Comparing sentences …",
  );
  const root = h(
    "div",
    { class: "aw-sentences", dir: "ltr" },
    h(
      "div",
      { class: "aw-panel-head aw-isa-controls" },
      ...controls.elements,
      h(
        "div",
        { class: "aw-isa-legend" },
        legend.element,
        h("span", { class: "aw-isa-key" }, h("i", { "aria-hidden": "true" }), "strongest other"),
      ),
    ),
    controls.meaning,
    note,
    waiting,
    picture,
    below,
  );
  element.append(root);
  picture.hidden = true;
  legend.element.parentElement?.toggleAttribute("hidden", true);
  copyExactValues(root, signal);
  onResize(root, (width) => grid.resize(width), signal);
  onTheme(element, recolor, signal);

  function choose(next: Choice): void {
    choice = next;
    choices.set(state, choice);
    void load();
  }

  async function load(): Promise<void> {
    const { layer, head } = state.get();
    const quantity = carriedOf(state.get());
    const of =
      quantity === null
        ? asked(choice.aggregation, choice.scope, layer, head)
        : askedOf(choice.aggregation, quantity, { layer, head });
    controls.show(choice, state.get());
    if (answered !== null && sameAsked(answered.matrix.asked, of)) {
      loading?.abort();
      root.removeAttribute("aria-busy");
      return;
    }
    loading?.abort();
    const mine = new AbortController();
    loading = mine;
    const late = setTimeout(() => {
      root.setAttribute("aria-busy", "true");
      waiting.hidden = answered !== null;
    }, QUIET_MS);
    try {
      const wait = AbortSignal.any([mine.signal, signal]);
      const answer = await ask(of, source, { signal: wait });
      if (wait.aborted) return;
      const first = answered === null;
      answered = answer;
      show(first);
    } catch (error) {
      if (isAbort(error) || mine.signal.aborted || signal.aborted) return;
      const { message, hint } = explain(error);
      report(message, hint);
      refuse(message, hint);
    } finally {
      clearTimeout(late);
      if (loading === mine) {
        loading = null;
        root.removeAttribute("aria-busy");
        waiting.hidden = true;
      }
    }
  }

  /** The last good picture stays, and the controls say what it is. */
  function refuse(message: string, hint: string): void {
    if (answered === null) {
      note.hidden = false;
      note.textContent = `${message} ${hint}`.trim();
      return;
    }
    const { aggregation, layer, head, quantity } = answered.matrix.asked;
    if (quantity !== null || carriedOf(state.get()) !== null) return;
    choice = { aggregation, scope: layer === null ? "all" : head === null ? "layer" : "head" };
    choices.set(state, choice);
    controls.show(choice, state.get());
  }

  function show(first: boolean): void {
    if (answered === null) return;
    const { matrix } = answered;
    const { scale, token } = state.get();
    note.hidden = matrix.note === null;
    note.textContent = matrix.note ?? "";
    picture.hidden = matrix.size === 0;
    legend.element.parentElement?.toggleAttribute("hidden", matrix.size === 0);
    root.classList.toggle("is-empty", matrix.size === 0);
    root.classList.toggle("is-single", matrix.size === 1);
    if (matrix.size === 0) return;
    legend.show(matrix.max, scale, matrix.error(matrix.max));
    grid.show(matrix, scale);
    if (first) {
      const a = Math.max(0, sentenceOf(matrix, token));
      grid.standOn(
        placeOfPair(matrix, state.get().pair) ?? { a, b: strongestOther(matrix, a) ?? a },
      );
      if (matrix.size === 1) toggle({ a: 0, b: 0 }, true);
    } else if (drill !== null) void fill(drill);
    light();
    showReadout(null);
  }

  const hint = h(
    "p",
    { class: "aw-hint aw-isa-hint" },
    byTouch()
      ? "Tap a cell to see it token by token."
      : "Click a cell, or press Enter on it, to see it token by token.",
  );

  function light(): void {
    if (answered === null) return;
    const { matrix } = answered;
    if (drill === null) below.replaceChildren(hint);
    grid.light(drill?.place ?? null, placeOfPair(matrix, state.get().pair));
  }

  const number = (value: number): HTMLElement => {
    const error = answered?.matrix.error(value) ?? 0;
    return h(
      "span",
      { class: "aw-number", "data-aw-value": exact(value, error), title: exact(value, error) },
      formatNumber(value, undefined, error),
    );
  };

  /** The answer for the row one stands on, and the cell that is pointed at or stood on. */
  function showReadout(pointed: Place | null): void {
    if (answered === null || answered.matrix.size === 0) return;
    const { matrix } = answered;
    const { a, b } = pointed ?? grid.place;
    const { size, values, texts, elsewhere, asked: of } = matrix;
    const weights = of.quantity === null;
    const row = grid.place.a;
    const best = strongestOther(matrix, row);
    if (size === 1) answer.textContent = "";
    else if (best === null) {
      answer.textContent = `${sentenceName(row)} cannot ${weights ? "look at" : "take from"} any other sentence: the model's mask forbids it.`;
    } else {
      const own = itemAt(values, row * size + row);
      answer.replaceChildren(
        h("strong", {}, sentenceName(row)),
        of.aggregation === "max"
          ? " has its strongest link to another in "
          : weights
            ? " looks most at "
            : " takes most from ",
        h("strong", {}, sentenceName(best)),
        " (",
        number(itemAt(values, row * size + best)),
        "), besides itself (",
        number(own),
        ...(elsewhere === null
          ? [")."]
          : [
              "); ",
              number(itemAt(elsewhere, row)),
              weights ? " lands on special tokens." : " comes from special tokens.",
            ]),
      );
    }
    const quote = (i: number): Node =>
      h(
        "span",
        { class: "aw-isa-quote" },
        h("strong", {}, sentenceName(i)),
        " ",
        h("bdi", { dir: "auto" }, oneLine(itemAt(texts, i))),
      );
    const value = itemAt(values, a * size + b);
    readout.replaceChildren(
      quote(a),
      h("span", { class: "aw-isa-arrow", "aria-hidden": "true" }, "→"),
      a === b ? h("span", { class: "aw-isa-quote aw-muted" }, "itself") : quote(b),
      Number.isNaN(value) ? h("span", {}, "–") : number(value),
    );
  }

  function close(): void {
    if (drill === null) return;
    const inside = drill.element.contains(document.activeElement);
    drilling?.abort();
    drill.dispose();
    drill = null;
    light();
    if (inside) grid.focus();
  }

  /** Open the tokens of a pair below, or close them. */
  function toggle(place: Place, unasked = false): void {
    const same = drill?.place.a === place.a && drill.place.b === place.b;
    close();
    if (same) return;
    drill = createDrill(place, stage, close);
    drill.element.addEventListener(
      "keydown",
      (event) => {
        if (event.key !== "Escape") return;
        consume(event);
        close();
      },
      { signal },
    );
    light();
    void fill(drill, unasked);
  }

  /** `unasked`: a failure is not reported. */
  async function fill(into: Drill, unasked = false): Promise<void> {
    if (answered === null) return;
    const { matrix: of, block } = answered;
    const { a, b } = into.place;
    drilling?.abort();
    const mine = new AbortController();
    drilling = mine;
    const late = setTimeout(() => into.element.setAttribute("aria-busy", "true"), QUIET_MS);
    try {
      const wait = AbortSignal.any([mine.signal, signal]);
      const answer = await block(a, b, { signal: wait });
      if (wait.aborted || drill !== into) return;
      const fresh = into.element.parentElement === null;
      if (fresh) below.replaceChildren(into.element);
      into.show(of, answer);
      if (fresh && of.size > 1) {
        announce(`Tokens of ${sentenceName(a)} and ${sentenceName(b)} are open below.`);
      }
    } catch (error) {
      if (isAbort(error) || mine.signal.aborted || signal.aborted) return;
      const { message, hint } = explain(error);
      if (!unasked) report(message, hint);
      if (drill === into && into.element.parentElement === null) close();
    } finally {
      clearTimeout(late);
      into.element.removeAttribute("aria-busy");
    }
  }

  function recolor(): void {
    if (answered === null || answered.matrix.size === 0) return;
    const { matrix } = answered;
    const { scale } = state.get();
    legend.show(matrix.max, scale, matrix.error(matrix.max));
    grid.paint(scale);
    drill?.recolor();
  }

  /** The row of the focus token's sentence is the one that is read. */
  function follow(): void {
    if (answered === null || answered.matrix.size === 0) return;
    const { matrix } = answered;
    const { token, pair } = state.get();
    const a = sentenceOf(matrix, token);
    const place = placeOfPair(matrix, pair);
    if (place !== null && place.a === a) grid.standOn(place);
    else if (a >= 0 && a !== grid.place.a) {
      grid.standOn({ a, b: strongestOther(matrix, a) ?? a });
    }
    light();
    showReadout(null);
  }

  state.on(["layer", "head", "quantity"], () => void load(), signal);
  state.on(["token", "pair"], follow, signal);
  state.on(["scale"], recolor, signal);
  void load();
  return {
    dispose() {
      loading?.abort();
      drilling?.abort();
      drill?.dispose();
      root.remove();
    },
    table: () =>
      answered === null || answered.matrix.size === 0 ? null : matrixTable(answered.matrix),
    options() {
      const of = answered?.matrix.asked ?? asked(choice.aggregation, "all", 0, "mean");
      const { layer, head, aggregation, quantity } = of;
      if (quantity !== null) return { aggregation, over: carriedName(of) };
      if (layer === null) return { aggregation, over: "all layers and heads" };
      const over = head === null ? `L${layer}, all heads` : `L${layer} H${head}`;
      return { aggregation, over };
    },
  };
}
