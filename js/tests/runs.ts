/** Small runs for tests. */

import type { Meta, NdArray, SliceRequest } from "../src/protocol/types";

/** The fields of a request, whatever its kind. */
export const fieldsOf = (request: SliceRequest): Readonly<Record<string, unknown>> =>
  request as unknown as Readonly<Record<string, unknown>>;

/** The meta of a run over `texts`, the first and last of which may be special. */
export function metaOf(texts: readonly string[], change: Partial<Meta> = {}): Meta {
  const special = texts.map((text) => /^\[(CLS|SEP)\]$/.test(text));
  return {
    version: 1,
    model: {
      name: "tiny",
      family: "bert",
      n_layers: 2,
      n_heads: 3,
      head_dim: 4,
      hidden_size: 12,
      vocab_size: 50,
      max_length: 512,
      revision: null,
      has: { mlm: true, nsp: false, classifier: false, scores: true, qkv: true },
    },
    text: texts.filter((_, i) => !special[i]).join(" "),
    text_pair: null,
    truncated: null,
    tokens: {
      text: [...texts],
      surface: texts.map((text) => text.replace(/^##/, "")),
      before: texts.map((text, i) => (special[i] || text.startsWith("##") || i < 2 ? "" : " ")),
      id: texts.map((_, i) => 10 + i),
      start: texts.map(() => 0),
      end: texts.map(() => 0),
      segment: texts.map(() => 0),
      special,
    },
    masked: [],
    profile: null,
    metrics: { keys: ["confidence_max"], tau: 0.01, scale: [] },
    thumb: Math.min(texts.length, 24),
    predictions: null,
    selected: null,
    versions: {},
    ...change,
  };
}

/** An array of the given shape holding 0, 1, 2 ... times `step`. */
export function counting(shape: readonly number[], step = 1): NdArray<Float32Array> {
  const size = shape.reduce((a, b) => a * b, 1);
  return { data: Float32Array.from({ length: size }, (_, i) => i * step), shape };
}

/** A pack without arrays. */
export function packOf(meta: Meta): Uint8Array<ArrayBuffer> {
  const header = new TextEncoder().encode(JSON.stringify({ meta, arrays: [] }));
  const pack = new Uint8Array(8 + header.length);
  pack.set(new TextEncoder().encode("AWP1"));
  new DataView(pack.buffer).setUint32(4, header.length, true);
  pack.set(header, 8);
  return pack;
}
