/** The stages of a head: Q K V, scores and weights, and the output that is a sum over keys. */

import { formatNumber } from "../../../figures/format";
import { schemeOf, tokenName } from "../../../figures/names";
import { isAbort } from "../../../protocol/failure";
import { arrayOf, itemAt } from "../../../protocol/required";
import type { NdArray, Source } from "../../../protocol/types";
import { Button } from "../../../ui/controls";
import { Link, Name } from "../bars";
import {
  at,
  type Content,
  ofDimensions,
  type StageContext,
  type Strip,
  strip,
  type Term,
} from "../content";
import { firstWindow } from "../data";
import { topOf } from "../dimensions";

/** Strongest keys named below the strips, and contributions written out. */
const STRONGEST = 3;
const CONTRIBUTIONS = 4;

/** Stages of a single head, while the mean head is chosen. */
function needsHead({ view: { source, state } }: StageContext): Content {
  const heads = Array.from({ length: source.meta.model.n_heads }, (_, head) => head);
  const below = (
    <>
      <p class="aw-view-note">
        The mean head averages weights; it has no queries, keys, values, scores or output of its
        own. Choose a head:
      </p>
      <div class="aw-inside-heads aw-cluster" role="group" aria-label="Choose a head">
        {heads.map((head) => (
          <Button
            key={head}
            class="aw-plain-button aw-inside-chip"
            onClick={() => state.set({ head })}
          >{`H${head}`}</Button>
        ))}
      </div>
    </>
  );
  return ofDimensions([], 1, () => [], { below });
}

export async function qkv(stage: StageContext): Promise<Content> {
  const { layer, head } = stage;
  if (head === null) return needsHead(stage);
  const strips = await Promise.all(
    (["query", "key", "value"] as const).map((name) =>
      strip(stage, name, name, "query, key, value", { layer, head }),
    ),
  );
  return ofDimensions(strips, firstWindow("query"), (i) =>
    strips.map((tensor): Term => ({ sign: "", label: tensor.label, value: at(tensor, i) })),
  );
}

function keyNames({ view }: StageContext): (index: number) => string {
  const { tokens } = view.source.meta;
  const scheme = schemeOf(tokens);
  return (index) => tokenName(tokens, index, scheme);
}

/** A saved page may lack what is asked for; a kernel that fails is an error. */
export const savedOnly =
  ({ live }: Source) =>
  (error: unknown): null => {
    if (live || isAbort(error)) throw error;
    return null;
  };

export async function scores(stage: StageContext): Promise<Content> {
  const { view, layer, head, token, signal, box } = stage;
  const { source, state } = view;
  const fields = { layer, ...(head === null ? {} : { head }) };
  const rows = [token, token + 1] as const;
  const [weights, raw] = await Promise.all([
    source.ask({ kind: "weights", layer, head: head ?? "mean", rows }, { signal }),
    head === null || !source.meta.model.has.scores
      ? null
      : source.ask({ kind: "scores", layer, head, rows }, { signal }).catch(savedOnly(source)),
  ]);
  const weight = arrayOf(weights, "weights").data as Float32Array;
  const allowed = weights.arrays.get("allowed")?.data;
  const score = (raw?.arrays.get("scores")?.data ?? null) as Float32Array | null;
  const noScores =
    head === null
      ? "the mean head averages weights; it has no scores"
      : (box.missing ?? "not in this saved page: it needs a kernel");
  const scoreError = source.precision?.score ?? 0;
  const weightError = (value: number): number =>
    source.precision?.weight(value, 1, head === null) ?? 0;
  const strips: Strip[] = [
    {
      ...{ tensor: "scores", label: "score", group: "score", ramp: "signed", whole: true },
      error: () => scoreError,
      values: score,
      missing: score === null ? noScores : null,
      ...fields,
    },
    {
      ...{ tensor: "weights", label: "weight", group: "weight", ramp: "weight", whole: true },
      error: weightError,
      // A forbidden cell has no weight, not a weight of 0.
      values: weight.map((value, i) => (allowed?.[i] === 0 ? Number.NaN : value)),
      missing: null,
      ...fields,
    },
  ];
  const finite = score === null ? [] : [...score].filter(Number.isFinite);
  const most = Math.max(...finite);
  const sum = finite.reduce((total, value) => total + Math.exp(value - most), 0);
  const relative = Math.expm1(2 * scoreError);
  const name = keyNames(stage);
  const terms = (i: number): Term[] => {
    const value = itemAt(weight, i);
    const last = { label: "weight", value, error: weightError(value) };
    const own = at(strips[0], i);
    if (own === null) return [{ sign: "", ...last }];
    if (!Number.isFinite(own))
      return [{ sign: "", label: "masked: this query cannot see this key", value: null }];
    const power = Math.exp(own - most);
    return [
      { sign: "", label: "score", value: own, error: scoreError },
      { sign: "→", label: "exp(score − max)", value: power, error: power * relative },
      { sign: "÷", label: "sum of the row", value: sum, error: sum * relative },
      { sign: "=", ...last },
    ];
  };
  const quantity = box.id === "scores" && head !== null ? "scores" : "weights";
  const below = (
    <div class="aw-inside-row aw-cluster">
      <p class="aw-view-note">
        {"Strongest keys: "}
        {topOf(weight, STRONGEST).map((i, k) => [
          k === 0 ? "" : ", ",
          <Name text={name(i)} />,
          ` ${formatNumber({ value: itemAt(weight, i), error: weightError(itemAt(weight, i)) })}`,
        ])}
      </p>
      <Link act={() => state.set({ view: "attention", token, quantity })}>
        See the whole matrix in Attention
      </Link>
    </div>
  );
  const size = weight.length;
  return {
    ...{ strips, unit: "key", size, have: size, first: firstWindow("weights") },
    ...{ name, terms, below },
  };
}

