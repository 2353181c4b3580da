/** The model: its weights in WebAssembly memory, one run at a time, and views of what the run left there. */

import { EngineError } from "./errors";
import { at, type Header, type ModelFile } from "./file";
import { checkInput, type LayerPart, type ModelInput, type Projection, within } from "./input";
import type { Kernels } from "./kernels";
import { COLUMNS, F32, layOut, type Places, ROWS, upTo } from "./places";

const PAGE = 65_536;
/** Bytes of the tables of crc32. */
const CRC_TABLES = 8 * 256 * 4;

const isOff = ({ off }: ModelInput, layer: number, head: number): boolean =>
  off?.some((one) => one[0] === layer && one[1] === head) ?? false;

/** Every array is a view of the engine's memory, valid until the next run, logits or next-sentence call. */
export class Model {
  readonly #kernels: Kernels;
  readonly header: Header;
  readonly #weights: number;
  readonly #scratch: number;
  readonly #heap: number;
  #places: Places | null = null;

  constructor(kernels: Kernels, file: ModelFile) {
    this.#kernels = kernels;
    this.header = file.header;
    const { bytes, hidden, intermediate, positions } = file.header;
    this.#weights = upTo(PAGE, 16);
    this.#scratch = this.#weights + upTo(bytes, 16);
    // One decoded panel, of the widest matrix or of the longest text's values, and one tile.
    const steps = Math.max(hidden, intermediate, upTo(positions, COLUMNS)) + ROWS;
    const panel = steps * COLUMNS * F32;
    this.#heap = this.#scratch + panel;
    // The checksum's tables may need more than the panel has; nothing else is there yet.
    this.#reserve(Math.max(this.#heap, this.#scratch + CRC_TABLES));
    new Uint8Array(kernels.memory.buffer).set(file.payload, this.#weights);
    const sum = kernels.crc32(this.#weights, bytes, this.#scratch) >>> 0;
    if (sum !== file.header.crc32)
      throw new EngineError(
        "checksum",
        "The model's weights are damaged: their checksum differs. Copy or download the file again.",
      );
  }

  /** Run a text. */
  run(input: ModelInput): void {
    const { layers, hidden, eps } = this.header;
    checkInput(input, this.header);
    const places = layOut(this.header, this.#heap, input);
    const { length, rows, hidden: states } = places;
    this.#reserve(places.free);
    this.#places = null;
    // Rows that fill the last tile are computed too: leave nothing of an earlier run in them.
    this.#floats(states, rows * hidden).fill(0);
    for (let i = 0; i < length; i++) this.#embed(input, i, states + i * hidden * F32);
    this.#norm("embedding_norm", states, 0, rows, states, eps);
    this.#fillMask(places);
    for (let layer = 0; layer < layers; layer++) this.#layer(layer, places);
    this.#places = places;
  }

  /** Add the embeddings of token `i`, in PyTorch's order. */
  #embed(input: ModelInput, i: number, to: number): void {
    const { hidden } = this.header;
    const kernels = this.#kernels;
    kernels.gather(this.#at("word"), input.ids[i] ?? 0, hidden, to, this.#bits);
    kernels.addRow(this.#at("token_type") + this.#typeOf(input, i) * hidden * 2, hidden, to);
    kernels.addRow(this.#at("position") + i * hidden * 2, hidden, to);
  }

  /** Segment of a token; 0 in a model that knows none. */
  #typeOf({ typeIds }: ModelInput, i: number): number {
    return this.header.types > 1 ? (typeIds?.[i] ?? 0) : 0;
  }

  #fillMask({ mask, length, input }: Places): void {
    const keep = this.#floats(mask, upTo(length, COLUMNS)).fill(0);
    for (let i = 0; i < length; i++) keep[i] = input.mask?.[i] === 0 ? 0 : 1;
  }

  /** Run one layer from its input to its output; `tell` sees the parts that the run does not keep. */
  #layer(
    layer: number,
    places: Places,
    tell: (name: LayerPart, place: number) => void = () => undefined,
  ): void {
    const { hidden } = this.header;
    const { rows } = places;
    const wide = rows * hidden * F32;
    const x = places.hidden + layer * wide;
    const [q, k, v] = [places.query, places.key, places.value].map(
      (start) => start + layer * wide,
    ) as [number, number, number];
    this.#linear(`${layer}.query`, x, rows, hidden, hidden, q);
    this.#linear(`${layer}.key`, x, rows, hidden, hidden, k);
    this.#linear(`${layer}.value`, x, rows, hidden, hidden, v);
    this.#attend(layer, places);
    this.#finish(layer, places, x + wide, tell);
  }

  /** Weights and context of a layer's heads. */
  #attend(layer: number, { length, rows, context, input, ...places }: Places): void {
    const { heads, hidden } = this.header;
    const kernels = this.#kernels;
    const start = layer * rows * hidden * F32;
    const size = hidden / heads;
    for (let head = 0; head < heads; head++) {
      const column = head * size * F32;
      kernels.head(
        places.query + start + column,
        places.key + start + column,
        places.value + start + column,
        context + column,
        hidden * F32,
        length,
        size,
        1 / Math.sqrt(size),
        places.mask,
        places.scores,
        this.#scratch,
        places.weights + (layer * heads + head) * length * length * F32,
      );
      if (isOff(input, layer, head)) this.#silence(context + column, rows, hidden, size);
    }
  }

  /** The layer's output from the context of its heads. */
  #finish(
    layer: number,
    places: Places,
    out: number,
    tell: (name: LayerPart, place: number) => void = () => undefined,
  ): void {
    const { hidden, intermediate, eps } = this.header;
    const { rows, context, between, inner } = places;
    const x = places.hidden + layer * rows * hidden * F32;
    this.#linear(`${layer}.attention`, context, rows, hidden, hidden, between);
    tell("attention_output", between);
    this.#norm(`${layer}.attention_norm`, between, x, rows, context, eps);
    tell("attention_norm", context);
    this.#linear(`${layer}.intermediate`, context, rows, hidden, intermediate, inner);
    this.#kernels.gelu(inner, rows * intermediate);
    tell("ffn_activation", inner);
    this.#linear(`${layer}.output`, inner, rows, intermediate, hidden, between);
    tell("ffn_output", between);
    this.#norm(`${layer}.output_norm`, between, context, rows, out, eps);
  }

