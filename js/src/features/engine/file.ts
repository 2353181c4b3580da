/** The file of weights and vocabulary that attn_widget/features/engine/packing.py writes. */

import { EngineError } from "./errors";

const MAGIC = "attnwgt1";

/** Sizes of the model, and where its tensors lie in the payload. */
export interface Header {
  readonly layers: number;
  readonly heads: number;
  readonly hidden: number;
  readonly intermediate: number;
  /** Rows of the embeddings: tokens, and those that some models have beyond their tokenizer's. */
  readonly vocabulary: number;
  readonly vocabularyBytes: number;
  /** Number of tokens that one run can have. */
  readonly positions: number;
  readonly types: number;
  readonly eps: number;
  /** Bytes of the payload. */
  readonly bytes: number;
  /** CRC-32 of the payload. */
  readonly crc32: number;
  /** Offset of each tensor, in bytes. */
  readonly tensors: Readonly<Record<string, number>>;
}

export interface ModelFile {
  readonly header: Header;
  readonly payload: Uint8Array;
  /** Tokens by id. */
  readonly vocabulary: readonly string[];
}

/** The parts of a file; its length is checked here, its checksum where the payload is copied. */
export function readFile(file: Uint8Array): ModelFile {
  const ascii = new TextDecoder("latin1");
  if (file.length < 12 || ascii.decode(file.subarray(0, 8)) !== MAGIC)
    throw new EngineError(
      "file",
      "This file holds no model for the engine, or a damaged one. Copy or save the page again.",
    );
  const length = new DataView(file.buffer, file.byteOffset).getUint32(8, true);
  if (file.length < 12 + length) throw truncated(file.length, 12 + length);
  const header: Header = JSON.parse(new TextDecoder().decode(file.subarray(12, 12 + length)));
  const payload = file.subarray(12 + length);
  if (payload.length !== header.bytes) throw truncated(file.length, 12 + length + header.bytes);
  const start = at(header, "vocabulary");
  const text = new TextDecoder().decode(payload.subarray(start, start + header.vocabularyBytes));
  return { header, payload, vocabulary: text.split("\n") };
}

export function at(header: Header, name: string): number {
  const offset = header.tensors[name];
  if (offset === undefined)
    throw new EngineError("file", `The model's file lacks ${name}. Save the page again.`);
  return offset;
}

function truncated(given: number, expected: number): EngineError {
  return new EngineError(
    "truncated",
    `The model's file has ${count(given)} bytes of ${count(expected)}. Copy or download it again.`,
  );
}

const count = (value: number): string => value.toLocaleString("en-US");
