/** The stages that are strips: embeddings, Q K V, scores and weights, attention's output, the FFN. */

import { h } from "../../draw/dom";
import { countActive, length, topOf } from "../../figures/derive/dimensions";
import { exact, formatCount, formatNumber, tokenLabel } from "../../figures/format";
import { schemeOf } from "../../figures/names";
import { isAbort } from "../../protocol/failure";
import { arrayOf, itemAt } from "../../protocol/required";
import type { Source } from "../../protocol/types";
import {
  at,
  type Content,
  ofDimensions,
  type Place,
  type Strip,
  strip,
  type Term,
} from "./content";
import { firstWindow } from "./data";
import { positionTables } from "./positions";

const TOP_UNITS = 8;
const STRONGEST = 3;
/** Float32 sums of two numbers agree to this share of the larger one. */
const CLOSES = 1e-4;

export type Sized = Strip & { readonly size: number };

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

export async function embeddings(place: Place): Promise<Content> {
  const { arch, box } = place;
  const names = ["token", "position", "segment", "sum", "norm"] as const;
  const labels = {
    token: "token",
    position: "position",
    segment: "segment",
    sum: "sum",
    norm: "LayerNorm",
  };
  const strips: Sized[] = await Promise.all(
    names.map((name) =>
      strip(place, name, labels[name], name === "norm" ? "LayerNorm" : "embeddings, sum"),
    ),
  );
  if (arch.embedding !== arch.hidden)
    strips.push(await strip(place, "output", "projection", "projection"));
  const [, , , sum, norm] = strips;
  const terms = (i: number): Term[] => {
    const parts = strips.slice(0, 3).filter(({ missing }) => missing === null);
    return [
      ...parts.map(
        (part, k): Term => ({ sign: k === 0 ? "" : "+", label: part.label, value: at(part, i) }),
      ),
      { sign: "=", label: "sum", value: at(sum, i) },
      { sign: "→", label: "LayerNorm", value: at(norm, i) },
      ...(strips[5] === undefined
        ? []
        : [{ sign: "→", label: "projection", value: at(strips[5], i) } as const]),
    ];
  };
  const below = box.id === "position" ? [positionTables(place)] : [];
  return ofDimensions(strips, firstWindow("token"), terms, { below });
}

/** What only a single head has, while the mean head is chosen. */
export function needsHead({ stage }: Place): Content {
  const { n_heads } = stage.source.meta.model;
  const choose = h(
    "div",
    { class: "aw-inside-heads", role: "group", "aria-label": "Choose a head" },
    ...Array.from({ length: n_heads }, (_, head) => {
      const button = h("button", { type: "button", class: "aw-inside-chip" }, `H${head}`);
      button.addEventListener("click", () => stage.state.set({ head }));
      return button;
    }),
  );
  const text = h(
    "p",
    { class: "aw-view-note" },
    "The mean head averages weights; it has no queries, keys, values, scores or output of its own. Choose a head:",
  );
  return ofDimensions([], 1, () => [], { below: [text, choose] });
}

export async function qkv(place: Place): Promise<Content> {
  const { layer, head } = place;
  if (head === null) return needsHead(place);
  const strips = await Promise.all(
    (["query", "key", "value"] as const).map((name) =>
      strip(place, name, name, "query, key, value", { layer, head }),
    ),
  );
  return ofDimensions(strips, firstWindow("query"), (i) =>
    strips.map((one): Term => ({ sign: "", label: one.label, value: at(one, i) })),
  );
}

export function keyNames({ stage }: Place): (index: number) => string {
  const { tokens } = stage.source.meta;
  const scheme = schemeOf(tokens);
  const labels = tokens.text.map((text, i) => tokenLabel(text, scheme, tokens.surface[i]).text);
  return (index) => labels[index] ?? "";
}

/** A saved page may lack what is asked for; a kernel that fails is an error. */
export const savedOnly =
  ({ live }: Source) =>
  (error: unknown): null => {
    if (live || isAbort(error)) throw error;
    return null;
  };

