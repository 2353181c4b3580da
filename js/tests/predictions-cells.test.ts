/** Pure parts of the predictions: pieces of a masked run, and where keys lead. */
import { describe, expect, it } from "vitest";
import type { Column } from "../src/views/predictions/answers";
import { piecesOf } from "../src/views/predictions/data";
import { nextCell } from "../src/views/predictions/list";

describe("a masked run", () => {
  it.each([
    // Up to 16 rows, and 2,048 tokens, a request.
    [
      20,
      0,
      [
        [0, 16],
        [16, 20],
      ],
    ],
    [20, 16, [[16, 20]]],
    [20, 20, []],
    [
      300,
      288,
      [
        [288, 294],
        [294, 300],
      ],
    ],
    [
      512,
      504,
      [
        [504, 508],
        [508, 512],
      ],
    ],
    [
      5000,
      4998,
      [
        [4998, 4999],
        [4999, 5000],
      ],
    ],
  ])("of %i positions asks from %i on for %j", (n, done, pieces) => {
    expect(piecesOf(n, done)).toEqual(pieces);
  });
});

describe("a key in the list", () => {
  // Position 0 is special and cannot be masked, 3 is hidden, 5 has not been answered.
  const positions = [0, 1, 2, 4, 5];
  const columnsOf = (position: number): Column[] => [
    "token",
    ...(position === 0 ? [] : ["mask" as const]),
    ...(position === 5 ? [] : (["original", 1, 2] as const)),
  ];

  it.each([
    ["ArrowDown", 2, 1, 4, 1],
    ["ArrowUp", 4, "original", 2, "original"],
    ["ArrowUp", 0, 1, 0, 1],
    ["ArrowUp", 1, "mask", 0, "token"],
    ["ArrowDown", 4, 2, 5, "token"],
    ["ArrowRight", 0, "token", 0, "original"],
    ["ArrowRight", 1, 2, 1, 2],
    ["ArrowLeft", 1, "original", 1, "mask"],
    ["Home", 2, 2, 2, "token"],
    ["End", 2, "token", 2, 2],
  ] as const)("%s from %i %s leads to %i %s", (key, position, column, toPosition, toColumn) => {
    const next = nextCell({ key, ctrlKey: false }, { position, column }, positions, columnsOf);
    expect(next).toEqual({ position: toPosition, column: toColumn });
  });

  it.each([
    ["Home", 0],
    ["End", 5],
  ])("Ctrl and %s lead to the row %i", (key, position) => {
    const next = nextCell(
      { key, ctrlKey: true },
      { position: 2, column: "token" },
      positions,
      columnsOf,
    );
    expect(next).toEqual({ position, column: "token" });
  });

  it("that moves nothing is left to others", () => {
    expect(
      nextCell({ key: "x", ctrlKey: false }, { position: 2, column: 1 }, positions, columnsOf),
    ).toBeNull();
  });
});
