/** Above a long matrix: its name, its quantity, how blocks are pooled, what the colors mean, how near it is. */

import { rampImage } from "../../../draw/color/ramp";
import { rampValue } from "../../../draw/color/scale";
import { modeOf } from "../../../draw/color/theme";
import { h, setAttributes } from "../../../draw/dom";
import { exact, formatCount, formatNumber } from "../../../figures/format";
import {
  keyOfLong,
  type LongMatrix,
  type LongQuantity,
  mostOfLong,
  type Pooling,
  topAt,
} from "../../../figures/long/store";
import { scoresAbsent } from "../../../figures/matrix";
import { matrixName } from "../../../figures/names";
import { calledOf, measureOf, mixingOf } from "../../../figures/quantities";
import { itemAt } from "../../../protocol/required";
import type { ViewContext } from "../../contract";
import { zoomButtons } from "../zoom-buttons";

const STOPS = 17;
const QUANTITIES: readonly (readonly [LongQuantity, string])[] = [
  ["weights", "Attention weights: the softmax of the scores, every row sums to 1"],
  ["scores", "Scaled scores q · k / √d, mask and bias included"],
  [
    "rollout",
    "Attention rollout (Abnar & Zuidema 2020): mean heads of all layers so far, multiplied",
  ],
];
const POOLINGS: readonly (readonly [Pooling, string])[] = [
  ["max", "A block has the color of its largest cell: shows single links"],
  ["mean", "A block has the color of its mean: shows areas"],
];

/** Why no quantity of what attention carries is drawn (docs/long-texts.md). */
const NO_MIXING =
  "a text of more than 1,024 tokens is drawn at several levels of detail, which exist only for weights, scores and rollouts";

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export interface LongControls {
  readonly head: HTMLElement;
  readonly tools: HTMLElement;
  show(matrix: LongMatrix): void;
  /** The level that is drawn: a cell is a block of `2 ** level` tokens a side. */
  level(matrix: LongMatrix, level: number, labels: string): void;
  links(drawn: number, leaving: number): void;
}