/** Error bound of each component of `weight @ values`; the values are exact. */
function productErrors(
  weight: Float32Array,
  { data, shape }: NdArray,
  weightError: (value: number) => number,
): number[] {
  const width = itemAt(shape, 1);
  const each = Array.from(weight, weightError);
  return Array.from({ length: width }, (_, i) =>
    each.reduce((sum, error, j) => sum + error * Math.abs(itemAt(data, j * width + i)), 0),
  );
}

export async function headOutput(stage: StageContext): Promise<Content> {
  const { view, layer, head, token, signal } = stage;
  const { source } = view;
  if (head === null) return needsHead(stage);
  const weightError = (value: number): number => source.precision?.weight(value) ?? 0;
  const fields = { layer, head };
  const [own, output, attention, all] = await Promise.all([
    strip(stage, "value", "value", "value, output", fields),
    strip(stage, "head_output", "head output", "value, output", fields),
    source.ask({ kind: "weights", layer, head, rows: [token, token + 1] }, { signal }),
    source.ask({ kind: "tensor", name: "value", ...fields }, { signal }).catch(() => null),
  ]);
  const weight = arrayOf(attention, "weights").data as Float32Array;
  const values = all?.arrays.get("tensor");
  const name = keyNames(stage);
  const errors =
    values === undefined || source.precision === undefined
      ? []
      : productErrors(weight, values, weightError);

  /** The sum over keys that a dimension of the output is. */
  const atCursor = (i: number) => {
    if (values === undefined) return null;
    const width = itemAt(values.shape, 1);
    const valueAt = (j: number): number => itemAt(values.data, j * width + i);
    const parts = weight.map((w, j) => w * valueAt(j));
    const strongest = topOf(parts.map(Math.abs), CONTRIBUTIONS);
    let [sum, error] = [0, 0];
    parts.forEach((part, j) => {
      if (strongest.includes(j)) return;
      sum += part;
      error += weightError(itemAt(weight, j)) * Math.abs(valueAt(j));
    });
    const others = weight.length - strongest.length;
    return (
      <p class="aw-inside-sum aw-muted aw-small" data-aw-part="contributions">
        {`Dimension ${i} = Σ weight × value: `}
        {strongest.map((j, k) => [
          k === 0 ? "" : " + ",
          <Name text={name(j)} />,
          ` ${formatNumber({ value: itemAt(weight, j), error: weightError(itemAt(weight, j)) })} × ${formatNumber(valueAt(j))}`,
        ])}
        {others > 0 && ` + ${others} others ${formatNumber({ value: sum, error })}`}
        {` = ${formatNumber({ value: at(output, i) ?? Number.NaN, error: errors[i] ?? 0 })}`}
      </p>
    );
  };
  return ofDimensions(
    [
      { ...own, label: "its own value" },
      { ...output, error: (_value, i) => errors[i] ?? 0 },
    ],
    firstWindow("value"),
    (i) => [
      { sign: "", label: "its own value", value: at(own, i) },
      { sign: "", label: "head output", value: at(output, i), error: errors[i] ?? 0 },
    ],
    { atCursor },
  );
}
