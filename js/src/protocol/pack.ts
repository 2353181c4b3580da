/** The packed first paint: "AWP1", a JSON header, then aligned little-endian arrays (docs/protocol.md). */

import type { Meta } from "./meta";
import type { DType, NdArray } from "./slice";

const MAGIC = "AWP1";
const PREFIX_BYTES = 8;
const ALIGNMENT = 8;

const CONSTRUCTORS = {
  uint8: Uint8Array,
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
} as const;

export interface Pack {
  readonly meta: Meta;
  readonly arrays: ReadonlyMap<string, NdArray>;
}

interface ArrayHeader {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
}

export class PackError extends Error {
  override name = "PackError";
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isSize = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0;

/** Check a header entry that came from outside. */
export function arrayHeader(value: unknown): ArrayHeader {
  if (!isRecord(value)) throw new PackError("An array header is not an object.");
  const { name, dtype, shape } = value;
  if (typeof name !== "string" || name === "") throw new PackError("An array has no name.");
  if (typeof dtype !== "string" || !Object.hasOwn(CONSTRUCTORS, dtype)) {
    throw new PackError(`Array "${name}" has the unknown dtype "${String(dtype)}".`);
  }
  if (!Array.isArray(shape) || !shape.every(isSize)) {
    throw new PackError(`Array "${name}" has no usable shape.`);
  }
  return { name, dtype: dtype as DType, shape };
}

/** Elements of a shape. */
export function cells(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** Bytes of the array that a header describes. */
export function byteLength({ name, dtype, shape }: ArrayHeader): number {
  const bytes = cells(shape) * CONSTRUCTORS[dtype].BYTES_PER_ELEMENT;
  if (!Number.isSafeInteger(bytes)) throw new PackError(`Array "${name}" is too large.`);
  return bytes;
}

/** A typed array over `bytes`, copied: the source may be misaligned, shared or reused by its owner. */
export function arrayFrom(header: ArrayHeader, bytes: Uint8Array): NdArray {
  const expected = byteLength(header);
  if (bytes.byteLength !== expected) {
    throw new PackError(
      `Array "${header.name}" has ${bytes.byteLength} bytes; its shape needs ${expected}.`,
    );
  }
  const copy = new Uint8Array(expected);
  copy.set(bytes);
  return { data: new CONSTRUCTORS[header.dtype](copy.buffer), shape: header.shape };
}

/** The bytes behind what a host hands over for binary data. */
export function asBytes(value: ArrayBuffer | ArrayBufferView): Uint8Array {
  return ArrayBuffer.isView(value)
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : new Uint8Array(value);
}

function checkMeta(meta: unknown): Meta {
  if (!isRecord(meta) || meta.version !== 1) {
    throw new PackError("The pack and this page have different versions; reinstall attn-widget.");
  }
  const tokens = meta.tokens;
  if (!isRecord(tokens) || !Array.isArray(tokens.text) || !isRecord(meta.model)) {
    throw new PackError("The pack names no tokens or no model.");
  }
  const n = tokens.text.length;
  for (const [name, column] of Object.entries(tokens)) {
    if (!Array.isArray(column) || column.length !== n) {
      throw new PackError(`The token column "${name}" does not have ${n} entries.`);
    }
  }
  return meta as unknown as Meta;
}

/** Read the pack of a run; throws a `PackError` for anything that is not one. */
export function readPack(source: ArrayBuffer | ArrayBufferView): Pack {
  const { meta, arrays } = unpack(source);
  return { meta: checkMeta(meta), arrays };
}

/** Read any pack; what its meta holds is for the caller to check. */
export function unpack(source: ArrayBuffer | ArrayBufferView): {
  meta: unknown;
  arrays: Map<string, NdArray>;
} {
  const bytes = asBytes(source);
  if (bytes.byteLength < PREFIX_BYTES) throw new PackError("The pack is shorter than its prefix.");
  const magic = String.fromCharCode(...bytes.subarray(0, MAGIC.length));
  if (magic !== MAGIC) throw new PackError(`The pack does not begin with ${MAGIC}.`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headerEnd = PREFIX_BYTES + view.getUint32(MAGIC.length, true);
  if (headerEnd > bytes.byteLength) throw new PackError("The pack ends inside its header.");
  let header: unknown;
  try {
    header = JSON.parse(
      new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(PREFIX_BYTES, headerEnd)),
    );
  } catch {
    throw new PackError("The pack's header is not JSON.");
  }
  if (!isRecord(header) || !Array.isArray(header.arrays)) {
    throw new PackError("The pack's header lists no arrays.");
  }
  const arrays = new Map<string, NdArray>();
  for (const entry of header.arrays) {
    const described = arrayHeader(entry);
    const offset = (entry as Record<string, unknown>).offset;
    const length = byteLength(described);
    if (
      !isSize(offset) ||
      offset % ALIGNMENT !== 0 ||
      offset < headerEnd ||
      offset + length > bytes.byteLength
    ) {
      throw new PackError(`Array "${described.name}" does not lie inside the pack.`);
    }
    if (arrays.has(described.name)) throw new PackError(`Array "${described.name}" appears twice.`);
    arrays.set(described.name, arrayFrom(described, bytes.subarray(offset, offset + length)));
  }
  return { meta: header.meta, arrays };
}
