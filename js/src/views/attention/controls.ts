/** Above the pictures: what is shown, in which quantity, how near, with which lines and links. */

import { rampImage } from "../../draw/color/ramp";
import { modeOf } from "../../draw/color/theme";
import { h, setAttributes } from "../../draw/dom";
import { exact, formatNumber } from "../../figures/format";
import { errorOf, type Matrix, scoresAbsent } from "../../figures/matrix";
import { matrixName } from "../../figures/names";
import {
  calledOf,
  hasHead,
  isRolled,
  LABELS,
  MIXING,
  mixingDefinition,
} from "../../figures/quantities";
import { isBeyond } from "../../protocol/failure";
import type { Mixing } from "../../protocol/types";
import type { Quantity } from "../../state/selection";
import type { ViewContext } from "../contract";
import { zoomButtons } from "./zoom-buttons";

const SLIDER_STEPS = 1000;
/** A slider position is the square root of a share of the maximum: small thresholds matter most. */
const toThreshold = (position: number, max: number): number => (position / SLIDER_STEPS) ** 2 * max;
const toPosition = (threshold: number, max: number): number =>
  max > 0 ? Math.round(Math.sqrt(threshold / max) * SLIDER_STEPS) : 0;
const LEGEND_STOPS = 33;

const QUANTITIES: readonly (readonly [Quantity, string])[] = [
  ["weights", "Attention weights: the softmax of the scores, every row sums to 1"],
  ["scores", "Scaled scores q · k / √d, mask and bias included: the input of the softmax"],
  [
    "rollout",
    "Attention rollout (Abnar & Zuidema 2020, doi:10.18653/v1/2020.acl-main.385): the mean heads of " +
      "layers 0 to the selected one, each mixed half with the residual, multiplied: how much of a position comes from " +
      "each input token",
  ],
];

/** `, mixing ratio 0.31`: the mean over tokens. */
const mixed = (ratio: Float32Array | undefined): string =>
  ratio === undefined
    ? ""
    : `, mixing ratio ${formatNumber(ratio.reduce((sum, one) => sum + one, 0) / ratio.length)}`;

export interface ControlEvents {
  zoom(factor: number | null): void;
  /** Draw links from this weight on. */
  threshold(value: number): void;
  /** Which picture stands where there is room for one. */
  picture(name: "matrix" | "flow"): void;
  lines(on: boolean): void;
}

export interface Controls {
  readonly head: HTMLElement;
  readonly tools: HTMLElement;
  show(matrix: Matrix): void;
  threshold(value: number, max: number): void;
  links(threshold: number, drawn: number): void;
  /** The toggle stands only where there is a line to draw. */
  offerLines(sentences: boolean, segments: boolean): void;
  /** The legend of scores between `-most` and `most`; null takes it away. */
  legend(most: number | null, error?: number): void;
}

