/** The units of the FFN: how many are active, which are the largest, and what came of it. */

import { h } from "../../../draw/dom";
import { countActive, topOf } from "../../../figures/derive/dimensions";
import { exact, formatCount, formatNumber } from "../../../figures/format";
import { itemAt } from "../../../protocol/required";
import { at, type Content, ofDimensions, type Place, strip } from "../content";
import { firstWindow } from "../data";
import { half, lengths } from "./sublayer";

const TOP_UNITS = 8;

export async function activation(place: Place): Promise<Content> {
  const { layer, name, arch, goTo } = place;
  const [units, halves] = await Promise.all([
    strip(place, "ffn_activation", "activation", "activation", { layer }),
    half(place, "ffn"),
  ]);
  const { values } = units;
  if (values === null) return ofDimensions([units], 1, () => [], { unit: "unit" });
  const active = countActive(values);
  const top = topOf(values, TOP_UNITS);
  const most = Math.max(itemAt(values, itemAt(top, 0)), 0);
  const bars = top.map((unit) => {
    const value = itemAt(values, unit);
    const bar = h("i", { "aria-hidden": "true" });
    bar.style.inlineSize = `${most > 0 ? (100 * Math.max(value, 0)) / most : 0}%`;
    const button = h(
      "button",
      { class: "aw-inside-unit", "data-unit": unit },
      h("span", { class: "aw-number" }, formatCount(unit)),
      h("span", { class: "aw-inside-unit-track" }, bar),
      h(
        "span",
        { class: "aw-number", "data-aw-value": exact(value), title: exact(value) },
        formatNumber(value),
      ),
    );
    button.addEventListener("click", () => goTo(unit));
    return h("li", {}, button);
  });
  const whole = units.size === values.length;
  const tops = h(
    "section",
    { class: "aw-inside-tops", "data-aw-part": "top-units" },
    h("h4", { class: "aw-title" }, "Largest activations"),
    h("ol", { class: "aw-inside-units" }, ...bars),
  );
  const answer = h(
    "section",
    { class: "aw-inside-answer" },
    h("h4", { class: "aw-title" }, "Effect of the FFN on ", h("bdi", { dir: "ltr" }, name)),
    h(
      "p",
      { class: "aw-view-note" },
      `${formatCount(active)} of ${formatCount(values.length)} units are above zero` +
        (whole
          ? ""
          : ` (this page has the first ${formatCount(values.length)} of ${formatCount(units.size)})`) +
        `. ${arch.activation} comes before.`,
    ),
    await lengths(place, "ffn", halves.strips),
  );
  return {
    ...ofDimensions([units], firstWindow("ffn_activation"), (i) => [
      { sign: "", label: "activation", value: at(units, i) },
    ]),
    unit: "unit",
    below: [h("div", { class: "aw-inside-columns" }, answer, tops)],
  };
}
