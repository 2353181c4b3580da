/** The model: its weights in WebAssembly memory, one run at a time, and views of what the run left there. */

import { EngineError } from "./errors";
import { at, type Header, type ModelFile } from "./file";
import { checkInput, type LayerPart, type ModelInput, type Projection, within } from "./input";
import type { Kernels } from "./kernels";
import { inverses, type LayerConstants, linearNorm, pooled, ratiosOf, scale } from "./linearized";
import { COLUMNS, F32, layOut, type MemoryLayout, ROWS, upTo } from "./memory-layout";

const PAGE = 65_536;
/** Bytes of the tables of crc32. */
const CRC_TABLES = 8 * 256 * 4;

/** Told where a layer's parts lie while they are there; `ffn_input` is what the activation reads. */
type RecordPart = (name: LayerPart | "ffn_input", place: number) => void;

const isOff = ({ off }: ModelInput, layer: number, head: number): boolean =>
  off?.some((address) => address[0] === layer && address[1] === head) ?? false;

/** Every array is a view of the engine's memory, valid until the next run, logits or next-sentence call. */
export class Model {
  readonly #kernels: Kernels;
  readonly header: Header;
  readonly #weights: number;
  readonly #scratch: number;
  readonly #heap: number;
  layout: MemoryLayout | null = null;
  /** Fixed factors of each layer of the last run; found when they are first asked for. */
  #constants: readonly LayerConstants[] | null = null;

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
    const layout = layOut(this.header, this.#heap, input);
    const { length, rows, hidden: states } = layout;
    this.#reserve(layout.free);
    this.layout = null;
    this.#constants = null;
    // Rows that fill the last tile are computed too: leave nothing of an earlier run in them.
    this.#floats(states, rows * hidden).fill(0);
    for (let i = 0; i < length; i++) this.#embed(input, i, states + i * hidden * F32);
    this.#norm("embedding_norm", states, 0, rows, states, eps);
    this.#fillMask(layout);
    for (let layer = 0; layer < layers; layer++) this.#layer(layer, layout);
    this.layout = layout;
  }

  /** Add the embeddings of token `i`, in PyTorch's order. */
  #embed(input: ModelInput, i: number, to: number): void {
    const { hidden } = this.header;
    const kernels = this.#kernels;
    kernels.gather(this.#at("word"), input.ids[i] ?? 0, hidden, to);
    kernels.addRow(this.#at("token_type") + this.#typeOf(input, i) * hidden * 2, hidden, to);
    kernels.addRow(this.#at("position") + i * hidden * 2, hidden, to);
  }

  /** Segment of a token; 0 in a model that knows none. */
  #typeOf({ typeIds }: ModelInput, i: number): number {
    return this.header.types > 1 ? (typeIds?.[i] ?? 0) : 0;
  }

  #fillMask({ mask, length, input }: MemoryLayout): void {
    const keep = this.#floats(mask, upTo(length, COLUMNS)).fill(0);
    for (let i = 0; i < length; i++) keep[i] = input.mask?.[i] === 0 ? 0 : 1;
  }

