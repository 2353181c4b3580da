import { crc32 } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { compileKernels } from "../../../engine/compile.mjs";
import { type Kernels, startKernels } from "../../../src/features/engine/kernels";

let kernels: Kernels;
let floats: Float32Array;
let bytes: DataView;
const END = 1 << 20;

beforeAll(async () => {
  kernels = await startKernels(await compileKernels());
  kernels.memory.grow(32);
  floats = new Float32Array(kernels.memory.buffer);
  bytes = new DataView(kernels.memory.buffer);
}, 60_000);

/** Pseudo-random numbers in -1 to 1, the same in every run. */
function* noise(seed: number): Generator<number> {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 31 - 1;
  }
}
const some = (count: number, seed: number): number[] => {
  const source = noise(seed);
  return Array.from({ length: count }, () => Math.fround(source.next().value));
};
const put = (place: number, values: readonly number[]) => floats.set(values, place / 4);
const get = (place: number, count: number) => [...floats.subarray(place / 4, place / 4 + count)];
const close = (found: readonly number[], expected: readonly number[], most: number) => {
  expect(found).toHaveLength(expected.length);
  const worst = Math.max(...found.map((value, i) => Math.abs(value - expected[i]!)));
  expect(worst).toBeLessThan(most);
};
/** Value of float16 bits. */
const half = (bits: number): number => {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  return (
    sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15))
  );
};

describe("the kernels", () => {
  test("decode every finite float16 exactly, zero's sign included", () => {
    const all = Array.from({ length: 65_536 }, (_, i) => i).filter((i) => (i & 0x7c00) !== 0x7c00);
    all.forEach((bits, i) => {
      bytes.setUint16(END / 2 + i * 2, bits, true);
    });
    kernels.decode(END / 2, all.length / 8, END);
    const found = get(END, all.length);
    expect(found.every((value, i) => Object.is(value, half(all[i]!)))).toBe(true);
  });

  // Up to 8 rows in float64, more in float32.
  test.each([4, 12])("multiply %i rows by a matrix in panels, and add its bias", (rows) => {
    const [n, outputs] = [12, 16];
    const x = some(rows * n, 1);
    const source = noise(2);
    const matrix = Array.from({ length: n * outputs }, () =>
      Math.floor(((source.next().value as number) + 1) * 0x1e00),
    );
    const bias = some(outputs, 3);
    const [atX, atMatrix, atBias, out, scratch] = [
      65_536, 70_000, 80_000, 90_000, 100_000,
    ] as const;
    put(atX, x);
    put(atBias, bias);
    matrix.forEach((bits, i) => {
      bytes.setUint16(atMatrix + i * 2, bits, true);
    });
    kernels.linear(atX, rows, n, atMatrix, outputs / 8, atBias, out, scratch);
    const expected = Array.from({ length: rows * outputs }, (_, i) => {
      const [row, output] = [Math.floor(i / outputs), i % outputs];
      let total = bias[output]!;
      for (let k = 0; k < n; k++)
        total += x[row * n + k]! * half(matrix[(output >> 3) * n * 8 + k * 8 + (output & 7)]!);
      return total;
    });
    close(get(out, expected.length), expected, 1e-5);
  });

  test("gather a column of panels and add a row", () => {
    const n = 8;
    for (let i = 0; i < 2 * n * 8; i++) bytes.setUint16(70_000 + i * 2, 0x3c00 + i, true);
    put(90_000, new Array(n).fill(0));
    kernels.gather(70_000, 11, n, 90_000);
    const column = Array.from({ length: n }, (_, k) => half(0x3c00 + n * 8 + k * 8 + 3));
    expect(get(90_000, n)).toEqual(column);
    kernels.addRow(70_000, n, 90_000);
    close(
      get(90_000, n),
      column.map((value, k) => value + half(0x3c00 + k)),
      1e-6,
    );
  });

  test("give GELU with the exact erf", () => {
    const x = [...some(60, 4).map((value) => value * 8), 0, -0, 30, -30];
    put(65_536, x);
    kernels.gelu(65_536, x.length);
    // erf by its series, where that converges; 1 beyond.
    const erf = (z: number): number => {
      if (Math.abs(z) > 5) return Math.sign(z);
      let [total, term] = [z, z];
      for (let k = 1; k < 200; k++) {
        term *= (-z * z) / k;
        total += term / (2 * k + 1);
      }
      return (2 / Math.sqrt(Math.PI)) * total;
    };
    const expected = x.map((value) => (value / 2) * (1 + erf(value / Math.SQRT2)));
    close(get(65_536, x.length), expected, 1e-6);
  });

  test("normalize the sum of two rows", () => {
    const [rows, n] = [3, 16];
    const [x, residual] = [some(rows * n, 5), some(rows * n, 6)];
    const [weight, bias] = [some(n, 7), some(n, 8)];
    put(65_536, x);
    put(70_000, residual);
    put(80_000, weight);
    put(81_000, bias);
    kernels.norm(65_536, 70_000, rows, n, 80_000, 81_000, 1e-12, 90_000, 100_000);
    const expected = Array.from({ length: rows }, (_, row) => {
      const sums = Array.from({ length: n }, (_, i) => x[row * n + i]! + residual[row * n + i]!);
      const mean = sums.reduce((a, b) => a + b) / n;
      const variance = sums.reduce((a, b) => a + (b - mean) ** 2, 0) / n;
      return sums.map((value, i) => ((value - mean) / Math.sqrt(variance)) * weight[i]! + bias[i]!);
    }).flat();
    close(get(90_000, rows * n), expected, 1e-5);
  });

  test.each([1, 4, 7, 8, 13])("attend over %i tokens", (length) => {
    const [size, wide] = [8, 16];
    const rows = Math.ceil(length / 4) * 4;
    const [q, k, v] = [some(rows * wide, 9), some(rows * wide, 10), some(rows * wide, 11)];
    put(65_536, q);
    put(70_000, k);
    put(75_008, v);
    const columns = Math.ceil(length / 8) * 8;
    put(
      80_000,
      Array.from({ length: columns }, (_, i) => Number(i < length)),
    );
    const column = size * 4;
    kernels.head(
      65_536 + column,
      70_000 + column,
      75_008 + column,
      81_024 + column,
      wide * 4,
      length,
      size,
      0.5,
      80_000,
      90_000,
      100_000,
      110_000,
    );
    const weights: number[] = [];
    for (let query = 0; query < length; query++) {
      const scores = Array.from({ length }, (_, key) => {
        let total = 0;
        for (let i = 0; i < size; i++)
          total += q[query * wide + size + i]! * k[key * wide + size + i]!;
        return Math.exp(total / 2);
      });
      const whole = scores.reduce((a, b) => a + b);
      weights.push(...scores.map((score) => score / whole));
    }
    close(get(110_000, length * length), weights, 1e-6);
    for (let query = 0; query < length; query++) {
      const expected = Array.from({ length: size }, (_, i) => {
        let total = 0;
        for (let key = 0; key < length; key++)
          total += weights[query * length + key]! * v[key * wide + size + i]!;
        return total;
      });
      close(get(81_024 + query * wide * 4 + column, size), expected, 1e-6);
    }
  });

  test("know the checksum of zlib", () => {
    const text = new TextEncoder().encode("The quick brown fox");
    new Uint8Array(kernels.memory.buffer).set(text, 65_536);
    expect(kernels.crc32(65_536, text.length, 70_000) >>> 0).toBe(crc32(text));
  });
});