export function attentionControls(
  host: Element,
  { source, state, signal, announce }: ViewContext,
  events: ControlEvents,
): Controls {
  const act = (target: HTMLElement, type: string, listener: () => void): void =>
    target.addEventListener(type, listener, { signal });

  const title = h("h3", { class: "aw-title", "data-aw-part": "head-name" });
  const subtitle = h("span", { class: "aw-muted" });
  const note = h("p", { class: "aw-hint aw-quantity-note", "data-aw-part": "quantity-note" });
  let absent: string | null = null;
  const quantity = h(
    "div",
    { class: "aw-segmented", role: "group", "aria-label": "Quantity", "data-aw-part": "quantity" },
    ...QUANTITIES.map(([name, meaning]) => {
      const option = h(
        "button",
        { "data-quantity": name, title: meaning, "aria-pressed": "false" },
        name,
      );
      act(option, "click", () => {
        if (name === "scores" && absent !== null) announce(`Scores are not available: ${absent}.`);
        else state.set({ quantity: name });
      });
      return option;
    }),
  );

  const of = (label: string, rolled: boolean): HTMLElement =>
    h(
      "optgroup",
      { label },
      ...(Object.keys(LABELS) as Mixing[]).map((kind) => {
        const value: Quantity = rolled ? `${kind}_rollout` : kind;
        return h("option", { value, title: MIXING[kind] }, calledOf(value));
      }),
    );
  const carried = h(
    "select",
    {
      class: "aw-select",
      "aria-label": "What attention carries",
      title: "What attention carries, not only where it looks",
      "data-aw-part": "carried-quantity",
    },
    h("option", { value: "", hidden: true }, "mixing …"),
    of("Mixing", false),
    of("Rollout of mixing", true),
  );
  act(carried, "change", () => state.set({ quantity: carried.value as Quantity }));
  if (!isBeyond(source, { kind: "mixing", quantity: "norms", layer: 0 })) quantity.append(carried);

  function showQuantity(): void {
    const selection = state.get();
    absent = scoresAbsent(selection, source.meta);
    const shown =
      selection.quantity === "scores" && absent !== null ? "weights" : selection.quantity;
    const definition = mixingDefinition(selection.quantity);
    carried.value = definition === null ? "" : selection.quantity;
    carried.classList.toggle("is-chosen", definition !== null);
    for (const option of quantity.querySelectorAll("button")) {
      const name = option.getAttribute("data-quantity");
      const disabled = name === "scores" && absent !== null;
      const meaning = QUANTITIES.find(([other]) => other === name)?.[1] ?? null;
      setAttributes(option, {
        "aria-pressed": String(name === shown),
        "aria-disabled": disabled ? "true" : null,
        title: disabled ? `N/A: ${absent}` : meaning,
      });
    }
    note.hidden = absent === null && definition === null;
    const layered = hasHead(selection.quantity) ? "" : " It belongs to the layer, not to a head.";
    note.textContent =
      definition !== null
        ? definition + (isRolled(selection.quantity) ? "" : layered)
        : absent === null
          ? ""
          : selection.quantity === "scores"
            ? `Weights are shown; scores are N/A: ${absent}.`
            : `Scores N/A: ${absent}.`;
  }
  state.on(["quantity", "head", "words"], showQuantity, signal);
  showQuantity();

  const which = h(
    "div",
    { class: "aw-segmented aw-which", role: "group", "aria-label": "Picture" },
    ...(["Matrix", "Flow"] as const).map((name) => {
      const option = h("button", { "aria-pressed": String(name === "Matrix") }, name);
      act(option, "click", () => {
        for (const other of which.children) {
          other.setAttribute("aria-pressed", String(other === option));
        }
        events.picture(name === "Matrix" ? "matrix" : "flow");
      });
      return option;
    }),
  );
  const lines = h(
    "button",
    {
      class: "aw-toggle",
      "aria-pressed": "true",
      "data-aw-part": "lines",
      hidden: true,
    },
    "boundaries",
  );
  act(lines, "click", () => {
    const on = lines.getAttribute("aria-pressed") !== "true";
    lines.setAttribute("aria-pressed", String(on));
    events.lines(on);
  });
  const zoom = zoomButtons(events.zoom, signal);
  const slider = h("input", {
    type: "range",
    class: "aw-slider",
    min: 0,
    max: SLIDER_STEPS,
    step: 1,
    "aria-label": "Draw links of at least this weight",
    "data-aw-part": "threshold",
  });
  const sliderText = h("output", { class: "aw-number aw-slider-text", "data-aw-part": "links" });
  const flowControls = h("label", { class: "aw-flow-controls" }, "links from", slider, sliderText);
  let sliderMax = 1;
  act(slider, "input", () => events.threshold(toThreshold(Number(slider.value), sliderMax)));

  const low = h("span", { class: "aw-number" });
  const high = h("span", { class: "aw-number" });
  const gradient = h("span", { class: "aw-ramp-bar", "aria-hidden": "true" });
  const legend = h(
    "div",
    { class: "aw-ramp", role: "img", "data-aw-part": "score-legend", hidden: true },
    "score",
    low,
    h(
      "span",
      { class: "aw-ramp-track" },
      gradient,
      h("span", { class: "aw-number aw-ramp-middle" }, "0"),
    ),
    high,
  );

  return {
    head: h("div", {}, h("div", { class: "aw-panel-head" }, title, subtitle, quantity), note),
    tools: h("div", { class: "aw-tools" }, which, legend, lines, zoom, flowControls),
    show(matrix) {
      title.textContent = matrixName(matrix);
      const largest =
        matrix.scores === null
          ? `largest ${formatNumber(matrix.max, undefined, errorOf(matrix, matrix.max))}`
          : "scaled scores";
      subtitle.textContent = `${matrix.size} × ${matrix.size}, ${largest}${mixed(matrix.ratio)}`;
    },
    threshold(value, max) {
      sliderMax = max;
      slider.value = String(toPosition(value, max));
    },
    links(threshold, drawn) {
      const text = `${formatNumber(threshold)} · ${drawn} ${drawn === 1 ? "link" : "links"}`;
      if (sliderText.textContent !== text) sliderText.textContent = text;
      setAttributes(sliderText, { "data-aw-value": drawn, title: `${drawn} links are drawn` });
      setAttributes(slider, { "aria-valuetext": `${formatNumber(threshold)}, ${drawn} links` });
    },
    offerLines(sentences, segments) {
      lines.hidden = !sentences && !segments;
      const kinds = [
        ...(sentences ? ["dashed: sentences"] : []),
        ...(segments ? ["solid: segments A and B"] : []),
      ];
      lines.title = `Lines over the matrix (${kinds.join("; ")})`;
    },
    legend(most, error = 0) {
      legend.hidden = most === null;
      if (most === null) return;
      gradient.style.background = rampImage("signed", modeOf(host), LEGEND_STOPS);
      const text = formatNumber(most, undefined, error);
      low.textContent = formatNumber(-most, undefined, error);
      high.textContent = `+${text}`;
      setAttributes(high, { "data-aw-value": exact(most, error), title: exact(most, error) });
      const words = `Color of a score: the same on both sides of 0, up to ±${text}`;
      setAttributes(legend, { "aria-label": words, title: words });
    },
  };
}
