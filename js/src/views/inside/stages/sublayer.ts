/** A half of a layer: what enters, what it adds, their sum and the norm; the lengths of all. */

import { h } from "../../../draw/dom";
import { length } from "../../../figures/derive/dimensions";
import { exact, formatNumber } from "../../../figures/format";
import { itemAt } from "../../../protocol/required";
import {
  at,
  type Content,
  ofDimensions,
  type Place,
  type Sized,
  type Strip,
  strip,
  type Term,
} from "../content";
import { firstWindow } from "../data";

/** Float32 sums of two numbers agree to this share of the larger one. */
const CLOSES = 1e-4;

function figure(label: string, value: number | null, text?: string): HTMLElement {
  return h(
    "div",
    { class: "aw-figure" },
    h("dt", {}, label),
    h(
      "dd",
      {
        class: "aw-number",
        "data-aw-value": value === null ? null : exact(value),
        title: value === null ? null : exact(value),
      },
      value === null ? "–" : (text ?? formatNumber(value)),
    ),
  );
}

export type Half = "attention" | "ffn";

/** Whether `given + output = sum`, as far as these are known. */
function closes(given: Sized, output: Sized, sum: Sized): boolean {
  const [a, b, c] = [given.values, output.values, sum.values];
  if (a === null || b === null || c === null) return true;
  if (given.size !== output.size) return false;
  return a.every(
    (value, i) =>
      Math.abs(value + itemAt(b, i) - itemAt(c, i)) <= CLOSES * Math.max(1, Math.abs(itemAt(c, i))),
  );
}

function beforeAdding(name: Half, output: Sized, sum: Sized): Sized {
  const { values: added } = output;
  return {
    ...output,
    tensor: `${name}_residual`,
    label: "sum − output",
    values: sum.values?.map((value, i) => value - (added?.[i] ?? 0)) ?? null,
  };
}

/** Input of a sublayer, its output, their sum and the norm, in the order of computation. */
export async function half(
  place: Place,
  name: Half,
): Promise<{ strips: Sized[]; terms: Content["terms"] }> {
  const { arch, layer } = place;
  const ask = (tensor: string, label: string, group: string): Promise<Sized> =>
    strip(place, tensor, label, group, { layer });
  const before =
    name === "attention" ? "layer_input" : arch.preNorm ? "attention_sum" : "attention_norm";
  const sums = "in, output, sum";
  const [given, output, sum, norm] = await Promise.all([
    ask(before, "in", sums),
    ask(`${name}_output`, "output", sums),
    ask(`${name}_sum`, "sum", sums),
    ask(`${name}_norm`, "LayerNorm", "LayerNorm"),
  ]);
  // In a bottleneck the residual starts from another place: it is what the output was added to.
  const entered = closes(given, output, sum) ? given : beforeAdding(name, output, sum);
  const adds = (i: number): Term[] => [
    { sign: "", label: entered.label, value: at(entered, i) },
    { sign: "+", label: "output", value: at(output, i) },
    { sign: "=", label: "sum", value: at(sum, i) },
  ];
  const terms = (i: number): Term[] =>
    arch.preNorm
      ? [...adds(i), { sign: "", label: "LayerNorm of in", value: at(norm, i) }]
      : [...adds(i), { sign: "→", label: "LayerNorm", value: at(norm, i) }];
  const strips = arch.preNorm ? [entered, norm, output, sum] : [entered, output, sum, norm];
  return { strips, terms };
}

/** Lengths in and out, and the residual bar. */
export async function lengths(
  place: Place,
  name: Half,
  strips: readonly Strip[],
): Promise<HTMLElement> {
  const { arch, stage, layer, token, changes } = place;
  const n = stage.source.meta.tokens.text.length;
  const size = (found: Strip | undefined): number | null =>
    found?.values == null || !found.whole ? null : length(found.values);
  const by = (tensor: string): Strip | undefined => strips.find((strip) => strip.tensor === tensor);
  const out = by(arch.preNorm ? `${name}_sum` : `${name}_norm`);
  const [entered] = strips;
  const all = await changes();
  const ratio = itemAt(all[name], layer * n + token);
  const most = Math.max(
    ...[all.attention, all.ffn].flatMap((values) =>
      Array.from({ length: values.length / n }, (_, l) => itemAt(values, l * n + token)),
    ),
  );
  const list = h(
    "dl",
    { class: "aw-figures aw-chain", "data-aw-part": "residual" },
    figure("‖in‖", size(entered)),
    figure("‖output‖", size(by(`${name}_output`))),
    figure("‖out‖", size(out)),
    figure("change ‖out − in‖ / ‖in‖", ratio),
  );
  const bar = h("span", { class: `aw-inside-bar aw-residual-${name}`, "aria-hidden": "true" });
  bar.style.inlineSize = `${(100 * ratio) / most}%`;
  const meter = h(
    "div",
    { class: "aw-inside-meter" },
    h("span", { class: "aw-inside-meter-track", "aria-hidden": "true" }, bar),
    h(
      "span",
      { class: "aw-muted" },
      "of its largest, ",
      h("span", { class: "aw-number", "data-aw-value": exact(most) }, formatNumber(most)),
    ),
  );
  return h("div", { class: "aw-inside-lengths" }, list, meter);
}

/** A half of a layer: `in + output = sum`, and its norm before or after. */
export async function sublayer(place: Place, name: Half): Promise<Content> {
  const { strips, terms } = await half(place, name);
  const below = [await lengths(place, name, strips)];
  return ofDimensions(strips, firstWindow("attention_sum"), terms, { below });
}
