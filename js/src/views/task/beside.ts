/** Comparison texts of other classes: the classifier's answer to each, and its first token's attention. */

import { inkOn, ramp } from "../../draw/color/ramp";
import { rampIndex } from "../../draw/color/scale";
import { modeOf, onTheme } from "../../draw/color/theme";
import { weightLegend } from "../../draw/color/weight-legend";
import { h } from "../../draw/dom";
import { directionOf } from "../../draw/text-line";
import type { Classification } from "../../figures/classes";
import { maximum } from "../../figures/derive/matrix";
import { exact, formatNumber, formatPercent, visible } from "../../figures/format";
import { explain, isAbort } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import type { ViewContext } from "../contract";
import { pairBar, spaced } from "./rows";

/** Columns of classes: those under comparison, and the text's likeliest. */
const MOST_CLASSES = 12;
/** Words from which on a text may be higher than its row. */
const SCROLLED = 24;

interface BesideText {
  readonly text: string;
  readonly text_pair: string | null;
  readonly words: readonly string[];
  readonly before: readonly string[];
  readonly segments: readonly number[];
}

interface Texts {
  /** This text is the first. */
  readonly texts: readonly BesideText[];
  readonly layers: readonly number[];
  /** `[texts, classes]`. */
  readonly logits: Float32Array;
  readonly probabilities: Float32Array;
  /** `[layers, words of all texts]`, `[texts, layers]`. */
  readonly weights: Float32Array;
  readonly special: Float32Array;
}

export interface Beside {
  compare(classes: readonly number[]): void;
  stop(): void;
}

