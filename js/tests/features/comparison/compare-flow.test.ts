import { expect, test } from "vitest";
import { apart } from "../../../src/features/comparison/panels/flow";

test("labels are those of the strongest lines that have room", () => {
  expect([...apart([7, 9, 7, 3, 11, 12], 4)]).toEqual([7, 3, 11]);
  expect([...apart([], 4)]).toEqual([]);
  expect([...apart([5, 6, 5], 1)]).toEqual([5, 6]);
});