  /** Run one layer from its input to its output; `tell` sees the parts that the run does not keep. */
  #layer(layer: number, layout: MemoryLayout, record: RecordPart = () => undefined): void {
    const { hidden } = this.header;
    const { rows } = layout;
    const wide = rows * hidden * F32;
    const x = layout.hidden + layer * wide;
    const [q, k, v] = [layout.query, layout.key, layout.value].map(
      (start) => start + layer * wide,
    ) as [number, number, number];
    this.#linear(`${layer}.query`, x, rows, hidden, hidden, q);
    this.#linear(`${layer}.key`, x, rows, hidden, hidden, k);
    this.#linear(`${layer}.value`, x, rows, hidden, hidden, v);
    this.#attend(layer, layout);
    this.#finish(layer, layout, x + wide, record);
  }

  /** Weights and context of a layer's heads. */
  #attend(layer: number, { length, rows, context, input, ...layout }: MemoryLayout): void {
    const { heads, hidden } = this.header;
    const kernels = this.#kernels;
    const start = layer * rows * hidden * F32;
    const size = hidden / heads;
    for (let head = 0; head < heads; head++) {
      const column = head * size * F32;
      kernels.head(
        layout.query + start + column,
        layout.key + start + column,
        layout.value + start + column,
        context + column,
        hidden * F32,
        length,
        size,
        1 / Math.sqrt(size),
        layout.mask,
        layout.scores,
        this.#scratch,
        layout.weights + (layer * heads + head) * length * length * F32,
      );
      if (isOff(input, layer, head)) this.#silence(context + column, rows, hidden, size);
    }
  }

  /** The layer's output from the context of its heads. */
  #finish(
    layer: number,
    layout: MemoryLayout,
    out: number,
    record: RecordPart = () => undefined,
  ): void {
    const { hidden, intermediate, eps } = this.header;
    const { rows, context, between, inner } = layout;
    const x = layout.hidden + layer * rows * hidden * F32;
    this.#linear(`${layer}.attention`, context, rows, hidden, hidden, between);
    record("attention_output", between);
    this.#norm(`${layer}.attention_norm`, between, x, rows, context, eps);
    record("attention_norm", context);
    this.#linear(`${layer}.intermediate`, context, rows, hidden, intermediate, inner);
    record("ffn_input", inner);
    this.#kernels.gelu(inner, rows * intermediate);
    record("ffn_activation", inner);
    this.#linear(`${layer}.output`, inner, rows, intermediate, hidden, between);
    record("ffn_output", between);
    this.#norm(`${layer}.output_norm`, between, context, rows, out, eps);
  }

  /** Output `[token][hidden]` of a layer whose input is the run's, while all heads see zeros as one token's values. */
  withoutToken(layer: number, token: number): Float32Array {
    const { heads, hidden, layers } = this.header;
    const layout = this.#ran;
    const { length, context } = layout;
    within("layer", layer, layers);
    within("token", token, length);
    this.#fillMask(layout); // predictions were computed in its place
    this.#attend(layer, layout);
    const size = hidden / heads;
    const values = this.projection("value", layer).subarray(token * hidden, (token + 1) * hidden);
    const rows = this.#floats(context, length * hidden);
    for (let head = 0; head < heads; head++) {
      if (isOff(layout.input, layer, head)) continue;
      const weights = this.attention(layer, head);
      for (let i = 0; i < length; i++) {
        const weight = weights[i * length + token] as number;
        for (let d = head * size; d < (head + 1) * size; d++)
          rows[i * hidden + d] = (rows[i * hidden + d] as number) - weight * (values[d] as number);
      }
    }
    this.#finish(layer, layout, layout.spare);
    return this.#floats(layout.spare, length * hidden);
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
    this.#kernels.linear(end, hidden, hidden, matrix, panels, zeros, out, this.#scratch);
    const packed = new Float32Array(size + 3 * hidden);
    packed.set(this.#floats(out, size));
    [`${name}.bias`, `${name}_norm.weight`, `${name}_norm.bias`].forEach((vector, i) => {
      packed.set(this.#floats(this.#at(vector), hidden), size + i * hidden);
    });
    return packed;
  }

  /** Parts of a layer in the order of `LAYER_PARTS`, each `[token][its width]`; computed again. */
  layerParts(layer: number): Float32Array<ArrayBuffer> {
    const { hidden, intermediate, layers } = this.header;
    within("layer", layer, layers);
    const layout = this.#ran;
    const { length } = layout;
    const packed = new Float32Array(length * (3 * hidden + intermediate));
    let free = 0;
    this.#fillMask(layout); // predictions were computed in its place
    this.#layer(layer, layout, (name, place) => {
      if (name === "ffn_input") return;
      const part = this.#floats(
        place,
        length * (name === "ffn_activation" ? intermediate : hidden),
      );
      packed.set(part, free);
      free += part.length;
    });
    return packed;
  }

  /**
   * Weighted sums of the last hidden states, `[source][hidden]`, each of the part that comes from one input token:
   * those from `from` up to `to`. The network is linearized at the run.
   */
  carried(from: number, to: number, weights: ArrayLike<number>): Float32Array<ArrayBuffer> {
    const { length } = this.#ran;
    within("token", from, length);
    within("token", to - 1, length);
    const { hidden } = this.header;
    const shift = this.#floats(this.#at("embedding_norm.bias"), hidden);
    // Copies: the memory may grow.
    const own = this.hidden(0)
      .slice(from * hidden, to * hidden)
      .map((value, i) => value - (shift[i % hidden] as number));
    this.#checkWeights(weights);
    const states = this.#carry(to - from, null, (source, row) =>
      row === from + source ? own.subarray(source * hidden, (source + 1) * hidden) : null,
    );
    return pooled(this.#states(states, to - from), weights, this.#ran.rows, hidden);
  }

  /** The same of all biases and shifts together, `[hidden]`. */
  carriedBiases(weights: ArrayLike<number>): Float32Array<ArrayBuffer> {
    const shift = this.#floats(this.#at("embedding_norm.bias"), this.header.hidden).slice();
    this.#checkWeights(weights);
    const states = this.#carry(1, "all", () => shift);
    return pooled(this.#states(states, 1), weights, this.#ran.rows, this.header.hidden);
  }

  /**
   * Queries and keys of a layer `[2][source][token][hidden]`, each of the part that comes from one input token with the
   * biases that enter at its position: those from `from` up to `to`. The network is linearized at the run.
   */
  carriedProjections(layer: number, from: number, to: number): Float32Array<ArrayBuffer> {
    const { hidden, layers } = this.header;
    const { length, rows } = this.#ran;
    within("layer", layer, layers);
    within("token", from, length);
    within("token", to - 1, length);
    const count = to - from;
    const own = this.hidden(0).slice(from * hidden, to * hidden);
    const { x, out, linear } = this.#carry(
      count,
      from,
      (source, row) =>
        row === from + source ? own.subarray(source * hidden, (source + 1) * hidden) : null,
      layer,
    );
    const size = length * hidden;
    const found = new Float32Array(2 * count * size);
    (["query", "key"] as const).forEach((which, k) => {
      linear(`${layer}.${which}`, x, hidden, hidden, out);
      for (let source = 0; source < count; source++) {
        const part = this.#floats(out + source * rows * hidden * F32, size);
        found.set(part, (k * count + source) * size);
      }
    });
    return found;
  }

  #checkWeights({ length }: ArrayLike<number>): void {
    if (length !== this.length)
      throw new EngineError("input", `${length} weights were given for ${this.length} tokens.`);
  }

  /** States that were carried, `[source][rows][hidden]`. */
  #states({ x }: { readonly x: number }, count: number): Float32Array {
    return this.#floats(x, count * this.#ran.rows * this.header.hidden);
  }

  /**
   * Carry the rows that `enter` gives for a source and a position through the layers below `above`; null stands for
   * zeros. `biased`: the first source's token, where each source has the biases of its own position; "all": of all.
   */
  #carry(
    count: number,
    biased: number | "all" | null,
    enter: (source: number, row: number) => Float32Array | null,
    above = this.header.layers,
  ) {
    const { heads, hidden, intermediate } = this.header;
    const layout = this.#ran;
    const { length, rows } = layout;
    const constants = this.#constantsOf(layout);
    // Behind what the run keeps, as logits are.
    let free = layout.end;
    const take = (numbers: number): number => {
      const place = free;
      free = upTo(free + numbers * F32, 16);
      return place;
    };
    const all = count * rows;
    const x = take(all * hidden);
    const values = take(all * hidden);
    const context = take(all * hidden);
    const inner = take(all * intermediate);
    const scores = take(rows * upTo(length, COLUMNS));
    const zeros = take(Math.max(hidden, intermediate));
    // The views below stay valid: nothing grows the memory after this.
    this.#reserve(free);
    this.#floats(zeros, Math.max(hidden, intermediate)).fill(0);
    const [states, between, mixed] = [x, values, context].map((place) =>
      this.#floats(place, all * hidden),
    ) as [Float32Array, Float32Array, Float32Array];
    states.fill(0);
    for (let source = 0; source < count; source++)
      for (let row = 0; row < length; row++) {
        const entering = enter(source, row);
        if (entering !== null) states.set(entering, (source * rows + row) * hidden);
      }
    const linear = (name: string, from: number, n: number, outputs: number, out: number): void => {
      const bias = this.#at(`${name}.bias`);
      const matrix = this.#at(`${name}.weight`);
      const panels = outputs / COLUMNS;
      const added = biased === "all" ? bias : zeros;
      this.#kernels.linear(from, all, n, matrix, panels, added, out, this.#scratch);
      place(this.#floats(out, all * outputs), this.#floats(bias, outputs));
    };
    /** Add a bias to the row of each source's own token. */
    const place = (to: Float32Array, bias: Float32Array): void => {
      if (typeof biased !== "number") return;
      for (let source = 0; source < count; source++) {
        const at = (source * rows + biased + source) * bias.length;
        for (let i = 0; i < bias.length; i++)
          to[at + i] = (to[at + i] as number) + (bias[i] as number);
      }
    };
    const norm = (name: string, to: Float32Array, from: Float32Array, inverse: Float64Array) => {
      const [gain, shift] = ["weight", "bias"].map((part) =>
        this.#floats(this.#at(`${name}.${part}`), hidden),
      ) as [Float32Array, Float32Array];
      linearNorm(to, from, rows, gain, inverse, biased === "all" ? shift : null);
      place(to, shift);
    };
    const size = hidden / heads;
    constants.slice(0, above).forEach(({ ratios, attentionNorm, outputNorm }, layer) => {
      linear(`${layer}.value`, x, hidden, hidden, values);
      for (let head = 0; head < heads; head++) {
        const column = head * size * F32;
        this.#kernels.carry(
          layout.weights + (layer * heads + head) * length * length * F32,
          values + column,
          context + column,
          hidden * F32,
          length,
          size,
          count,
          scores,
          this.#scratch,
        );
        if (isOff(layout.input, layer, head)) this.#silence(context + column, all, hidden, size);
      }
      linear(`${layer}.attention`, context, hidden, hidden, values);
      norm(`${layer}.attention_norm`, between, states, attentionNorm);
      linear(`${layer}.intermediate`, values, hidden, intermediate, inner);
      scale(this.#floats(inner, all * intermediate), ratios, rows, intermediate);
      linear(`${layer}.output`, inner, intermediate, hidden, context);
      norm(`${layer}.output_norm`, mixed, between, outputNorm);
      states.set(mixed);
    });
    return { x, out: values, linear };
  }

  /** Fixed factors of every layer of the run; the layers are computed again once. */
  #constantsOf(layout: MemoryLayout): readonly LayerConstants[] {
    if (this.#constants !== null) return this.#constants;
    const { layers, hidden, intermediate, eps } = this.header;
    const { length, rows, context } = layout;
    this.#fillMask(layout); // predictions were computed in its place
    this.#constants = Array.from({ length: layers }, (_, layer) => {
      const states = this.#floats(layout.hidden + layer * rows * hidden * F32, length * hidden);
      const found: { -readonly [Name in keyof LayerConstants]?: LayerConstants[Name] } = {};
      let before = new Float32Array();
      this.#layer(layer, layout, (name, place) => {
        const wide = name === "ffn_input" || name === "ffn_activation" ? intermediate : hidden;
        const part = this.#floats(place, length * wide);
        if (name === "attention_output") found.attentionNorm = inverses(part, states, hidden, eps);
        if (name === "ffn_input") before = part.slice();
        if (name === "ffn_activation") found.ratios = ratiosOf(before, part);
        if (name === "ffn_output")
          found.outputNorm = inverses(part, this.#floats(context, length * hidden), hidden, eps);
      });
      return found as LayerConstants;
    });
    return this.#constants;
  }

  /** Embeddings of the run's tokens, of their positions and of their segments, each `[token][hidden]`. */
  embeddings(): Float32Array<ArrayBuffer> {
    const { hidden } = this.header;
    const { length, input, end } = this.#ran;
    const size = length * hidden;
    const packed = new Float32Array(3 * size);
    const sums: ((i: number, to: number) => void)[] = [
      (i, to) => this.#kernels.gather(this.#at("word"), input.ids[i] ?? 0, hidden, to),
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
    this.#kernels.linear(x, rows, hidden, matrix, panels, bias, logits, this.#scratch);
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

  get #ran(): MemoryLayout {
    if (this.layout === null) throw new EngineError("no-run", "No text has been run yet.");
    return this.layout;
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
    this.#kernels.linear(x, rows, n, matrix, panels, bias, out, this.#scratch);
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
