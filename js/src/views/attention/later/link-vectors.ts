/** Query and key of a pinned pair as strips of their values, and the products that their dot is the sum of. */

import { ramp } from "../../../draw/color/ramp";
import { signedIndex } from "../../../draw/color/scale";
import { modeOf } from "../../../draw/color/theme";
import { h } from "../../../draw/dom";
import { magnitude } from "../../../figures/derive/matrix";
import { exact, formatNumber } from "../../../figures/format";
import { itemAt } from "../../../protocol/required";

/** A row of cells as a CSS gradient of hard stops: sharp at any width. */
function cells(values: Float32Array, most: number, css: readonly string[]): string {
  const width = 100 / values.length;
  const stops = Array.from(values, (value, i) => {
    const color = itemAt(css, signedIndex(value, most));
    return `${color} ${(i * width).toFixed(3)}% ${((i + 1) * width).toFixed(3)}%`;
  });
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

/** One vector as a strip of its values. `host` is an element of the widget: its theme decides the colors. */
export function vectorStrip(host: Element, name: string, values: Float32Array): HTMLElement {
  const most = magnitude(values);
  return h(
    "div",
    { class: "aw-vectors", "data-aw-part": "carried-vector" },
    ...stripRow(name, values, most, ramp("signed", modeOf(host)).css),
  );
}

/** Name, strip, and the ends of its colors. */
function stripRow(
  name: string,
  values: Float32Array,
  most: number,
  css: readonly string[],
): HTMLElement[] {
  const strip = h("span", {
    class: "aw-vector",
    role: "img",
    "aria-label": `${name}: ${values.length} values between ±${formatNumber(most)}`,
  });
  strip.style.background = cells(values, most, css);
  return [
    h("span", { class: "aw-muted" }, name),
    strip,
    h("span", { class: "aw-number aw-muted", title: "the colors' ends" }, `±${formatNumber(most)}`),
  ];
}

/** `host` is an element of the widget: its theme decides the colors. */
export function vectorStrips(host: Element, q: Float32Array, k: Float32Array): HTMLElement {
  const products = q.map((value, i) => value * itemAt(k, i));
  const rows = [
    { name: "q", values: q },
    { name: "k", values: k },
    { name: "q × k", values: products },
  ];
  const { css } = ramp("signed", modeOf(host));
  const shared = Math.max(magnitude(q), magnitude(k));
  const readout = h("p", { class: "aw-muted aw-vector-readout" }, summary(q.length));
  const strips = h(
    "div",
    { class: "aw-vectors", "data-aw-part": "vectors" },
    ...rows.flatMap(({ name, values }) =>
      stripRow(name, values, name === "q × k" ? magnitude(products) : shared, css),
    ),
  );
  strips.addEventListener("pointermove", (event) => {
    const box = strips.querySelector(".aw-vector")?.getBoundingClientRect();
    if (box === undefined) return;
    const i = Math.floor(((event.clientX - box.left) / box.width) * q.length);
    readout.textContent = i < 0 || i >= q.length ? summary(q.length) : dimension(q, k, i);
  });
  strips.addEventListener("pointerleave", () => {
    readout.textContent = summary(q.length);
  });
  return h("div", {}, strips, readout, valueTable(rows));
}

const summary = (length: number): string =>
  `${length} dimensions: blue below zero, orange above; their products add up to q · k.`;

const dimension = (q: Float32Array, k: Float32Array, i: number): string => {
  const [a, b] = [itemAt(q, i), itemAt(k, i)];
  return `dimension ${i}: ${formatNumber(a)} × ${formatNumber(b)} = ${formatNumber(a * b)}`;
};

/** All values as a table, built when it is opened. */
function valueTable(
  rows: readonly { readonly name: string; readonly values: Float32Array }[],
): HTMLElement {
  const body = h("div", {
    class: "aw-table-scroll",
    tabindex: 0,
    role: "region",
    "aria-label": "Values of q and k",
  });
  const element = h("details", { class: "aw-twin" }, h("summary", {}, "Values"), body);
  element.addEventListener("toggle", () => {
    if (!element.open || body.firstChild !== null) return;
    const count = itemAt(rows, 0).values.length;
    body.append(
      h(
        "table",
        { class: "aw-table", "data-aw-part": "vector-values" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "dimension"),
            ...rows.map(({ name }) => h("th", { scope: "col" }, name)),
          ),
        ),
        h(
          "tbody",
          {},
          ...Array.from({ length: count }, (_, i) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, String(i)),
              ...rows.map(({ values }) => {
                const value = itemAt(values, i);
                const attributes = { class: "aw-number", "data-aw-value": exact(value) };
                return h("td", attributes, formatNumber(value));
              }),
            ),
          ),
        ),
      ),
    );
  });
  return element;
}
