/** Where things stand: the ends of edges, the sides of cards. */
import { describe, expect, it } from "vitest";
import { cardPlace } from "../src/ui/hover-card";
import { edgePath, numberPlace } from "../src/views/tree/layout";

describe("the tree's edges", () => {
  // A pill of 40 px whose children begin at 60; a number of 30 px before a pill at 200.
  const from = { x: 10, y: 50, width: 40, bend: 60 };
  const to = { x: 200, y: 80, width: 20, numberWidth: 30 };

  it.each([
    // End: 200, less the number, 6 px beside it and 4 px of air; the curve bends halfway.
    ["tidy", to, "M50,50H60C110,50 110,80 160,80"],
    ["tidy", { ...to, numberWidth: 0 }, "M50,50H60C125,50 125,80 190,80"],
    ["force", to, "M30,50L210,80"],
  ] as const)("lead from pill to number (%s)", (name, end, path) => {
    expect(edgePath(name, from, end)).toBe(path);
  });

  it.each([
    ["tidy", { x: 194, y: 80, anchor: "end" }],
    ["force", { x: 210, y: 98, anchor: "middle" }],
  ] as const)("have their number beside the pill (%s)", (name, place) => {
    expect(numberPlace(name, to)).toEqual(place);
  });
});

describe("a hover card", () => {
  const card = { width: 100, height: 60 };
  const area = { width: 400, height: 300 };

  it.each([
    ["below the point", { x: 50, y: 100 }, card, { left: 50, top: 116 }],
    ["below, if just", { x: 50, y: 224 }, card, { left: 50, top: 240 }],
    ["above, where it does not fit below", { x: 50, y: 225 }, card, { left: 50, top: 149 }],
    [
      "below, where it fits nowhere",
      { x: 50, y: 225 },
      { width: 100, height: 250 },
      { left: 50, top: 241 },
    ],
    ["inside the right edge", { x: 350, y: 100 }, card, { left: 300, top: 116 }],
    ["inside the left edge", { x: -20, y: 100 }, card, { left: 0, top: 116 }],
    [
      "at the left, where it is too wide",
      { x: 350, y: 100 },
      { width: 500, height: 60 },
      { left: 0, top: 116 },
    ],
  ])("stands %s", (_, point, size, place) => {
    expect(cardPlace(point, size, area)).toEqual(place);
  });
});
