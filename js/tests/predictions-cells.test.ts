/** Pure parts of the predictions: pieces of a masked run, and where keys lead. */
import { describe, expect, it } from "vitest";
import type { Column } from "../src/views/predictions/answers";
import { nextCell } from "../src/views/predictions/cells";
import { piecesOf } from "../src/views/predictions/data";

describe("a masked run", () => {
  const known = (...rows: number[]): ReadonlySet<number> => new Set(rows);
  it.each([
    // The focus token's row alone, then up to 4 rows, and 1,024 tokens, a request; from there on, and then from the top.
    [6, 0, known(), ["0 1", "0 4", "4 6"]],
    [10, 5, known(), ["5 6", "4 8", "8 10", "0 4"]],
    [10, 5, known(4, 5, 6, 7), ["8 10", "0 4"]],
    [10, 9, known(0, 1, 2, 3, 8), ["9 10", "8 10", "4 8"]],
    [3, 1, known(0, 1, 2), []],
    [
      600,
      599,
      known(...Array.from({ length: 598 }, (_, i) => i)),
      ["599 600", "598 599", "599 600"],
    ],
  ])("of %i positions from %i on asks for rows in turn", (n, first, rows, pieces) => {
    expect(
      piecesOf(n, first, rows)
        .map((piece) => piece.join(" "))
        .sort(),
    ).toEqual([...pieces].sort());
    expect(piecesOf(n, first, rows)[0]?.join(" ")).toBe(pieces[0]);
  });

  it("goes on below the focus token, and ends above it", () => {
    expect(piecesOf(10, 5)).toEqual([
      [5, 6],
      [4, 8],
      [8, 10],
      [0, 4],
    ]);
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
