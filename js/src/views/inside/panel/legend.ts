/** Legend of the colors in the open stage's strips. */

import { type Mode, rampImage } from "../../../draw/color/ramp";
import { h } from "../../../draw/dom";
import { exact, formatNumber } from "../../../figures/format";
import { type Content, errorsOf } from "../content";

const MINUS = "−";
const LEGEND_STOPS = 9;

/** `tops`: the largest value of each group; `common`: the scale of all stages; `root`: whether by square root. */
export function panelLegend(
  content: Content,
  tops: ReadonlyMap<string, number>,
  { common, root, mode }: { common: number | null; root: boolean; mode: Mode },
): HTMLElement[] {
  const key = (
    name: "signed" | "weight",
    low: string,
    high: string,
    middle: string,
  ): HTMLElement => {
    const bar = h("span", { class: "aw-ramp-bar" });
    bar.style.background = rampImage(name, mode, LEGEND_STOPS);
    return h(
      "span",
      { class: "aw-ramp" },
      h("span", {}, low),
      h(
        "span",
        { class: "aw-ramp-track" },
        bar,
        middle === "" ? null : h("span", { class: "aw-ramp-middle" }, middle),
      ),
      h("span", {}, high),
    );
  };
  const scaled = root ? ", by square root" : "";
  const groups = [...tops].filter(([name]) =>
    content.strips.some((strip) => strip.group === name && strip.ramp === "signed"),
  );
  const weights = content.strips.find((strip) => strip.ramp === "weight");
  const shared = content.unit === "dimension" ? common : null;
  /** Error of a group's largest value. */
  const errorIn = (group: string, top: number): number =>
    content.strips
      .filter((strip) => strip.group === group)
      .flatMap((one) => errorsOf(one).filter((_, i) => Math.abs(one.values?.[i] ?? 0) === top))
      .reduce((most, error) => Math.max(most, error), 0);
  const written = (group: string): string => {
    const top = tops.get(group) ?? 0;
    return formatNumber(top, undefined, errorIn(group, top));
  };
  const figure = (value: number, error = 0): HTMLElement =>
    h(
      "span",
      { class: "aw-number", "data-aw-value": exact(value, error), title: exact(value, error) },
      `± ${formatNumber(value, undefined, error)}`,
    );
  const stated =
    shared !== null
      ? [h("span", {}, figure(shared), ` everywhere: the largest of its hidden states${scaled}`)]
      : groups.map(([name, top], i) =>
          h(
            "span",
            {},
            groups.length > 1 ? `${name} ` : "",
            figure(top, errorIn(name, top)),
            i === groups.length - 1 ? scaled : "",
          ),
        );
  const [only] = groups.length === 1 && shared === null ? groups : [];
  return [
    ...(groups.length === 0
      ? []
      : [
          only !== undefined
            ? key("signed", `${MINUS}${written(only[0])}`, `${written(only[0])}${scaled}`, "0")
            : key("signed", MINUS, "+", "0"),
          ...(only !== undefined ? [] : stated),
        ]),
    ...(weights === undefined
      ? []
      : [key("weight", "0", `${written(weights.group)}${scaled}`, "")]),
  ];
}
