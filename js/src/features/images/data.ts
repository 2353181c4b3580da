/** Answers about a picture: its pixels, rows of all heads, patterns in two dimensions. */

import { arrayOf, itemAt } from "../../protocol/required";
import type { NdArray, Slice, SliceRequest, Source } from "../../protocol/types";

declare module "../../protocol/types" {
  interface SliceRequests {
    readonly image: object;
    /** Weights that a token, or some on average, give all tokens in every head. */
    readonly patch_rows: { readonly token: number } | { readonly tokens: readonly number[] };
    readonly patch_patterns: object;
  }
}

export interface Picture {
  readonly pixels: CanvasImageSource;
  /** Px of the picture. */
  readonly width: number;
  readonly height: number;
  /** `[n, 4]`: x, y, width, height of each token; NaN of special ones. */
  readonly rects: ArrayLike<number>;
}

/** Formats that a kernel sends. Anything else is not decoded: an SVG could hold more than pixels. */
const TYPES: ReadonlySet<unknown> = new Set(["image/png", "image/jpeg", "image/webp"]);

export const askPicture = async (source: Source, signal: AbortSignal): Promise<Picture> =>
  pictureOf(await source.ask({ kind: "image" }, { signal }));

/** The pixels of a picture; rejects what is none. */
export async function decoded(type: unknown, bytes: Uint8Array): Promise<ImageBitmap> {
  if (!TYPES.has(type)) throw new TypeError("The picture is no PNG, JPEG or WebP.");
  return createImageBitmap(new Blob([bytes as Uint8Array<ArrayBuffer>], { type: String(type) }));
}

/** The picture in an answer. */
export async function pictureOf(slice: Slice): Promise<Picture> {
  const { type, width, height } = slice.data;
  const pixels = await decoded(type, arrayOf(slice, "bytes").data as Uint8Array);
  const rects = arrayOf(slice, "rects").data;
  return { pixels, width: Number(width), height: Number(height), rects };
}

/** Rows `[L, H, n]` of what some tokens attend to; NaN of heads that a page has not saved. */
export interface HeadRows {
  readonly tokens: readonly number[];
  /** False of rows out of the matrices of a saved page, which have steps. */
  readonly exact: boolean;
  readonly rows: NdArray;
}

const requestFor = (tokens: readonly number[]): SliceRequest =>
  tokens.length === 1
    ? { kind: "patch_rows", token: itemAt(tokens, 0) }
    : { kind: "patch_rows", tokens };

export async function askRows(
  source: Source,
  tokens: readonly number[],
  signal: AbortSignal,
): Promise<HeadRows> {
  const request = requestFor(tokens);
  const saved = !source.live && source.has?.(request) !== true;
  const rows = saved
    ? await rowsOfPage(source, tokens, signal)
    : arrayOf(await source.ask(request, { signal }), "rows");
  return { tokens, exact: !saved, rows };
}

/** Runs `[from, to)` of consecutive tokens: a request each. */
export function runsOf(tokens: readonly number[]): (readonly [number, number])[] {
  const runs: [number, number][] = [];
  for (const token of tokens) {
    const last = runs.at(-1);
    if (last?.[1] === token) last[1] = token + 1;
    else runs.push([token, token + 1]);
  }
  return runs;
}

/** The same out of the matrices of a saved page. */
async function rowsOfPage(
  source: Source,
  tokens: readonly number[],
  signal: AbortSignal,
): Promise<NdArray> {
  const { model, tokens: all } = source.meta;
  const n = all.text.length;
  const [layers, heads] = [model.n_layers, model.n_heads];
  const data = new Float32Array(layers * heads * n).fill(Number.NaN);
  const runs = runsOf(tokens);
  const readHead = async (layer: number, head: number): Promise<void> => {
    if (source.has?.({ kind: "weights", layer, head }) === false) return;
    const pieces = await Promise.all(
      runs.map((rows) => source.ask({ kind: "weights", layer, head, rows }, { signal })),
    );
    const at = (layer * heads + head) * n;
    data.fill(0, at, at + n);
    for (const piece of pieces) addRows(data, at, n, arrayOf(piece, "weights").data, tokens.length);
  };
  for (let layer = 0; layer < layers; layer++) {
    // One layer after the other: a page reads a layer's heads out of one chunk.
    await Promise.all(Array.from({ length: heads }, (_, head) => readHead(layer, head)));
    signal.throwIfAborted();
  }
  return { data, shape: [layers, heads, n] };
}

function addRows(
  into: Float32Array,
  at: number,
  n: number,
  rows: ArrayLike<number>,
  parts: number,
): void {
  for (let i = 0; i < rows.length; i++) {
    const cell = at + (i % n);
    into[cell] = (into[cell] as number) + (rows[i] as number) / parts;
  }
}

/** The row of one head. */
export function rowOfHead({ rows }: HeadRows, layer: number, head: number): ArrayLike<number> {
  const [, heads = 0, n = 0] = rows.shape;
  const at = (layer * heads + head) * n;
  return rows.data.subarray(at, at + n);
}

/** Patterns in two dimensions, and what divides the picture. */
export interface Patterns {
  readonly names: readonly string[];
  /** `[L, H, patterns]`. */
  readonly shares: NdArray;
  /** `[patterns]`: what uniform attention gives. */
  readonly chance: ArrayLike<number>;
  /** `[L, H, n]`: 1 in the group with more. */
  readonly groups: NdArray;
  readonly data: Slice["data"];
}

export async function askPatterns(source: Source, signal: AbortSignal): Promise<Patterns> {
  const slice = await source.ask({ kind: "patch_patterns" }, { signal });
  const { names } = slice.data;
  return {
    names: Array.isArray(names) ? names.map(String) : [],
    shares: arrayOf(slice, "patterns"),
    chance: arrayOf(slice, "chance").data,
    groups: arrayOf(slice, "groups"),
    data: slice.data,
  };
}
