/** The view Similarity over made-up answers. */

// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test } from "vitest";
import { similarity } from "../../../src/features/similarity/view";
import { itemAt } from "../../../src/protocol/required";
import type { NdArray, Slice, SliceRequest } from "../../../src/protocol/types";
import { type Fake, fakeRun, opened, settled } from "../../fake";
import { metaOf } from "../../runs";

// jsdom lays nothing out.
globalThis.ResizeObserver ??= class {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
};

const nd = (values: readonly number[]): NdArray => ({
  data: Float32Array.from(values),
  shape: [values.length],
});

const textOf = (words: readonly string[]) => ({
  text: words,
  surface: words,
  before: words.map(() => " "),
  special: words.map(() => false),
  position: words.map((_, i) => i),
  word: words.map((_, i) => i),
  names: words,
  bias: 0,
});

const QUERY = ["reset", "password"];
const SCORES = [0.9, 0.5, 0.2];
/** The passage with which less of the query was read, as rerankers do. */
const CUT = 2;

/** The query and a passage, whose score each word of the query has half of. */
function similarTo(passage: number): Slice {
  const score = itemAt(SCORES, passage);
  const query = passage === CUT ? QUERY.slice(0, 1) : QUERY;
  return {
    data: {
      score,
      kind: "cosine",
      probability: null,
      notes: [],
      matrices: [],
      by: "decomposition",
      a: textOf(query),
      b: textOf(["passage"]),
    },
    arrays: new Map([
      ["a", nd(query.map(() => score / 2))],
      ["b", nd([score])],
    ]),
  };
}

const ranking = {
  query: QUERY.join(" "),
  total: SCORES.length,
  complete: true,
  failed: 0,
  passages: SCORES.map((score, index) => ({ index, text: `passage ${index}`, score })),
};

const element = document.createElement("div");
document.body.append(element);
/** Requests that wait, with the function that answers each. */
let waiting: { readonly passage: number; readonly answer: () => void }[] = [];
let fake: Fake;
let dispose = (): void => undefined;

function draw(ranked: boolean): void {
  const meta = metaOf([QUERY.join(" ")], {
    text: QUERY.join(" "),
    text_pair: "passage",
    similarity: { kind: "cosine", intact: null, ranking: ranked ? ranking : null },
  });
  const answer = (request: SliceRequest): Promise<Slice> => {
    const passage = (request as { passage?: number }).passage ?? 0;
    return new Promise((resolve) => {
      waiting.push({ passage, answer: () => resolve(similarTo(passage)) });
    });
  };
  fake = fakeRun(meta, answer, { acts: true, selection: { words: true } });
  dispose = opened(similarity, element, fake, fake.context).dispose;
}

async function answerAll(): Promise<void> {
  await settled();
  for (const { answer } of waiting.splice(0)) answer();
  await settled();
}

const find = (selector: string): HTMLElement | null => element.querySelector(selector);
const press = (selector: string): void => find(selector)?.click();

beforeEach(() => {
  waiting = [];
});
afterEach(() => dispose());

test("a difference is of the passages that its title names, also while another is awaited", async () => {
  draw(true);
  await answerAll();
  press("[data-against='1']");
  await answerAll();
  const difference = () => {
    const shown = find("[data-aw-part='difference']");
    if (shown === null) return null;
    const ranks = shown.textContent?.match(/Passage (\d) against passage (\d)/)?.slice(1);
    return [...(ranks ?? []), find("[data-aw-part='difference-total']")?.dataset.awValue];
  };
  const of = (first: number, second: number) => {
    const value = itemAt(SCORES, first) - itemAt(SCORES, second);
    return [`${first + 1}`, `${second + 1}`, String(value)];
  };
  expect(difference()).toEqual(of(0, 1));
  press("[data-against='2']");
  await settled();
  expect([null, of(0, 1)]).toContainEqual(difference());
  await answerAll();
  expect(difference()).toEqual(of(0, 2));
  press("[data-passage='1']");
  await settled();
  expect([null, of(0, 2)]).toContainEqual(difference());
  await answerAll();
  expect(difference()).toEqual(of(1, 2));
});

test("words that were not read with the second passage add nothing to its score", async () => {
  draw(true);
  await answerAll();
  press(`[data-against='${CUT}']`);
  await answerAll();
  const changes = [...element.querySelectorAll("[data-aw-part='difference'] tr td")];
  expect(changes.slice(0, 2).map((cell) => cell.textContent)).toEqual(["+0.350", "+0.450"]);
});

test("an open editor leaves the focus to what the reader goes to", async () => {
  draw(false);
  await answerAll();
  press("[data-aw-part='edit-a']");
  await settled();
  expect(document.activeElement).toBe(find("textarea"));
  const word = find("[data-side='b'][data-unit='0']");
  word?.focus();
  await settled();
  expect(document.activeElement).toBe(word);
});