export function longControls(
  host: Element,
  { source, state, signal, announce }: ViewContext,
  events: {
    zoom(factor: number | null): void;
    pool(pooling: Pooling): void;
    pooling(): Pooling;
  },
): LongControls {
  const title = h("h3", { class: "aw-title", "data-aw-part": "head-name" });
  const subtitle = h("span", { class: "aw-muted" });
  const press = (group: HTMLElement, name: string): void => {
    for (const option of group.querySelectorAll("button")) {
      option.setAttribute("aria-pressed", String(option.dataset.name === name));
    }
  };
  const segmented = <T extends string>(
    label: string,
    part: string,
    options: readonly (readonly [T, string])[],
    choose: (name: T) => void,
  ): HTMLElement =>
    h(
      "div",
      { class: "aw-segmented", role: "group", "aria-label": label, "data-aw-part": part },
      ...options.map(([name, meaning]) => {
        const option = h(
          "button",
          { "data-name": name, title: meaning, "aria-pressed": "false" },
          name,
        );
        option.addEventListener("click", () => choose(name), { signal });
        return option;
      }),
    );
  const absent = (): string | null => scoresAbsent({ ...state.get(), words: false }, source.meta);
  const quantity = segmented("Quantity", "quantity", QUANTITIES, (name) => {
    const why = name === "scores" ? absent() : null;
    if (why === null) state.set({ quantity: name });
    else announce(`Scores are not available: ${why}.`);
  });
  const carried = h(
    "button",
    { "data-aw-part": "carried-quantity", "aria-disabled": "true", title: `N/A: ${NO_MIXING}` },
    "mixing …",
  );
  carried.addEventListener("click", () => explainMixing("What attention carries"), { signal });
  if (source.meta.profile === null) quantity.append(carried);
  const note = h("p", { class: "aw-hint", "data-aw-part": "quantity-note", role: "status" });
  note.hidden = true;
  function explainMixing(what: string): void {
    note.textContent = `${what} is not drawn here: ${NO_MIXING}. The picture shows weights.`;
    note.hidden = false;
  }
  /** Python may have set it, and a text that was short before. */
  function noteQuantity(): void {
    const { quantity: wanted } = state.get();
    if (mixingOf(wanted) === null) note.hidden = true;
    else explainMixing(capital(calledOf(measureOf(wanted))));
  }
  state.on(["quantity"], noteQuantity, signal);
  const pooling = segmented("A block of cells shows its", "pooling", POOLINGS, (name) => {
    press(pooling, name);
    events.pool(name);
  });
  press(pooling, events.pooling());
  const zoom = zoomButtons(events.zoom, signal);
  const low = h("span", { class: "aw-number" });
  const high = h("span", { class: "aw-number" });
  const gradient = h("span", { class: "aw-ramp-bar", "aria-hidden": "true" });
  const block = h("span", { class: "aw-muted aw-long-block", "data-aw-part": "block" });
  const masked = h(
    "span",
    { class: "aw-ramp-hatched", hidden: true },
    h("i", { "aria-hidden": "true" }),
    "masked",
  );
  const legend = h(
    "div",
    { class: "aw-ramp", role: "img", "data-aw-part": "long-legend" },
    low,
    h("span", { class: "aw-ramp-track" }, gradient),
    high,
  );
  const counted = h("span", { class: "aw-muted aw-number aw-long-links", "data-aw-part": "links" });
  return {
    head: h("div", {}, h("div", { class: "aw-panel-head" }, title, subtitle, quantity), note),
    tools: h("div", { class: "aw-tools" }, pooling, legend, masked, block, zoom, counted),
    show(matrix) {
      title.textContent = matrixName(keyOfLong(matrix));
      const { size, largest } = matrix;
      const figure =
        matrix.quantity === "scores" ? "scaled scores" : `largest ${formatNumber(largest)}`;
      subtitle.textContent = `${formatCount(size)} × ${formatCount(size)}, ${figure}`;
      press(quantity, matrix.quantity);
      noteQuantity();
      const why = absent();
      setAttributes(itemAt([...quantity.querySelectorAll("button")], 1), {
        "aria-disabled": why === null ? null : "true",
        title: why === null ? itemAt(QUANTITIES, 1)[1] : `N/A: ${why}`,
      });
      const signed = matrix.quantity === "scores";
      gradient.style.background = rampImage(signed ? "signed" : "weight", modeOf(host), STOPS);
      masked.hidden = !matrix.masked;
    },
    level(matrix, level, labels) {
      const side = 2 ** level;
      const exactly = level === 0;
      const { scale } = state.get();
      const signed = matrix.quantity === "scores";
      const top = signed
        ? mostOfLong(matrix)
        : rampValue(1, topAt(matrix, events.pooling(), level, scale), scale);
      if (high.dataset.awValue !== exact(top)) {
        low.textContent = signed ? formatNumber(-top) : "0";
        high.textContent = formatNumber(top);
        setAttributes(high, { "data-aw-value": exact(top), title: exact(top) });
      }
      const text = exactly
        ? `every cell, ${labels}`
        : `${events.pooling()} of ${side} × ${side} tokens, ${labels}`;
      if (block.textContent !== text) block.textContent = text;
      setAttributes(legend, {
        "aria-label": `Color: ${exactly ? "the cell itself" : `${events.pooling()} of a block of ${side} by ${side} tokens`}, up to ${high.textContent}`,
      });
      pooling.classList.toggle("aw-idle", exactly);
    },
    links(drawn, leaving) {
      const text =
        `${drawn} ${drawn === 1 ? "link" : "links"} in view` +
        (leaving > 0 ? `, ${leaving} from the focus lead out of view` : "");
      if (counted.textContent !== text) counted.textContent = text;
      counted.dataset.awValue = String(drawn);
    },
  };
}