export function textsBeside(
  element: HTMLElement,
  stage: ViewContext,
  { labels, activation }: Classification,
): Beside {
  const { source, state, act, report, signal } = stage;
  const life = new AbortController();
  const ends = AbortSignal.any([signal, life.signal]);
  const width = labels.length;
  let classes: readonly number[] = [];
  let known: Texts | null = null;
  let painted: { cell: HTMLElement; value: (layer: number) => number }[] = [];
  let top = 0;

  const where = h("span", { class: "aw-muted" });
  const legend = weightLegend();
  const body = h("div", { class: "aw-beside-rows", "data-aw-part": "beside-rows" });
  const section = h(
    "section",
    { class: "aw-first", "aria-label": "Other texts", hidden: true, "data-aw-part": "beside" },
    h(
      "div",
      { class: "aw-panel-head" },
      h("h3", { class: "aw-title" }, "Compared with other texts"),
      where,
      legend.element,
    ),
    body,
  );
  element.append(section);

  async function load(): Promise<void> {
    if (source.live && source.has?.({ kind: "beside" }) === false) return;
    try {
      const { data, arrays } = await source.slice({ kind: "beside" }, { signal: ends });
      if (ends.aborted) return;
      const floats = (name: string): Float32Array =>
        (arrays.get(name)?.data ?? new Float32Array(0)) as Float32Array;
      known = {
        texts: data.texts as readonly BesideText[],
        layers: data.layers as readonly number[],
        logits: floats("logits"),
        probabilities: floats("probabilities"),
        weights: floats("weights"),
        special: floats("special"),
      };
      draw();
    } catch (error) {
      // A saved page has the texts that stood there, or none.
      if (isAbort(error) || !source.live) return;
      const { message, hint } = explain(error);
      report(message, hint);
    }
  }

  const likeliest = ({ logits }: Texts, text: number): number => {
    const own = logits.subarray(text * width, (text + 1) * width);
    return own.indexOf(Math.max(...own));
  };

  function number(value: number, text: string): HTMLElement {
    return h(
      "span",
      { class: "aw-number", "data-aw-value": exact(value), title: exact(value) },
      text,
    );
  }

  /** The classifier's answer to a text, for the compared classes. */
  function verdictOf(of: Texts, text: number, best: number): HTMLElement {
    const columns = [...new Set([best, ...classes])].slice(0, MOST_CLASSES).sort((a, b) => a - b);
    const value = (label: number): HTMLElement => {
      const at = text * width + label;
      if (activation === "identity") {
        const logit = itemAt(of.logits, at);
        return number(logit, formatNumber(logit));
      }
      const probability = itemAt(of.probabilities, at);
      return number(probability, formatPercent(probability));
    };
    return h(
      "dl",
      { class: "aw-beside-classes" },
      ...columns.map((label) => {
        const text = itemAt(labels, label);
        return h(
          "div",
          { class: label === best ? "is-best" : null, "data-class": label },
          h("dt", {}, h("bdi", { title: text }, visible(text))),
          h("dd", {}, value(label)),
        );
      }),
    );
  }

  function draw(): void {
    if (known === null) return;
    const of = known;
    section.hidden = false;
    legend.element.hidden = of.texts.length < 2;
    if (of.texts.length < 2) {
      where.textContent = "";
      body.replaceChildren(
        h(
          "p",
          { class: "aw-hint" },
          "Run another text above to see both here. In Python: ",
          h("code", {}, "show(text, beside=[…])"),
          ", for example with a text of each class.",
        ),
      );
      section.hidden = act === null;
      return;
    }
    let total = 0;
    const texts = of.texts.map((each, text) => {
      const start = total;
      total += each.words.length;
      return { ...each, text, own: each.text, start, best: likeliest(of, text) };
    });
    // By class in the model's order; values by size; this text among the others.
    const value = ({ text }: { text: number }): number => itemAt(of.logits, text * width);
    texts.sort((a, b) =>
      activation === "identity" ? value(a) - value(b) : a.best - b.best || a.text - b.text,
    );
    painted = [];
    body.replaceChildren(
      ...texts.map(({ words, before, segments, text, own, text_pair, start, best }) => {
        const long = words.length > SCROLLED;
        const line = h("div", {
          class: "aw-first-text",
          dir: directionOf(own),
          // A long text scrolls, by keys too.
          tabindex: long ? 0 : null,
          role: long ? "group" : null,
          "aria-label": long ? "The text" : null,
        });
        words.forEach((word, i) => {
          const cell = h("span", { class: "aw-first-token", "data-word": i }, visible(word));
          const pair = i > 0 && segments[i] !== segments[i - 1];
          spaced(line, cell, pair ? " " : itemAt(before, i), i === 0);
          if (pair) cell.before(pairBar());
          painted.push({
            cell,
            value: (layer) => itemAt(of.weights, layer * total + start + i),
          });
        });
        const open =
          text === 0 || act === null
            ? h("span", { class: "aw-class-best" }, text === 0 ? "this text" : "")
            : h("button", { class: "aw-button" }, "Show");
        if (text > 0 && act !== null) {
          open.addEventListener(
            "click",
            () => {
              act({ kind: "run", text: own, text_pair }).catch((error: unknown) => {
                const { message, hint } = explain(error);
                report(message, hint);
              });
            },
            { signal: ends },
          );
        }
        return h(
          "div",
          { class: `aw-beside-row${text === 0 ? " is-selected" : ""}`, "data-text": text },
          verdictOf(of, text, best),
          line,
          open,
        );
      }),
    );
    paint();
  }

  function paint(): void {
    if (known === null || known.texts.length < 2) return;
    const { layers } = known;
    const { layer, scale } = state.get();
    const row = layers.includes(layer) ? layers.indexOf(layer) : layers.length - 1;
    where.textContent = `L${layers[row]} · mean of heads, first token over words`;
    const values = painted.map(({ value }) => value(row));
    top = maximum(values);
    legend.show(top, scale);
    const { css, rgb } = ramp("weight", modeOf(element));
    painted.forEach(({ cell }, i) => {
      const value = itemAt(values, i);
      const index = rampIndex(value, top, scale);
      cell.style.background = itemAt(css, index);
      cell.style.color = inkOn(itemAt(rgb, index));
      cell.title = `${cell.textContent}  ${formatNumber(value)}`;
      cell.setAttribute("data-aw-value", exact(value));
    });
  }

  onTheme(element, paint, ends);
  state.on(["layer", "scale"], paint, ends);
  void load();
  return {
    compare(next) {
      classes = next;
      draw();
    },
    stop() {
      life.abort();
      section.remove();
    },
  };
}
