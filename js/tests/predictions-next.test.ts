// @vitest-environment jsdom

import { afterEach, describe, expect, it } from "vitest";
import { itemAt, required } from "../src/protocol/required";
import type { NdArray } from "../src/protocol/types";
import type { ViewContext } from "../src/views/contract";
import { atTemperature, slicedSoftmax, surpriseOf } from "../src/views/predictions/data";
import { predictions } from "../src/views/predictions/view";
import { settled } from "./fake";
import { type Run, run } from "./figures-run";
import {
  descending,
  describe as describeList,
  LOGITS,
  predictionArrays,
} from "./prediction-figures";
import { float32, IDS, N, softmax } from "./tiny-text";

let dispose: () => void = () => undefined;
let element: HTMLElement;
let table: ReturnType<typeof predictions>["table"];

/** Probability of the token that follows each position, by definition. */
const FOLLOWS = IDS.map((_, i) =>
  i + 1 < N ? itemAt(softmax(itemAt(LOGITS.next, i)), itemAt(IDS, i + 1)) : Number.NaN,
);
const BITS = FOLLOWS.map((probability) => -Math.log2(probability));
const RANKS = IDS.map((_, i) =>
  i + 1 < N ? descending(itemAt(LOGITS.next, i)).indexOf(itemAt(IDS, i + 1)) + 1 : 0,
);

/** A decoder's run: what a kernel sends in mode "next"; `acts`: it can be run again. */
function draw(acts = false): Run {
  const made = run();
  const { source } = made.context;
  const arrays = new Map<string, NdArray>([
    ...source.arrays,
    ...predictionArrays("next", 5),
    ["original_rank", { data: Int32Array.from(RANKS), shape: [N] }],
    ["original_probability", float32(FOLLOWS, N)],
    ["next_surprisal", float32(BITS, N)],
  ]);
  const meta = {
    ...source.meta,
    predictions: { ...describeList("next", 5), opens: "next" as const },
  };
  element = document.createElement("div");
  document.body.append(element);
  const decoder = Object.create(source, { arrays: { value: arrays }, meta: { value: meta } });
  const act: ViewContext["act"] = async (action) => void made.acts.push(action);
  const drawn = predictions(element, {
    ...made.context,
    source: decoder,
    ...(acts ? { act } : {}),
  });
  dispose = drawn.dispose;
  table = drawn.table;
  return made;
}
afterEach(() => {
  dispose();
  element?.remove();
});

describe("the table of a decoder's guesses", () => {
  it("has in a row the rank, probability and surprisal of its own token, which the position before predicts", async () => {
    draw();
    await settled();
    const { columns, rows } = required(await table?.(), "The table");
    expect(columns.slice(-3)).toEqual(["token_rank", "token_probability", "token_surprisal"]);
    const first = rows.filter((row) => row[2] === 1);
    expect(first.map((row) => row[0])).toEqual(IDS.map((_, i) => i));
    expect(first[0]?.slice(-3)).toEqual([Number.NaN, Number.NaN, Number.NaN]);
    for (const [i, row] of first.slice(1).entries()) {
      const [rank, probability, bits] = row.slice(-3) as [number, number, number];
      expect(rank).toBe(RANKS[i]);
      expect(probability).toBeCloseTo(itemAt(FOLLOWS, i), 6);
      expect(bits).toBeCloseTo(itemAt(BITS, i), 4);
    }
  });
});

const row = (position: number): HTMLElement =>
  element.querySelector(`.aw-position[data-position='${position}']`) as HTMLElement;

