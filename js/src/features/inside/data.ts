/** Requests of the inside view. */

import { arrayOf, itemAt } from "../../protocol/required";
import { largestAbsolute } from "../../protocol/ties";
import type { NdArray, Slice, SliceRequest, Source } from "../../protocol/types";
import type { Architecture } from "./architecture";

export interface Asked {
  readonly layer?: number;
  readonly head?: number;
}

/** The row of one token in a tensor. */
export interface Row {
  /** As many dimensions as there are, or, in a saved page, the first ones. */
  readonly values: Float32Array;
  /** Dimensions of the whole. */
  readonly size: number;
}

/** Columns of each tensor that a saved page holds at least. */
const SAVED: Readonly<Record<string, number>> = {
  ffn_activation: 96,
  query: 48,
  key: 48,
  value: 48,
};
const SAVED_ELSE = 64;
export const firstWindow = (name: string): number => SAVED[name] ?? SAVED_ELSE;

const floats = (array: NdArray | undefined): Float32Array =>
  (array?.data as Float32Array | undefined) ?? new Float32Array();

const shapeOf = (slice: Slice): readonly number[] => slice.data.shape as number[];

/** Request to a saved page for a token's row of a tensor: the first columns of all rows, or this row alone. */
export function savedRequest(source: Source, request: SliceRequest, token: number): SliceRequest {
  if (request.kind !== "tensor") return request;
  const whole = { ...request, cols: [0, firstWindow(request.name)] as const };
  if (source.has?.(whole) !== false) return whole;
  return { ...request, rows: [token, token + 1] };
}

/** Row `token` of tensor `name`; of a saved page the first dimensions, as it has them. */
export async function tensorRow(
  source: Source,
  name: string,
  asked: Asked,
  token: number,
  signal: AbortSignal,
): Promise<Row> {
  const request: SliceRequest<"tensor"> = { kind: "tensor", name, ...asked };
  if (source.live) {
    const slice = await source.ask({ ...request, rows: [token, token + 1] }, { signal });
    return { values: floats(slice.arrays.get("tensor")), size: itemAt(shapeOf(slice), 1) };
  }
  const slice = await source.ask(savedRequest(source, request, token), { signal });
  const [rows, columns] = arrayOf(slice, "tensor").shape as [number, number];
  const all = floats(slice.arrays.get("tensor"));
  const row = rows === 1 ? 0 : token;
  return {
    values: all.slice(row * columns, (row + 1) * columns),
    size: itemAt(shapeOf(slice), 1),
  };
}

/** The largest value of a token's hidden states: one scale for a walk. */
export async function hiddenScale(
  source: Source,
  token: number,
  signal: AbortSignal,
): Promise<number> {
  const rows = await Promise.all(
    Array.from({ length: source.meta.model.n_layers + 1 }, (_, layer) =>
      tensorRow(source, "hidden", { layer }, token, signal),
    ),
  );
  return Math.max(...rows.map(({ values }) => largestAbsolute(values)));
}

/** The first `rows` positions of a table, dimensions `[start, stop)`. */
export async function tableWindow(
  source: Source,
  name: string,
  rows: number,
  cols: readonly [number, number],
  signal: AbortSignal,
): Promise<NdArray<Float32Array>> {
  const slice = await source.ask({ kind: "tensor", name, rows: [0, rows], cols }, { signal });
  const { shape } = arrayOf(slice, "tensor");
  return { data: floats(slice.arrays.get("tensor")), shape };
}

/** Width of a tensor; a saved page has it for tensors without numbers, too. */
async function width(
  source: Source,
  name: string,
  asked: Asked,
  signal: AbortSignal,
): Promise<number> {
  if (!source.live) {
    const { data } = await source.ask({ kind: "architecture" }, { signal });
    const saved = (data.widths as Readonly<Record<string, number>> | undefined)?.[name];
    if (saved !== undefined) return saved;
  }
  return (await tensorRow(source, name, asked, 0, signal)).size;
}

export async function architecture(
  source: Source,
  layer: number,
  signal: AbortSignal,
): Promise<Architecture> {
  const { data } = await source.ask({ kind: "architecture" }, { signal });
  const missing = data.tensors as Record<string, string | null>;
  const sizes = data.sizes as Record<"hidden" | "head_dim" | "vocabulary", number>;
  const [embedding, inner, intermediate] = await Promise.all([
    width(source, "sum", {}, signal), // many decoders have no norm here
    width(source, "attention_output", { layer }, signal),
    missing.ffn_activation == null ? width(source, "ffn_activation", { layer }, signal) : 0, // experts
  ]);
  return {
    parameters: data.parameters as Record<string, number>,
    hidden: sizes.hidden,
    headDim: sizes.head_dim,
    vocabulary: sizes.vocabulary,
    activation: String(data.activation),
    preNorm: data.pre_norm === true,
    norm: data.norm === "RMSNorm" ? "RMSNorm" : "LayerNorm",
    notes: data.notes as string[],
    ...(data.scores === undefined ? {} : { scores: String(data.scores) }),
    sinusoidal: data.sinusoidal === true,
    missing,
    embedding,
    inner,
    intermediate,
  };
}

interface Path {
  /** `[L + 1, n]` */
  readonly norms: Float32Array;
  /** `[L, n]` */
  readonly cosines: Float32Array;
  /** `[L + 1, n, 2]` */
  readonly points: Float32Array;
  readonly explained: Float32Array;
}

/** Change of the tokens from layer to layer. */
export interface Changes {
  /** `[L, n]` each: `‖out − in‖ / ‖in‖`. */
  readonly attention: Float32Array;
  readonly ffn: Float32Array;
  /** `[L - 1]`: Jensen-Shannon distance of a layer's mean head to the next one's. */
  readonly layers: Float32Array;
  readonly path: Path;
}

export async function changes(source: Source, signal: AbortSignal): Promise<Changes> {
  const ask = (kind: "residuals" | "layer_change" | "hidden_path"): Promise<Slice> =>
    source.ask({ kind }, { signal });
  const [residuals, change, path] = await Promise.all([
    ask("residuals"),
    ask("layer_change"),
    ask("hidden_path"),
  ]);
  const from = (slice: Slice, name: string): Float32Array => floats(slice.arrays.get(name));
  return {
    attention: from(residuals, "attention"),
    ffn: from(residuals, "ffn"),
    layers: from(change, "change"),
    path: {
      norms: from(path, "norms"),
      cosines: from(path, "cosines"),
      points: from(path, "points"),
      explained: from(path, "explained"),
    },
  };
}
