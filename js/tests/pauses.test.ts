import { describe, expect, test } from "vitest";
import { type Cells, wholeCells } from "../src/protocol/cells";
import { pauses } from "../src/protocol/pauses";
import { readRows } from "../src/protocol/slices/attention";

/** A clock that goes on by so much at every look. */
function clock(step: number): () => number {
  let time = 0;
  return () => {
    time += step;
    return time;
  };
}

describe("pauses of a long computation", () => {
  test("within its budget it goes on at once, then others come first", async () => {
    const pause = pauses(undefined, clock(3));
    const order: string[] = [];
    setImmediate(() => order.push("a click"));
    for (const part of ["first", "second", "third", "fourth"]) {
      order.push(part);
      const waiting = pause();
      if (part === "first" || part === "second") expect(waiting).toBeUndefined();
      await waiting;
    }
    expect(order.indexOf("a click")).toBe(3);
  });

  test("a matrix read in parts is the one read at once", async () => {
    for (const size of [1, 5, 64, 300]) {
      const matrix = Float32Array.from({ length: size * size }, (_, i) => i);
      const cells = wholeCells(matrix, size);
      const rows = [1, size] as const;
      const found = await readRows(cells, rows, pauses(undefined, clock(5)));
      expect(found).toEqual(matrix.subarray(size));
    }
  });

  test("what is no longer wanted is not read to its end", async () => {
    const asking = new AbortController();
    let parts = 0;
    const big = 8192;
    const cells: Cells = {
      n: big,
      mask: null,
      read: ([start, stop]) => {
        if (++parts === 3) asking.abort();
        return new Float32Array((stop - start) * big);
      },
    };
    const reading = readRows(cells, [0, 100], pauses(asking.signal, clock(9)));
    await expect(reading).rejects.toThrow(/abort/i);
    expect(parts).toBeLessThan(6);
  });
});