export async function scores(place: Place): Promise<Content> {
  const { stage, layer, head, token, signal, box } = place;
  const { source } = stage;
  const { has } = source.meta.model;
  const asked = { layer, ...(head === null ? {} : { head }) };
  const rows = [token, token + 1];
  const [weights, raw] = await Promise.all([
    source.slice({ kind: "weights", layer, head: head ?? "mean", rows }, { signal }),
    head === null || !has.scores
      ? null
      : source.slice({ kind: "scores", layer, head, rows }, { signal }).catch(savedOnly(source)),
  ]);
  const weight = arrayOf(weights, "weights").data as Float32Array;
  const allowed = weights.arrays.get("allowed")?.data;
  const score = (raw?.arrays.get("scores")?.data ?? null) as Float32Array | null;
  const noScores =
    head === null
      ? "the mean head averages weights; it has no scores"
      : (box.missing ?? "not in this saved page: it needs a kernel");
  // What the mask forbids is no weight of 0.
  const possible = Float32Array.from(weight, (value, i) =>
    allowed?.[i] === 0 ? Number.NaN : value,
  );
  const { precision } = source;
  const scoreError = precision?.score ?? 0;
  const weightError = (value: number): number => precision?.weight(value, 1, head === null) ?? 0;
  const strips: Strip[] = [
    {
      tensor: "scores",
      label: "score",
      error: () => scoreError,
      group: "score",
      ramp: "signed",
      values: score,
      missing: score === null ? noScores : null,
      whole: true,
      ...asked,
    },
    {
      tensor: "weights",
      label: "weight",
      error: weightError,
      group: "weight",
      ramp: "weight",
      values: possible,
      missing: null,
      whole: true,
      ...asked,
    },
  ];
  const finite = score === null ? [] : [...score].filter(Number.isFinite);
  const most = Math.max(...finite);
  const sum = finite.reduce((total, value) => total + Math.exp(value - most), 0);
  const relative = Math.expm1(2 * scoreError);
  const name = keyNames(place);
  const terms = (i: number): Term[] => {
    const own = at(strips[0], i);
    const masked = own !== null && !Number.isFinite(own);
    if (masked) return [{ sign: "", label: "masked: this query cannot see this key", value: null }];
    return [
      ...(own === null
        ? []
        : ([
            { sign: "", label: "score", value: own, error: scoreError },
            {
              sign: "→",
              label: "exp(score − max)",
              value: Math.exp(own - most),
              error: Math.exp(own - most) * relative,
            },
            { sign: "÷", label: "sum of the row", value: sum, error: sum * relative },
          ] as const)),
      {
        sign: own === null ? "" : "=",
        label: "weight",
        value: itemAt(weight, i),
        error: weightError(itemAt(weight, i)),
      },
    ];
  };
  const link = h(
    "button",
    { type: "button", class: "aw-inside-link" },
    "See the whole matrix in Attention",
  );
  link.addEventListener("click", () =>
    stage.state.set({
      view: "attention",
      token,
      quantity: box.id === "scores" && head !== null ? "scores" : "weights",
    }),
  );
  const reads = h("p", { class: "aw-view-note" }, "Strongest keys: ");
  topOf(weight, STRONGEST).forEach((i, k) => {
    reads.append(
      k === 0 ? "" : ", ",
      h("bdi", { dir: "ltr" }, name(i)),
      ` ${formatNumber(itemAt(weight, i), undefined, weightError(itemAt(weight, i)))}`,
    );
  });
  return {
    strips,
    unit: "key",
    size: weight.length,
    have: weight.length,
    first: firstWindow("weights"),
    name,
    terms,
    below: [h("div", { class: "aw-inside-row" }, reads, link)],
  };
}

type Half = "attention" | "ffn";

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

/** What enters a half, what it adds, their sum and the norm, in the order in which the token passes them. */
async function half(
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
async function lengths(place: Place, name: Half, strips: readonly Strip[]): Promise<HTMLElement> {
  const { arch, stage, layer, token, changes } = place;
  const n = stage.source.meta.tokens.text.length;
  const size = (found: Strip | undefined): number | null =>
    found?.values == null || !found.whole ? null : length(found.values);
  const by = (tensor: string): Strip | undefined => strips.find((one) => one.tensor === tensor);
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
      { type: "button", class: "aw-inside-unit", "data-unit": unit },
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
    h("h4", { class: "aw-title" }, "What the FFN did to ", h("bdi", { dir: "ltr" }, name)),
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
