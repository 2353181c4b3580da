import { describe, expect, test } from "vitest";
import { asBytes, type Pack, PackError, readPack } from "../src/protocol/pack";
import { itemAt } from "../src/protocol/required";
import type { Meta, NdArray } from "../src/protocol/types";
import { metaOf } from "./runs";

const arrays = (entries: Record<string, NdArray>) => new Map(Object.entries(entries));
const meta: Meta = metaOf(["[CLS]", "naïve", "👩‍🚀"]);

const DTYPES = new Map<unknown, string>([
  [Uint8Array, "uint8"],
  [Int32Array, "int32"],
  [Float32Array, "float32"],
  [Float64Array, "float64"],
]);
const align = (offset: number): number => Math.ceil(offset / 8) * 8;

/** A pack as Python writes it. */
function writePack({ meta, arrays }: Pack): Uint8Array {
  const encode = (offsets: readonly number[]): Uint8Array =>
    new TextEncoder().encode(
      JSON.stringify({
        meta,
        arrays: [...arrays].map(([name, { data, shape }], i) => ({
          name,
          dtype: DTYPES.get(data.constructor),
          shape,
          offset: offsets[i],
        })),
      }),
    );
  const sizes = [...arrays.values()].map(({ data }) => data.byteLength);
  const place = (start: number): number[] => {
    let next = align(start);
    return sizes.map((size) => {
      const offset = next;
      next = align(next + size);
      return offset;
    });
  };
  // Offsets are part of the header whose length they depend on: grow until they agree.
  let offsets = place(8);
  let header = encode(offsets);
  for (;;) {
    const moved = place(8 + header.byteLength);
    if (moved.every((offset, i) => offset === offsets[i])) break;
    offsets = moved;
    header = encode(offsets);
  }
  const last = offsets.length - 1;
  const total = last < 0 ? 8 + header.byteLength : itemAt(offsets, last) + itemAt(sizes, last);
  const pack = new Uint8Array(total);
  pack.set(new TextEncoder().encode("AWP1"));
  new DataView(pack.buffer).setUint32(4, header.byteLength, true);
  pack.set(header, 8);
  [...arrays.values()].forEach(({ data }, i) => {
    pack.set(asBytes(data), offsets[i]);
  });
  return pack;
}

function headerOf(pack: Uint8Array): { header: Header; end: number } {
  const length = new DataView(pack.buffer, pack.byteOffset).getUint32(4, true);
  return {
    header: JSON.parse(new TextDecoder().decode(pack.subarray(8, 8 + length))),
    end: 8 + length,
  };
}

interface Header {
  meta: { tokens: { id: number[] } };
  arrays?: Record<string, unknown>[];
}

/** A pack whose header was changed by hand. */
function tampered(change: (header: Header) => void): Uint8Array {
  const pack = writePack({
    meta,
    arrays: arrays({ a: { data: new Float32Array([1, 2]), shape: [2] } }),
  });
  const { header, end } = headerOf(pack);
  change(header);
  const text = new TextEncoder().encode(JSON.stringify(header));
  const out = new Uint8Array(8 + text.length + (pack.length - end) + 64);
  out.set(pack.subarray(0, 8));
  new DataView(out.buffer).setUint32(4, text.length, true);
  out.set(text, 8);
  return out;
}