describe("the token that follows", () => {
  it("has its rank, probability and surprisal after each token", async () => {
    draw();
    await settled();
    for (let i = 0; i + 1 < N; i++) {
      const { dataset } = row(i).querySelector<HTMLElement>(".aw-original") as HTMLElement;
      expect(Number(dataset.tokenId)).toBe(IDS[i + 1]);
      expect(Number(dataset.awRank)).toBe(RANKS[i]);
      expect(Number(dataset.awValue)).toBe(Math.fround(itemAt(FOLLOWS, i)));
      expect(Number(dataset.awBits)).toBe(Math.fround(itemAt(BITS, i)));
    }
    const marked = [...element.querySelectorAll<HTMLElement>(".aw-prediction.is-original")];
    for (const { dataset } of marked)
      expect(Number(dataset.tokenId)).toBe(IDS[Number(dataset.position) + 1]);
  });

  it("is to come after the last one", async () => {
    draw();
    await settled();
    expect(row(N - 1).querySelector("[data-aw-rank]")).toBeNull();
    expect(row(N - 1).textContent).toContain("would come next");
    expect(row(N - 1).querySelectorAll(".aw-prediction")).toHaveLength(5);
  });

  it("offers no mask and no other input, and sums up surprisal and perplexity", async () => {
    draw();
    await settled();
    expect(element.querySelector(".aw-mask-token")).toBeNull();
    expect(element.querySelector(".aw-segmented")).toBeNull();
    const known = BITS.slice(0, -1);
    const mean = known.reduce((a, b) => a + b) / known.length;
    const found = surpriseOf({ surprisal: float32(BITS, N) });
    expect(found?.mean).toBeCloseTo(mean, 5);
    expect(found?.perplexity).toBeCloseTo(2 ** mean, 4);
    expect(element.querySelector(".aw-predictions-status")?.textContent).toContain("perplexity");
  });
});

describe("a click on a guess", () => {
  const guess = (position: number, rank: number) =>
    row(position).querySelector<HTMLElement>(`[data-column="${rank}"]`) as HTMLElement;
  const follows = (position: number) =>
    row(position).querySelector<HTMLElement>(".aw-original, .aw-comes-next") as HTMLElement;

  const chosen = () =>
    element.querySelector<HTMLElement>(".aw-terms [aria-current] button")?.dataset.tokenId;

  it("continues the text with it, and what follows opens the softmax", async () => {
    const { acts } = draw(true);
    await settled();
    guess(2, 3).click();
    await settled();
    const token = Number(guess(2, 3).dataset.tokenId);
    expect(acts).toEqual([{ kind: "continue", position: 2, token }]);
    expect(element.querySelector(".aw-softmax")).toBeNull();
    follows(2).click();
    await settled();
    expect(follows(2).getAttribute("aria-expanded")).toBe("true");
    expect(chosen()).toBe(String(IDS[3]));
    // After the last token nothing follows yet: the softmax opens on the first guess.
    follows(N - 1).click();
    await settled();
    expect(chosen()).toBe(guess(N - 1, 1).dataset.tokenId);
    expect(acts).toHaveLength(1);
  });

  it("opens its softmax where nothing can be run", async () => {
    draw();
    await settled();
    guess(1, 2).click();
    await settled();
    expect(guess(1, 2).getAttribute("aria-expanded")).toBe("true");
    expect(element.querySelector(".aw-softmax")).not.toBeNull();
  });
});

describe("temperature", () => {
  const logits = itemAt(LOGITS.next, 1);
  const largest = Math.max(...logits);
  const sum = (t: number): number => logits.reduce((s, z) => s + Math.exp((z - largest) / t), 0);
  const opened = slicedSoftmax({
    data: {
      position: 1,
      logit_max: largest,
      sum_exp: sum(1),
      vocab_size: logits.length,
      entries: descending(logits).map((id, k) => ({
        id,
        token: String(id),
        logit: itemAt(logits, id),
        exp: Math.exp(itemAt(logits, id) - largest),
        probability: Math.exp(itemAt(logits, id) - largest) / sum(1),
        rank: k + 1,
      })),
      temperatures: [0.5, 1, 2].map((t) => [t, sum(t)]),
    },
    arrays: new Map(),
  });

  it.each([0.5, 1, 2])("%d divides the logits", (t) => {
    const expected = softmax(logits.map((z) => z / t));
    for (const { id, probability, logit, exp } of atTemperature(opened, t).entries) {
      expect(probability).toBeCloseTo(itemAt(expected, id), 12);
      expect(exp / sum(t)).toBeCloseTo(probability, 12);
      expect(logit).toBeCloseTo(itemAt(logits, id) / t, 12);
    }
  });

  it("that has no sum changes nothing", () => {
    expect(atTemperature(opened, 0.7)).toBe(opened);
  });
});
