import { expect, test } from "vitest";
import { category } from "../src/draw/color/category";
import { mi, sqrt } from "../src/figures/math";

test("a root holds what is under it", () => {
  const under = mi("x");
  expect(sqrt(under)).toEqual({ tag: "msqrt", children: [under] });
});

test("categories begin again after the last", () => {
  expect(category(0).letter).toBe("A");
  expect(category(8)).toBe(category(0));
  expect(category(9)).toBe(category(1));
});
