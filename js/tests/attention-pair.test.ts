/** The pinned pair, the card at the pointer, and a group of tokens. */

// @vitest-environment jsdom
import { h } from "preact";
import { describe, expect, test } from "vitest";
import type { Matrix } from "../src/figures/matrix";
import { createPairNumbers, type Link } from "../src/figures/pairs";
import { NOT_OF_WEIGHTS } from "../src/figures/quantities";
import * as lazy from "../src/lazy";
import { Arithmetic } from "../src/views/attention/lazy/arithmetic";
import { GroupStrip } from "../src/views/attention/lazy/group-strip";
import { LinkCard } from "../src/views/attention/lazy/link-card";
import { PinnedPair } from "../src/views/attention/lazy/pinned-pair";
import { showTip } from "../src/views/attention/lazy/tip";
import type { Tip } from "../src/views/attention/tip";
import type { PairPart } from "../src/views/contract";
import { lazyCode, type ViewContext } from "../src/views/contract";
import {
  DIM,
  FACTS,
  fake,
  K,
  matrixOf,
  N,
  Q,
  run,
  SCORES,
  shownBy,
  TOKENS,
  text,
  WEIGHTS,
} from "./attention-view";
import { drawn } from "./drawn";

/** Numbers by name as they are written in the chain. */
function written(strip: Element): Record<string, { value: number; unit: number }> {
  return Object.fromEntries(
    [...strip.querySelectorAll(".aw-figure")].map((figure) => {
      const [, mantissa, power] = /^([-\d.,]+)(?:×10(.+))?$/.exec(
        text(figure.querySelector("dd")!).replaceAll(",", ""),
      )!;
      const digits = "⁰¹²³⁴⁵⁶⁷⁸⁹";
      const exponent =
        power === undefined
          ? 0
          : Number(power.replace("⁻", "-").replace(/[⁰-⁹¹²³]/g, (d) => String(digits.indexOf(d))));
      const decimals = mantissa!.split(".")[1]?.length ?? 0;
      return [
        text(figure.querySelector("dt")!),
        { value: Number(mantissa) * 10 ** exponent, unit: 10 ** (exponent - decimals) },
      ];
    }),
  );
}
const pair = (row: number, column: number, matrix: Matrix, link: Link) => ({
  ...{ row, column, matrix, link },
  labels: { queries: TOKENS, keys: TOKENS, written: null },
  facts: FACTS,
});
const cardOf = (...of: Parameters<typeof pair>): Element => drawn(h(LinkCard, pair(...of)));
const stripOf = (context: ViewContext, ...of: Parameters<typeof pair>): Element =>
  drawn(h(PinnedPair, { ...pair(...of), context, mode: "light" }));
const groupOf = (context: ViewContext, matrix: Matrix, labels: readonly string[]): Element =>
  drawn(
    h(GroupStrip, { context, matrix, labels: { queries: labels, keys: labels, written: null } }),
  );

test("the card of a cell says once it is pinned what stands below, and of no other cell", async () => {
  const made = run({ pair: [1, 2] });
  const matrix = await shownBy(made);
  const numbers = createPairNumbers(made.stage.source, fake.context.signal);
  await numbers.load(matrix);
  const why: PairPart = Object.assign(() => undefined, { hint: "“Why here?”" });
  const element = document.createElement("div");
  const cardAt = (row: number, column: number): string => {
    const { labels, facts } = pair(row, column, matrix, numbers.of(matrix, row, column));
    const context = { ...made.stage, pairs: [why] };
    const model = { matrix: { value: matrix }, cursor: { row, column }, pinned: () => [1, 2] };
    const pictures = { map: { boxOf: () => null }, box: { current: null }, width: 0 };
    const tip = {
      element,
      pointer: null,
      pictures,
      model: { ...model, context, labels, facts, numbers },
    };
    showTip(tip as unknown as Tip);
    return element.textContent ?? "";
  };
  expect(cardAt(1, 2)).toContain("Pinned. Below: its arithmetic and “Why here?”.");
  expect(cardAt(1, 1)).not.toContain("Pinned");
});