  /** Output `[token][hidden]` of a layer whose input is the run's, while all heads see zeros as one token's values. */
  withoutToken(layer: number, token: number): Float32Array {
    const { heads, hidden, layers } = this.header;
    const places = this.#ran;
    const { length, context } = places;
    within("layer", layer, layers);
    within("token", token, length);
    this.#fillMask(places); // predictions were computed in its place
    this.#attend(layer, places);
    const size = hidden / heads;
    const values = this.projection("value", layer).subarray(token * hidden, (token + 1) * hidden);
    const rows = this.#floats(context, length * hidden);
    for (let head = 0; head < heads; head++) {
      if (isOff(places.input, layer, head)) continue;
      const weights = this.attention(layer, head);
      for (let i = 0; i < length; i++) {
        const weight = weights[i * length + token] as number;
        for (let d = head * size; d < (head + 1) * size; d++)
          rows[i * hidden + d] = (rows[i * hidden + d] as number) - weight * (values[d] as number);
      }
    }
    this.#finish(layer, places, places.spare);
    return this.#floats(places.spare, length * hidden);
  }

  /** `W_O` of a layer as `[input][output]`, then its bias, and gain and shift of the norm behind it. */
  attentionParameters(layer: number): Float32Array<ArrayBuffer> {
    const { hidden, layers } = this.header;
    const { end } = this.#ran;
    within("layer", layer, layers);
    const size = hidden * hidden;
    const [zeros, out] = [end + size * F32, end + (size + hidden) * F32];
    this.#reserve(out + size * F32);
    const identity = this.#floats(end, size + hidden).fill(0);
    for (let i = 0; i < size; i += hidden + 1) identity[i] = 1;
    const name = `${layer}.attention`;
    const matrix = this.#at(`${name}.weight`);
    const panels = hidden / COLUMNS;
    const bits = this.#bits;
    this.#kernels.linear(end, hidden, hidden, matrix, panels, zeros, out, this.#scratch, bits);
    const packed = new Float32Array(size + 3 * hidden);
    packed.set(this.#floats(out, size));
    [`${name}.bias`, `${name}_norm.weight`, `${name}_norm.bias`].forEach((vector, i) => {
      packed.set(this.#floats(this.#at(vector), hidden), size + i * hidden);
    });
    return packed;
  }

  /** Parts of a layer in the order of `LAYER_PARTS`, each `[token][its width]`; computed anew. */
  layerParts(layer: number): Float32Array<ArrayBuffer> {
    const { hidden, intermediate, layers } = this.header;
    within("layer", layer, layers);
    const places = this.#ran;
    const { length } = places;
    const packed = new Float32Array(length * (3 * hidden + intermediate));
    let free = 0;
    this.#fillMask(places); // predictions were computed in its place
    this.#layer(layer, places, (name, place) => {
      const part = this.#floats(
        place,
        length * (name === "ffn_activation" ? intermediate : hidden),
      );
      packed.set(part, free);
      free += part.length;
    });
    return packed;
  }

  /** Embeddings of the run's tokens, of their positions and of their segments, each `[token][hidden]`. */
  embeddings(): Float32Array<ArrayBuffer> {
    const { hidden } = this.header;
    const { length, input, end } = this.#ran;
    const size = length * hidden;
    const packed = new Float32Array(3 * size);
    const sums: ((i: number, to: number) => void)[] = [
      (i, to) => this.#kernels.gather(this.#at("word"), input.ids[i] ?? 0, hidden, to, this.#bits),
      (i, to) => this.#kernels.addRow(this.#at("position") + i * hidden * 2, hidden, to),
      (i, to) => {
        this.#kernels.addRow(
          this.#at("token_type") + this.#typeOf(input, i) * hidden * 2,
          hidden,
          to,
        );
      },
    ];
    sums.forEach((add, part) => {
      const rows = this.#floats(end, size).fill(0);
      for (let i = 0; i < length; i++) add(i, end + i * hidden * F32);
      packed.set(rows, part * size);
    });
    return packed;
  }

  /** The learned position embeddings `[position][hidden]`. */
  positionTable(): Float32Array<ArrayBuffer> {
    const { hidden, positions } = this.header;
    const rows = new Float32Array(positions * hidden);
    const row = this.#floats(this.#scratch, hidden);
    for (let i = 0; i < positions; i++) {
      row.fill(0);
      this.#kernels.addRow(this.#at("position") + i * hidden * 2, hidden, this.#scratch);
      rows.set(row, i * hidden);
    }
    return rows;
  }

  /** Number of tokens of the run. */
  get length(): number {
    return this.#ran.length;
  }

  /** Attention weights `[query][key]` of a head, or `[layer][head][query][key]` of all. */
  attention(layer?: number, head = 0): Float32Array {
    const { weights, length } = this.#ran;
    const { layers, heads } = this.header;
    const square = length * length;
    if (layer === undefined) return this.#floats(weights, layers * heads * square);
    within("layer", layer, layers);
    within("head", head, heads);
    return this.#floats(weights + (layer * heads + head) * square * F32, square);
  }

  /** Queries, keys or values `[token][hidden]` of a layer; a head has hidden / heads columns in a row. */
  projection(which: Projection, layer: number): Float32Array {
    within("layer", layer, this.header.layers);
    return this.#rows(this.#ran[which], layer);
  }

  /** Hidden states `[token][hidden]`: 0 are the embeddings, then one for each layer. */
  hidden(layer: number): Float32Array {
    within("hidden state", layer, this.header.layers + 1);
    return this.#rows(this.#ran.hidden, layer);
  }

  /** Logits `[position][vocabulary]` of the masked-LM head at some positions; a copy. */
  logits(positions: ArrayLike<number>): Float32Array {
    const { hidden, vocabulary, eps } = this.header;
    const { end, length } = this.#ran;
    const out = new Float32Array(positions.length * vocabulary);
    const wide = upTo(vocabulary, COLUMNS);
    const rows = upTo(positions.length, ROWS);
    const x = end;
    const transformed = x + rows * hidden * F32;
    const logits = transformed + rows * hidden * F32;
    this.#reserve(logits + rows * wide * F32);
    const last = this.hidden(this.header.layers);
    const gathered = this.#floats(x, rows * hidden).fill(0);
    for (let i = 0; i < positions.length; i++) {
      const position = positions[i] ?? -1;
      within("position", position, length);
      gathered.set(last.subarray(position * hidden, (position + 1) * hidden), i * hidden);
    }
    this.#linear("transform", x, rows, hidden, hidden, transformed);
    this.#kernels.gelu(transformed, rows * hidden);
    this.#norm("transform_norm", transformed, 0, rows, x, eps);
    const panels = wide / COLUMNS;
    const bias = this.#at("prediction.bias");
    const matrix = this.#at("word");
    this.#kernels.linear(x, rows, hidden, matrix, panels, bias, logits, this.#scratch, this.#bits);
    for (let i = 0; i < positions.length; i++)
      out.set(this.#floats(logits + i * wide * F32, vocabulary), i * vocabulary);
    return out;
  }

  /** The two logits of next-sentence prediction: it follows, it does not. */
  nextSentence(): Float32Array {
    const { hidden } = this.header;
    const { end } = this.#ran;
    const x = end;
    const pooled = x + ROWS * hidden * F32;
    const out = pooled + ROWS * hidden * F32;
    this.#reserve(out + ROWS * COLUMNS * F32);
    const first = this.hidden(this.header.layers).subarray(0, hidden);
    this.#floats(x, ROWS * hidden)
      .fill(0)
      .set(first);
    this.#linear("pooler", x, ROWS, hidden, hidden, pooled);
    const values = this.#floats(pooled, hidden);
    values.forEach((value, i) => {
      values[i] = Math.tanh(value);
    });
    this.#linear("next_sentence", pooled, ROWS, hidden, COLUMNS, out);
    return this.#floats(out, 2).slice();
  }

  get #ran(): Places {
    if (this.#places === null) throw new EngineError("no-run", "No text has been run yet.");
    return this.#places;
  }

  /** Bits of a weight. */
  get #bits(): number {
    return this.header.bits ?? 16;
  }

  #at(name: string): number {
    return this.#weights + at(this.header, name);
  }

  #floats(place: number, count: number): Float32Array {
    return new Float32Array(this.#kernels.memory.buffer, place, count);
  }

  #rows(start: number, layer: number): Float32Array {
    const { rows, length } = this.#ran;
    const { hidden } = this.header;
    return this.#floats(start + layer * rows * hidden * F32, length * hidden);
  }

  /** Zeros in the columns of one head. */
  #silence(from: number, rows: number, hidden: number, size: number): void {
    for (let row = 0; row < rows; row++) this.#floats(from + row * hidden * F32, size).fill(0);
  }

  #linear(name: string, x: number, rows: number, n: number, outputs: number, out: number): void {
    const matrix = this.#at(`${name}.weight`);
    const bias = this.#at(`${name}.bias`);
    const panels = outputs / COLUMNS;
    this.#kernels.linear(x, rows, n, matrix, panels, bias, out, this.#scratch, this.#bits);
  }

  #norm(name: string, x: number, residual: number, rows: number, out: number, eps: number): void {
    const weight = this.#at(`${name}.weight`);
    const bias = this.#at(`${name}.bias`);
    const { hidden } = this.header;
    this.#kernels.norm(x, residual, rows, hidden, weight, bias, eps, out, this.#scratch);
  }

  /** Grow the memory to at least so many bytes; views of it are empty after it grew. */
  #reserve(bytes: number): void {
    const { memory } = this.#kernels;
    const missing = Math.ceil((bytes - memory.buffer.byteLength) / PAGE);
    if (missing <= 0) return;
    try {
      memory.grow(missing);
    } catch {
      const size = Math.ceil(bytes / 1e6);
      throw new EngineError(
        "memory",
        `The model needs ${size} MB of memory, which this browser refuses. Close other tabs, or shorten the text.`,
      );
    }
  }
}
