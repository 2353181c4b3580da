/** Gradient of each compared class's logit by the first token's attention, in one layer. */

import { rampImage } from "../../draw/color/ramp";
import { modeOf, onTheme } from "../../draw/color/theme";
import { h } from "../../draw/dom";
import { directionOf, unitFace } from "../../draw/text-line";
import { QUIET_MS } from "../../draw/wait";
import type { Classification } from "../../figures/classes";
import { magnitude } from "../../figures/derive/matrix";
import { sumsOf, type Unit, unitsOf } from "../../figures/derive/units";
import { exact, formatNumber, visible } from "../../figures/format";
import { schemeOf, unitLabel } from "../../figures/names";
import { explain, isAbort } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import type { HeadIndex } from "../../protocol/types";
import type { ViewContext } from "../contract";
import { wordsOf } from "./first";
import { type PaintedRows, paintedRows } from "./rows";

/** Classes that are asked for by themselves; more would be a page of rows. */
const MOST = 12;

const request = (label: number, head: HeadIndex) =>
  ({ kind: "class_gradient", label, head }) as const;

interface Gradients {
  readonly layers: readonly number[];
  /** By class, where available: `[layers, n]`. */
  readonly found: ReadonlyMap<number, Float32Array>;
  /** Why others could not. */
  readonly missing: string;
}

export interface ClassGradients {
  /** Classes to compare, in the order of their logits. */
  compare(classes: readonly number[]): void;
  stop(): void;
}

