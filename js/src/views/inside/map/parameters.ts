/** How many trained numbers each part of the model has, as one bar. */

import { h } from "../../../draw/dom";
import { PARTS, type Part } from "../../../figures/derive/stages";
import { formatCount, formatNumber } from "../../../figures/format";

const THOUSAND = 1e3;
const MILLION = 1e6;

/** `11.9 M`, `148 k`, `512`. */
export function formatParameters(count: number): string {
  if (count >= MILLION) return `${formatNumber(count / MILLION)} M`;
  return count >= 10 * THOUSAND ? `${formatNumber(count / THOUSAND)} k` : formatCount(count);
}

/** The bar and its legend; `mark` lights one part. */
export function parameterBar(parameters: Readonly<Record<string, number>>): {
  element: HTMLElement;
  mark(part: Part | null): void;
} {
  const parts = PARTS.filter(([part]) => (parameters[part] ?? 0) > 0);
  const total = parameters.total ?? 0;
  const bar = h("div", { class: "aw-parameters-bar", "aria-hidden": "true" });
  const list = h("dl", { class: "aw-parameters-list" });
  const marked = new Map<Part, HTMLElement[]>();
  for (const [part, label] of parts) {
    const count = parameters[part] ?? 0;
    const piece = h("i", { "data-part": part });
    piece.style.flexGrow = String(count / total);
    const entry = h(
      "div",
      { "data-part": part },
      h("dt", {}, label),
      h(
        "dd",
        { class: "aw-number", "data-aw-value": count, title: formatCount(count) },
        formatParameters(count),
      ),
    );
    bar.append(piece);
    list.append(entry);
    marked.set(part, [piece, entry]);
  }
  list.append(
    h(
      "div",
      { class: "aw-parameters-total" },
      h("dt", {}, "total"),
      h(
        "dd",
        { class: "aw-number", "data-aw-value": total, title: formatCount(total) },
        formatParameters(total),
      ),
    ),
  );
  return {
    element: h(
      "section",
      { class: "aw-parameters", "aria-label": "Parameters", "data-aw-part": "parameters" },
      h("h3", { class: "aw-parameters-name" }, "Parameters"),
      bar,
      list,
    ),
    mark(part) {
      for (const [name, elements] of marked) {
        for (const element of elements) {
          element.classList.toggle("is-marked", name === part);
          element.classList.toggle("is-dimmed", part !== null && name !== part);
        }
      }
    },
  };
}