describe("a pack", () => {
  test("comes back as it was written, every dtype and an empty array included", () => {
    const written = arrays({
      thumbs: { data: new Uint8Array([0, 1, 255]), shape: [3] },
      ids: { data: new Int32Array([-1, 2 ** 31 - 1]), shape: [1, 2] },
      weights: { data: new Float32Array([0.1, Number.NaN, -0, 1e-38]), shape: [2, 2] },
      sums: { data: new Float64Array([Math.PI]), shape: [1] },
      nothing: { data: new Float32Array(0), shape: [0, 4] },
    });
    const pack = readPack(writePack({ meta, arrays: written }));
    expect(pack.meta).toEqual(meta);
    expect([...pack.arrays.keys()]).toEqual([...written.keys()]);
    for (const [name, { data, shape }] of written) {
      expect(pack.arrays.get(name)!.shape).toEqual(shape);
      expect(pack.arrays.get(name)!.data).toEqual(data);
    }
  });

  test("lays every array on a multiple of 8 bytes", () => {
    const { header } = headerOf(
      writePack({
        meta,
        arrays: arrays({
          a: { data: new Uint8Array(3), shape: [3] },
          b: { data: new Float64Array(1), shape: [1] },
        }),
      }),
    );
    for (const { offset } of header.arrays as { offset: number }[]) expect(offset % 8).toBe(0);
  });

  test("is read from the middle of a buffer at an odd offset, as hosts hand it over", () => {
    const pack = writePack({
      meta,
      arrays: arrays({ a: { data: new Float64Array([1.5]), shape: [1] } }),
    });
    const around = new Uint8Array(pack.length + 10);
    around.set(pack, 3);
    const view = new DataView(around.buffer, 3, pack.length);
    expect(readPack(view).arrays.get("a")!.data).toEqual(new Float64Array([1.5]));
  });

  test("shares no memory with the bytes that it was read from", () => {
    const bytes = writePack({
      meta,
      arrays: arrays({ a: { data: new Uint8Array([7]), shape: [1] } }),
    });
    const { data } = readPack(bytes).arrays.get("a")!;
    bytes.fill(0);
    expect(data[0]).toBe(7);
  });
});

describe("a hostile pack is refused", () => {
  const entry = (header: Header): Record<string, unknown> => itemAt(header.arrays ?? [], 0);
  const cases: [string, () => ArrayBuffer | Uint8Array, RegExp][] = [
    ["empty", () => new ArrayBuffer(0), /shorter/],
    ["of another kind", () => new TextEncoder().encode("PK\u0003\u0004 and more"), /AWP1/],
    [
      "cut inside its header",
      () => writePack({ meta, arrays: new Map() }).subarray(0, 20),
      /ends inside its header/,
    ],
    [
      "with a header that is no JSON",
      () => {
        const pack = writePack({ meta, arrays: new Map() });
        pack[8] = 0xff;
        return pack;
      },
      /not JSON/,
    ],
    ["of a later version", () => tampered((h) => Object.assign(h.meta, { version: 2 })), /version/],
    [
      "with token columns of unequal length",
      () => tampered((h) => h.meta.tokens.id.pop()),
      /entries/,
    ],
    ["without arrays", () => tampered((h) => delete h.arrays), /no arrays/],
    [
      "with an offset beyond its end",
      () => tampered((h) => Object.assign(entry(h), { offset: 1 << 30 })),
      /inside the pack/,
    ],
    [
      "with a negative offset",
      () => tampered((h) => Object.assign(entry(h), { offset: -8 })),
      /inside the pack/,
    ],
    [
      "with an offset inside its header",
      () => tampered((h) => Object.assign(entry(h), { offset: 8 })),
      /inside the pack/,
    ],
    [
      "with a misaligned offset",
      () => tampered((h) => Object.assign(entry(h), { offset: 4097 })),
      /inside the pack/,
    ],
    [
      "with a shape that overflows",
      () => tampered((h) => Object.assign(entry(h), { shape: [2 ** 40, 2 ** 40] })),
      /too large/,
    ],
    [
      "with a negative shape",
      () => tampered((h) => Object.assign(entry(h), { shape: [-2] })),
      /shape/,
    ],
    [
      "with a fractional shape",
      () => tampered((h) => Object.assign(entry(h), { shape: [1.5] })),
      /shape/,
    ],
    [
      "with an unknown dtype",
      () => tampered((h) => Object.assign(entry(h), { dtype: "float16" })),
      /dtype/,
    ],
    [
      "with a dtype of Object.prototype",
      () => tampered((h) => Object.assign(entry(h), { dtype: "constructor" })),
      /dtype/,
    ],
    [
      "with an array twice",
      () =>
        tampered((h) =>
          (h.arrays as unknown as unknown[]).push({ ...entry(h), offset: entry(h).offset }),
        ),
      /twice|inside/,
    ],
  ];
  test.each(cases)("%s", (_name, make, message) => {
    expect(() => readPack(make())).toThrow(PackError);
    expect(() => readPack(make())).toThrow(message);
  });
});