export function classGradients(
  element: HTMLElement,
  stage: ViewContext,
  { labels, logits, activation }: Classification,
): ClassGradients {
  const { source, state, announce, signal } = stage;
  const { tokens } = source.meta;
  const n = tokens.text.length;
  const scheme = schemeOf(tokens);
  const life = new AbortController();
  const ends = AbortSignal.any([signal, life.signal]);
  const name = (unit: Unit): string => unitLabel(unit, scheme);
  const first = unitsOf(tokens, { special: true })[0];
  const firstName = first === undefined ? "" : name(first);
  const say = (value: number): string => (value > 0 ? "+" : "") + formatNumber(value);

  let classes: readonly number[] = [];
  let gradients: Gradients | null = null;
  let tokenWord: readonly (number | null)[] | null | undefined;
  let asking: AbortController | null = null;
  let picture: PaintedRows | null = null;
  let head: HeadIndex = "mean";

  const where = h("span", { class: "aw-muted", "data-aw-part": "gradient-where" });
  const low = h("span", { class: "aw-number" });
  const high = h("span", { class: "aw-number" });
  const bar = h("span", { class: "aw-ramp-bar", "aria-hidden": "true" });
  const legend = h(
    "div",
    { class: "aw-ramp aw-own-legend", role: "img" },
    low,
    h("span", { class: "aw-ramp-track" }, bar),
    high,
  );
  const body = h("div", { class: "aw-first-rows" });
  const readout = h("p", { class: "aw-readout", "data-aw-part": "gradient-readout" });
  const section = h(
    "section",
    { class: "aw-first", "aria-label": "Class gradients", "data-aw-part": "gradient" },
    h(
      "div",
      { class: "aw-panel-head" },
      h("h3", { class: "aw-title" }, "Gradient by attention score"),
      where,
      legend,
    ),
    h(
      "p",
      { class: "aw-view-note" },
      labels.length > 1 ? "Attention is the same for every class; its effect is not. " : "",
      `∂z/∂S: how fast ${activation === "identity" ? "a value" : "the logit of a class"} z changes with the score S of `,
      h("bdi", { dir: "ltr" }, firstName),
      " → word. Above 0, more attention raises it.",
    ),
    body,
    readout,
  );
  if (source.live && source.has?.(request(0, "mean")) === false)
    return { compare: () => undefined, stop: () => life.abort() };
  element.append(section);

  const row = (): number =>
    gradients === null
      ? 0
      : Math.max(0, gradients.layers.indexOf(state.get().layer)) ||
        (gradients.layers.includes(state.get().layer) ? 0 : gradients.layers.length - 1);

  async function load(): Promise<void> {
    head = state.get().head;
    asking?.abort();
    const mine = new AbortController();
    asking = mine;
    const late = setTimeout(() => section.setAttribute("aria-busy", "true"), QUIET_MS);
    const wait = AbortSignal.any([mine.signal, ends]);
    const byLabel = new Map<number, Float32Array>();
    let layers: readonly number[] = gradients?.layers ?? [];
    let missing = "";
    try {
      if (tokenWord === undefined) tokenWord = await wordsOf(source, wait);
      for (const label of classes.slice(0, MOST)) {
        try {
          const { data, arrays } = await source.slice(request(label, head), { signal: wait });
          layers = data.layers as readonly number[];
          byLabel.set(label, arrays.get("gradient")?.data as Float32Array);
        } catch (error) {
          if (isAbort(error)) throw error;
          const { message, hint } = explain(error);
          missing = `${message} ${hint}`.trim();
        }
      }
      if (wait.aborted) return;
      gradients = { layers, found: byLabel, missing };
      draw();
    } catch (error) {
      if (!isAbort(error)) throw error;
    } finally {
      clearTimeout(late);
      if (asking === mine) section.removeAttribute("aria-busy");
    }
  }

  function draw(): void {
    picture?.stop();
    picture = null;
    body.replaceChildren();
    readout.textContent = "";
    if (gradients === null) return;
    const { layers, found, missing } = gradients;
    const layer = layers[row()];
    where.textContent =
      layer === undefined
        ? ""
        : `L${layer} · ${head === "mean" ? "all heads at once" : `H${head}`}`;
    const shown = classes.filter((label) => found.has(label));
    legend.hidden = shown.length === 0;
    if (shown.length === 0) {
      const why = classes.length === 0 ? "Select a class above." : missing;
      body.append(h("p", { class: "aw-hint" }, why));
      return;
    }
    const units = unitsOf(tokens, { special: false, tokenWord: tokenWord ?? null }).filter(
      ({ token }) => tokenWord == null || tokenWord[token] != null,
    );
    if (units.length === 0) return;
    const own = (label: number): Float32Array => {
      const whole = found.get(label) ?? new Float32Array(0);
      return sumsOf(whole.subarray(row() * n, (row() + 1) * n), units);
    };
    const rows = shown.map((label) => ({
      label,
      text: itemAt(labels, label),
      values: own(label),
    }));
    const [one, other] = rows;
    if (one !== undefined && other !== undefined && rows.length === 2 && activation === "softmax") {
      rows.push({
        label: -1,
        text: `${one.text} − ${other.text}`,
        values: one.values.map((value, i) => value - itemAt(other.values, i)),
      });
    }
    const top = rows.reduce((most, { values }) => Math.max(most, magnitude(values)), 0);
    paintLegend(top);
    const showReadout = (at: { row: number; unit: number } | null): void => {
      if (at === null) {
        const rest = classes.length - shown.length;
        readout.textContent =
          rest > 0
            ? `${rest} more ${rest === 1 ? "class is" : "classes are"} selected. ${missing}`.trim()
            : labels.length > 1
              ? "Click a layer above to change the layer; select classes above to change these."
              : "Click a layer above to change the layer.";
        return;
      }
      const { text, values } = itemAt(rows, at.row);
      const value = itemAt(values, at.unit);
      const unit = itemAt(units, at.unit);
      readout.replaceChildren(
        h("bdi", {}, h("strong", {}, visible(text))),
        "  ",
        h("bdi", { dir: "ltr" }, firstName),
        " → ",
        h("bdi", { dir: "ltr" }, name(unit)),
        h("span", { class: "aw-drill-at" }, String(unit.token)),
        "  ",
        h(
          "strong",
          { class: "aw-number", "data-aw-value": exact(value), title: exact(value) },
          say(value),
        ),
        " per unit of score",
      );
    };
    picture = paintedRows(body, {
      units,
      tokens,
      direction: directionOf(source.meta.text),
      rows: rows.map(({ label, text, values }) => ({
        key: label,
        label: text,
        spoken: visible(text),
        values,
        ends: [],
      })),
      top,
      signed: true,
      label: `Classes by words in layer ${layer}: Enter on a word pins the pair`,
      part: "gradient-rows",
      keyName: "data-class",
      name,
      face: (unit) => unitFace(unit, source.meta),
      say,
      exact,
      scale: () => "head",
      mode: () => modeOf(element),
      point: showReadout,
      pick(_, index) {
        if (layer === undefined) return;
        const unit = itemAt(units, index);
        state.set({ layer, token: 0, pair: [0, unit.token], quantity: "weights" });
        announce(`Pinned ${firstName} to ${name(unit)} in layer ${layer}.`);
      },
      selected: () => false,
      pinned: () => false,
      announce,
    });
    showReadout(null);
  }

  function paintLegend(top: number): void {
    bar.style.background = rampImage("signed", modeOf(element), 18);
    low.textContent = formatNumber(-top);
    high.textContent = formatNumber(top);
    legend.setAttribute("aria-label", `Colors: ${formatNumber(-top)} to ${formatNumber(top)}`);
  }

  onTheme(element, draw, ends);
  state.on(["head"], () => void load(), ends);
  state.on(["layer"], draw, ends);
  return {
    compare(next) {
      classes = [...next].sort((a, b) => itemAt(logits, b) - itemAt(logits, a) || a - b);
      void load();
    },
    stop() {
      picture?.stop();
      asking?.abort();
      life.abort();
      section.remove();
    },
  };
}
