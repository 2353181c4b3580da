/** The stages of a head as strips: Q K V, scores and weights. */

import { h } from "../../../draw/dom";
import { topOf } from "../../../figures/derive/dimensions";
import { formatNumber, tokenLabel } from "../../../figures/format";
import { schemeOf } from "../../../figures/names";
import { isAbort } from "../../../protocol/failure";
import { arrayOf, itemAt } from "../../../protocol/required";
import type { Source } from "../../../protocol/types";
import {
  at,
  type Content,
  ofDimensions,
  type Place,
  type Strip,
  strip,
  type Term,
} from "../content";
import { firstWindow } from "../data";

const STRONGEST = 3;

/** Stages of a single head, while the mean head is chosen. */
export function needsHead({ stage }: Place): Content {
  const { n_heads } = stage.source.meta.model;
  const choose = h(
    "div",
    { class: "aw-inside-heads", role: "group", "aria-label": "Choose a head" },
    ...Array.from({ length: n_heads }, (_, head) => {
      const button = h("button", { class: "aw-inside-chip" }, `H${head}`);
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
  const fields = { layer, ...(head === null ? {} : { head }) };
  const rows = [token, token + 1] as const;
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
  // A forbidden cell has no weight, not a weight of 0.
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
      ...fields,
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
      ...fields,
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
  const link = h("button", { class: "aw-inside-link" }, "See the whole matrix in Attention");
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