describe("the pinned pair", () => {
  test("has no score where the quantity is no weight", async () => {
    const made = run({ quantity: "norms" });
    const matrix = await shownBy(made);
    const numbers = createPairNumbers(made.stage.source, fake.context.signal);
    await numbers.load(matrix);
    expect(numbers.of(matrix, 1, 2)).toMatchObject({ absent: NOT_OF_WEIGHTS, pending: false });
    expect(numbers.of(await shownBy(run()), 1, 2).absent).not.toBe(NOT_OF_WEIGHTS);
  });

  test("closes by the digits that are written, from q · k to the weight, in every cell", async () => {
    const made = run();
    const matrix = await shownBy(made);
    const numbers = createPairNumbers(made.stage.source, fake.context.signal);
    await numbers.load(matrix);
    for (let row = 0; row < N; row++) {
      for (let column = 0; column < N; column++) {
        const link = numbers.of(matrix, row, column);
        const strip = drawn(h(Arithmetic, { matrix, link }));
        const shown = written(strip);
        const follows = (name: string, from: number): void => {
          const { value, unit } = shown[name]!;
          expect(Math.abs(from - value), `${name} of ${row}, ${column}`).toBeLessThanOrEqual(unit);
        };
        const of = (name: string): number => shown[name]!.value;
        follows("scaled score", of("q · k") * of("scale"));
        follows("exp(score - max)", Math.exp(of("scaled score") - of("row max")));
        follows("weight", of("exp(score - max)") / of("sum of the row"));
        expect(link.weight).toBe(WEIGHTS[row * N + column]);
      }
    }
  });

  test("shows q and k value by value, and their products add up to the dot", async () => {
    lazyCode.value = lazy;
    const made = run();
    const matrix = await shownBy(made);
    const numbers = createPairNumbers(made.stage.source, fake.context.signal);
    await numbers.load(matrix);
    const link = numbers.of(matrix, 2, 1);
    const strip = stripOf(made.stage, 2, 1, matrix, link);
    expect(strip.querySelector("[data-aw-part=carried]"), "a weight has no sum").toBeNull();
    const details = strip.querySelector("details")!;
    details.open = true;
    details.dispatchEvent(new Event("toggle"));
    const rows = [...details.querySelectorAll("tbody tr")].map((row) =>
      [...row.querySelectorAll<HTMLElement>("td")].map((cell) => Number(cell.dataset.awValue)),
    );
    expect(rows.map(([q]) => q)).toEqual([...Q.subarray(2 * DIM, 3 * DIM)]);
    expect(rows.map(([, k]) => k)).toEqual([...K.subarray(DIM, 2 * DIM)]);
    expect(rows.reduce((sum, [, , product]) => sum + product!, 0)).toBeCloseTo(link.product!, 5);
  });

  test("says why there is no score and no product", async () => {
    const weightsOnly = run({}, { has: { scores: false, qkv: false } });
    const matrix = await shownBy(weightsOnly);
    const numbers = createPairNumbers(weightsOnly.stage.source, fake.context.signal);
    await numbers.load(matrix);
    const link = numbers.of(matrix, 1, 2);
    expect(link).toMatchObject({ score: null, product: null, pending: false });
    const card = cardOf(1, 2, matrix, link);
    expect(card.textContent).toContain("N/A: this run has only weights");
    const rolled = numbers.of({ ...matrix, quantity: "rollout" }, 1, 2);
    expect(rolled.absent).toContain("rollout mixes the heads");
  });

  test("is masked where the model forbids it, without a number", () => {
    const allowed = new Uint8Array(N * N).fill(1);
    allowed[1 * N + 3] = 0;
    const matrix = matrixOf(WEIGHTS, { allowed });
    const link = { weight: 0, rank: 1 } as Link;
    const strip = stripOf(run().stage, 1, 3, matrix, link);
    expect(strip.textContent).toContain("cannot see this key");
    expect(strip.querySelector("[data-aw-value]")).toBeNull();
  });
});

describe("the card", () => {
  const names = (card: Element): string[] =>
    [...card.querySelectorAll("dt")].map((name) => name.textContent!);

  test("names both tokens with index, id and tag, and the rank in the row", async () => {
    const made = run();
    const matrix = await shownBy(made);
    const numbers = createPairNumbers(made.stage.source, fake.context.signal);
    await numbers.load(matrix);
    const card = cardOf(2, 3, matrix, numbers.of(matrix, 2, 3));
    expect(text(card)).toContain("querycat2 · id 12 · NOUN");
    expect(text(card)).toContain("keysat3 · id 13 · NOUN");
    const row = [...WEIGHTS.subarray(2 * N, 3 * N)];
    const rank = row.filter((value) => value > row[3]!).length + 1;
    expect(text(card)).toMatch(new RegExp(`${rank}(st|nd|rd|th) of ${N}`));
    expect(names(card)).toEqual(["weight", "scaled score", "q · k"]);
  });

  test("puts the score first where scores are shown", async () => {
    const made = run({ quantity: "scores" });
    const matrix = await shownBy(made);
    const numbers = createPairNumbers(made.stage.source, fake.context.signal);
    await numbers.load(matrix);
    const card = cardOf(2, 3, matrix, numbers.of(matrix, 2, 3));
    expect(names(card).slice(0, 2)).toEqual(["scaled score", "weight"]);
    expect(Number(card.querySelector<HTMLElement>("dd")!.dataset.awValue)).toBe(SCORES[2 * N + 3]);
  });

  test("waits for a score with dots, not with a dash", async () => {
    const made = run();
    const matrix = await shownBy(made);
    const numbers = createPairNumbers(made.stage.source, fake.context.signal);
    const card = cardOf(2, 3, matrix, numbers.of(matrix, 2, 3));
    expect(text(card)).toContain("scaled score…");
  });
});

describe("a group of tokens", () => {
  const values = (strip: Element): number[] =>
    [...strip.querySelectorAll<HTMLElement>("[data-aw-value]")].map((number) =>
      Number(number.dataset.awValue),
    );

  test("is summed as it receives and averaged as it gives", async () => {
    const made = run({ group: [1, 3], token: 2 });
    const matrix = await shownBy(made);
    const strip = groupOf(made.stage, matrix, TOKENS);
    const at = (i: number, j: number): number => WEIGHTS[i * N + j]!;
    const rows = TOKENS.map((_, i) => at(i, 1) + at(i, 3));
    const [row, mean, within, most] = values(strip);
    expect(row).toBeCloseTo(rows[2]!, 12);
    expect(mean).toBeCloseTo(rows.reduce((a, b) => a + b) / N, 12);
    expect(within).toBeCloseTo((rows[1]! + rows[3]!) / 2, 12);
    expect(most).toBeCloseTo(Math.max(...TOKENS.map((_, j) => (at(1, j) + at(3, j)) / 2)), 12);
    expect(text(strip)).toMatch(/^2 tokens: the, sat/);
    strip.querySelector("button")!.click();
    expect(made.stage.state.get().group).toEqual([]);
    expect(groupOf(made.stage, matrix, TOKENS)).toBeNull();
  });

  test("leaves out what is hidden, and says so", async () => {
    const made = run({ group: [0, 2], special: false });
    const strip = groupOf(made.stage, await shownBy(made), TOKENS.slice(1, 4))!;
    expect(text(strip)).toContain("1 token: cat");
    expect(text(strip)).toContain("1 of the group not shown");
  });
});
