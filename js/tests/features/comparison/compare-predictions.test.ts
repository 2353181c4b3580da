// @vitest-environment jsdom
import { expect, test, vi } from "vitest";
import type { Compared } from "../../../src/features/comparison/data";
import type { PanelContext } from "../../../src/features/comparison/panels/contract";
import { predictions } from "../../../src/features/comparison/panels/predictions";
import { createState } from "../../../src/state/state";
import { metaOf } from "../../runs";

/** The panel of a text of `n` words whose k-th word changes by (k + 1) / n in log-odds. */
function opened(n: number): HTMLElement {
  const words = Array.from({ length: n }, (_, k) => `w${k}`);
  const source = { meta: metaOf(["[CLS]", ...words, "[SEP]"]) };
  const position = words.map((_, k) => k + 1);
  const figures = { before: 0.5, after: 0.5 };
  const element = document.createElement("div");
  const states = { a: createState(), b: createState() };
  predictions(element, {
    compared: {
      predictions: { mode: "masked", token: words, position_a: position, position_b: position },
      arrays: new Map<string, unknown>([
        ...Object.entries(figures).map(
          ([name, value]) => [name, { data: words.map(() => value) }] as const,
        ),
        ["log_odds", { data: position.map((k) => k / n) }],
      ]),
      tokens: position.map((k) => [k, k]),
      reasons: {},
    } as unknown as Compared,
    ...{ sources: { a: source, b: source }, states },
    ...{ give: () => undefined, signal: new AbortController().signal },
  } as unknown as PanelContext);
  return element;
}

const listed = (element: HTMLElement): (string | undefined)[] =>
  [...element.querySelectorAll<HTMLElement>("tr[data-position]")].map(
    (row) => row.dataset.position,
  );

test("lists a short text in its order, and of a long one what changed most until all is asked for", async () => {
  expect(listed(opened(12))).toEqual(Array.from({ length: 12 }, (_, k) => String(k + 1)));
  const long = opened(60);
  expect(listed(long)).toEqual(Array.from({ length: 24 }, (_, k) => String(60 - k)));
  const all = [...long.querySelectorAll("button")].find((one) => one.textContent === "Show all 60");
  all?.click();
  await vi.waitFor(() => expect(listed(long)).toHaveLength(60));
});
