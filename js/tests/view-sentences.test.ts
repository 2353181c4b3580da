// @vitest-environment jsdom
/** The sentence on top of a view, as its rule has it (docs/opening.md). */

import { h } from "preact";
import { describe, expect, it } from "vitest";
import { firstUnits } from "../src/draw/text-line";
import { InsideSentence } from "../src/features/inside/sentence";
import { takenFrom } from "../src/features/inside/taken";
import { OneSentence, openingRow, SentencesSentence } from "../src/features/sentences/sentence";
import { classesInWords, isUndecided, type Push, pushOf } from "../src/features/tasks/sentence";
import { grow } from "../src/features/tree/grown";
import { influenceTree } from "../src/features/tree/influence";
import { pathsOf, TreeSentence } from "../src/features/tree/sentence";
import { explainedOf } from "../src/features/why/both-texts";
import type { Contributions } from "../src/features/why/data";
import { decidingWord, WhySentence } from "../src/features/why/sentence";
import { type Classification, classesOf } from "../src/figures/classes";
import { tokenScheme } from "../src/figures/format";
import { isStart } from "../src/figures/guess";
import type { Matrix } from "../src/figures/matrix";
import { nothingToSee, wordsOf } from "../src/figures/nothing-to-see";
import { isWhole } from "../src/figures/whole-words";
import { itemAt } from "../src/protocol/required";
import type { Meta, Source } from "../src/protocol/types";
import { TextWord } from "../src/ui/word";
import { type Link, linkOf } from "../src/views/heads/link";
import { HeadSentence, NO_STANDINGS, standingsIn } from "../src/views/heads/sentence";
import type { Predictions } from "../src/views/predictions/data";
import { PredictionsSentence } from "../src/views/predictions/sentence";
import { mostSurprising, subjectOf } from "../src/views/predictions/subject";
import { drawn } from "./drawn";
import { metaOf } from "./runs";

const TEXTS = ["[CLS]", "the", "keys", "are", "here", "[SEP]"];
const META = metaOf(TEXTS);
const sourceOf = (meta: Meta, arrays: Source["arrays"] = new Map()): Source => ({
  ...{ meta, arrays, live: true },
  ask: () => Promise.reject(new Error("asks nothing")),
});
/** Tokens that the words of the last sentence choose, one after the other. */
let chosen: number[] = [];
const choose = (token: number): void => {
  chosen.push(token);
};
/** `–` of a line that will say nothing. */
const textOf = (part: Parameters<typeof drawn>[0]): string => {
  const line = drawn(part);
  if (line.dataset.awSilent !== undefined) return "–";
  chosen = [];
  for (const word of line.querySelectorAll("button")) word.click();
  return line.hidden ? "" : (line.textContent ?? "");
};

describe("Heads", () => {
  const found = (raw: Record<string, number[]>, chance: number, next?: number[]) => ({
    specialization: {
      keys: Object.keys(raw),
      values: (_: string, key: string) => raw[key] ?? [],
      chance: (key: string) => (key === "entities" ? Number.NaN : chance),
      reasons: {},
      notes: [],
    },
    patterns:
      next === undefined ? null : { keys: ["next"], values: () => next, chance: () => chance },
  });
  const spread = [3, 1.5, 2, 2, 2, 2];
  const PROPS = { source: sourceOf(META), layer: 0, head: 1, choose } as const;
  const say = (
    answer: ReturnType<typeof found> | null,
    head: number | "mean" = 1,
    source = sourceOf(META),
    keys = spread,
  ): string =>
    textOf(
      h(HeadSentence, {
        ...{ source, layer: 0, head, choose },
        standings: standingsIn(source, { layer: 0, head }, answer, keys),
      }),
    );

  it("says in what it stands out among all heads, with chance", () => {
    const raw = { cls: [0.1, 0.1, 0.1, 0.1, 0.1, 0.4], syntax: [0.1, 0.3, 0.2, 0.1, 0.1, 0.1] };
    expect(say(found(raw, 0.15))).toBe(
      "L0 · H1 is 1st of the 6 heads in attention to function words: 30%, chance 15%.",
    );
    expect(say(found({ syntax: raw.syntax }, 0.2, [0, 0.9, 0, 0, 0, 0]))).toContain(
      "1st of the 6 heads in attention to the next token: 90%",
    );
    expect(say(found({ cls: [0.1, 0.1, 0.1, 0.4, 0.4, 0.4] }, 0.2), "mean")).toBe(
      "Layer 0 is the widest of the 2 layers: a token looks at about 2.2 tokens (mean of its heads).",
    );
  });

  it("calls a sink a sink, and says what else stands out", () => {
    const cls = [0.9, 0.8, 0.1, 0.1, 0.1, 0.1];
    expect(say(found({ cls, syntax: [0.1, 0.15, 0.2, 0.1, 0.1, 0.1] }, 0.1), 0)).toBe(
      "L0 · H0 is a sink, as is another head: [CLS] gets 90% of a query’s attention, chance 10%; it is the widest of the 6 heads: a token looks at about 3.0 tokens.",
    );
    expect(say(found({ cls, previous: [0, 0.3, 0, 0, 0, 0] }, 0.1))).toContain(
      "; it is 1st of the 6 heads in attention to the previous token: 30%, chance 10%.",
    );
    // Most heads of a decoder are.
    const most = [0.9, 0.8, 0.7, 0.6, 0.1, 0.1];
    expect(say(found({ cls: most, previous: [0, 0.3, 0, 0, 0, 0] }, 0.1))).toBe(
      "L0 · H1 is 1st of the 6 heads in attention to the previous token: 30%, chance 10%.",
    );
  });

  it("is silent of an ordinary head; names no rank below the third, and none that is near chance", () => {
    const keys = [3, 2, 1, 1, 1, 1];
    const syntax = [0.3, 0.25, 0.4, 0.1, 0.1, 0.1];
    const say2 = (self: number, chance = 0.2) =>
      say(
        found({ syntax, self: [0.3, self, 0.1, 0.1, 0.1, 0.1] }, chance),
        1,
        sourceOf(META),
        keys,
      );
    expect(say2(0.33)).toBe("–");
    expect(say2(0.34)).toBe(
      "L0 · H1 is 1st of the 6 heads in attention to the token itself: 34%, chance 20%.",
    );
    // Of what is half by chance no head gives twice as much.
    expect(say2(0.7, 0.5)).toContain("itself: 70%, chance 50%.");
    expect(say2(0.66, 0.5)).toBe("–");
    // 2nd of 6 is no seventh; among many the fourth is none.
    const of = (self: number[], chance = 0.05) =>
      say(
        found({ self }, chance),
        1,
        sourceOf({ ...META, model: { ...META.model, n_layers: 8, n_heads: 9 } }),
        Array.from({ length: 72 }, (_, i) => (i === 1 ? 5 : i)),
      );
    const less = (larger: number) =>
      Array.from({ length: 72 }, (_, i) => (i === 1 ? 0.3 : i > 1 && i < 2 + larger ? 0.4 : 0.1));
    expect(of(less(2))).toContain("is 3rd of the 72 heads in attention to the token itself: 30%");
    expect(of(less(3))).toBe("–");
    const both = { syntax: [0.1, 0.22, 0.2, 0.1, 0.1, 0.1], self: [0.1, 0.34, 0.1, 0.1, 0.1, 0.1] };
    expect(say(found(both, 0.2), 1, sourceOf(META), keys)).toContain("to the token itself: 34%");
  });

  it("says behind it what else the head links, and nothing of the focus token's link", () => {
    const link: Link = {
      ...{ query: "door", key: "lock", tokens: [4, 1] },
      ...{ weight: { value: 0.4, error: 0 }, chance: 0.1 },
    };
    const tell = (raw: Record<string, number[]>): string => {
      const standings = standingsIn(PROPS.source, PROPS, found(raw, 0.2), [3, 2, 1, 1, 1, 1]);
      return textOf(h(HeadSentence, { ...PROPS, standings, link }));
    };
    const also = "also links door to lock: 40%, chance 10%.";
    expect(tell({ syntax: [0.3, 0.25, 0.4, 0.1, 0.1, 0.1] })).toBe(`L0 · H1 ${also}`);
    expect(chosen).toEqual([4, 1]);
    expect(tell({ cls: [0.1, 0.8, 0.9, 0.1, 0.1, 0.1] })).toBe(
      `L0 · H1 is a sink, as is another head: [CLS] gets 80% of a query’s attention, chance 20%. It ${also}`,
    );
    expect(tell({ syntax: [0.1, 0.5, 0.2, 0.1, 0.1, 0.1] })).toBe(
      `L0 · H1 is 1st of the 6 heads in attention to function words: 50%, chance 20%. It ${also}`,
    );
  });

  it("counts a repeated key in its own text, and makes none of another text the focus", () => {
    const { tokens: keys } = metaOf(["[CLS]", "door", "lock", "door", "opens"]);
    const source = sourceOf({ ...META, keys });
    const link: Link = {
      ...{ query: "keys", key: "door", tokens: [2, 3] },
      ...{ weight: { value: 0.6, error: 0 }, chance: 0.1 },
    };
    const standings = standingsIn(source, PROPS, found({ self: spread }, 0.2), spread);
    expect(textOf(h(HeadSentence, { ...PROPS, source, standings, link }))).toMatch(
      /links keys to door \(2nd\): 60%, chance 10%/,
    );
    expect(chosen).toEqual([2]);
  });

  it("counts equal words, not pieces that are equal", () => {
    const tokens = metaOf(["[CLS]", "a", "wind", "##mill", "a", "wind"]).tokens;
    const tell = (text: string, position: number) =>
      textOf(h(TextWord, { text, tokens, position, choose }));
    expect(tell("windmill", 2)).toBe("windmill");
    expect(tell("wind", 5)).toBe("wind");
    expect(tell("a", 1)).toBe("“a” (1st)");
    const said = metaOf(["[CLS]", "I", "'m", "John", "'s"]).tokens;
    const quoted = (text: string, position: number) =>
      textOf(h(TextWord, { text, tokens: said, position, choose }));
    expect([quoted("I'm", 1), quoted("John's", 3)]).toEqual(["“I'm”", "John's"]);
  });

  it("finds a link of another word than the focus token, a pronoun as well; no neighbors", () => {
    const found = (cells: Record<number, number>, words: readonly string[], focus = 1) => {
      const meta = metaOf(["[CLS]", ...words, "[SEP]"]);
      const axis = firstUnits(meta, true);
      const size = axis.length;
      return linkOf(
        {
          ...{ layer: 0, head: 0, quantity: "weights", queries: axis, keys: axis, allowed: null },
          weights: Float32Array.from({ length: size * size }, (_, cell) => cells[cell] ?? 0),
          queryOf: () => focus,
        } as never,
        focus,
        meta.tokens,
        meta.tokens,
      );
    };
    const english = ["it", "keys", "lock", "the", "doors"];
    const cells = {
      ...{ [7 + 2]: 0.9, [5 * 7 + 2]: 0.4, [3 * 7 + 2]: 0.8 },
      ...{ [2 * 7 + 4]: 0.7, [4 * 7 + 2]: 0.9 },
    };
    const link = { query: "doors", key: "keys", weight: { value: Math.fround(0.4) } };
    expect(found(cells, english)).toMatchObject(link);
    // Three times the odds of chance, one to six.
    expect(found({ [5 * 7 + 2]: 0.33 }, english)).toBeNull();
    expect(found({ [5 * 7 + 2]: 0.34 }, english)).not.toBeNull();
    expect(found(cells, english, 5)).toBeNull();
    expect(found({ [7 + 3]: 0.6 }, english, 5)).toMatchObject({ query: "it", key: "lock" });
    expect(found({ [4 * 7 + 2]: 0.6 }, english, 5)).toBeNull();
    expect(found(cells, english, -1)).toMatchObject(link);
    // A preposition of a text in French is none, whatever it gets.
    const french = ["le", "chat", "dort", "sur", "le", "lit"];
    expect(found({ [4 * 8 + 2]: 0.9 }, french)).toBeNull();
  });

  it("says nothing before the figures are known, and of a text without them how widely it spreads", () => {
    const line = "L0 · H1 is the narrowest of the 6 heads: a token looks at about 1.5 tokens.";
    expect(textOf(h(HeadSentence, { ...PROPS, standings: NO_STANDINGS }))).toBe("");
    expect(say(null)).toBe(line);
    expect(say(found({ entities: [Number.NaN, Number.NaN, Number.NaN] }, 0.2))).toBe(line);
  });

  it("of a profile says the interval, and no chance", () => {
    const values = [0.1, 0.5, 0.1, 0.1, 0.1, 0.1];
    const ends = (value: number) => ({
      data: Float32Array.from(values, () => value),
      shape: [2, 3],
    });
    const profile = { n_texts: 400, n_tokens: 9, seed: 0, tagger: "none", keys: ["self"] };
    const source = sourceOf(
      { ...META, profile },
      new Map([
        ["low:self", ends(0.25)],
        ["high:self", ends(0.75)],
      ]),
    );
    expect(say(found({ self: values }, Number.NaN), 1, source)).toBe(
      "Over 400 texts, L0 · H1 is 1st of the 6 heads in attention to the token itself: 50% (95% interval 25% to 75%).",
    );
  });
});

describe("A word behind a contraction", () => {
  it("is whole", () => {
    const { tokens } = metaOf(["I", "'m", "glad"]);
    const joined = { ...tokens, before: ["", "", " "] };
    expect([0, 1, 2].map((i) => isWhole(joined, i))).toEqual([true, false, true]);
  });
});

describe("Boilerplate", () => {
  const meta = metaOf(["[CLS]", "helpful", "assistant", "[SEP]", "rivers", "flow"]);
  const boilerplate = [false, true, true, false, false, false];
  const tokens = { ...meta.tokens, boilerplate };

  it("has no words, and surprises nobody", () => {
    expect(wordsOf(tokens).map(({ token }) => token)).toEqual([4, 5]);
    expect([1, 2, 4].map((i) => isWhole(tokens, i))).toEqual([false, false, true]);
    const surprisal = { data: Float32Array.from([9, 8, 7, 3, 6, Number.NaN]), shape: [6] };
    expect(mostSurprising({ surprisal }, meta.tokens)).toEqual({
      position: 1,
      of: "after the first word, ",
    });
    expect(mostSurprising({ surprisal }, tokens)).toEqual({ position: 4, of: "" });
  });
});

describe("Predictions", () => {
  const VOCABULARY = { 1: ",", 2: "##ing", 3: "t", 4: "man", 5: "°c", 6: "die" };
  const of = (
    texts: readonly string[],
    probabilities: number[],
    known: number[],
    ids: number[],
    rank = 77,
  ) => {
    const meta = metaOf(texts);
    const nd = (values: number[]) => ({ data: Float32Array.from(values), shape: [values.length] });
    const flat = nd(texts.map(() => 0));
    const predictions: Predictions = {
      ...({ mode: "masked" } as const),
      ...{ topK: ids.length, known: new Set(known), vocabulary: VOCABULARY },
      ids: nd(texts.flatMap(() => ids)),
      probabilities: nd(texts.flatMap(() => ids.map((_, k) => 0.5 / 2 ** k))),
      ...{ logits: flat, logitMax: flat, logSumExp: flat, surprisal: null },
      originalRank: nd(texts.map(() => rank)),
      originalProbability: nd(probabilities),
    };
    return { meta, predictions };
  };
  const say = (...given: Parameters<typeof of>): string => {
    const { meta, predictions } = of(...given);
    const subject = subjectOf(predictions, given[2], meta);
    const scheme = tokenScheme([...given[0], ...Object.values(VOCABULARY)], meta.tokens.surface);
    return textOf(h(PredictionsSentence, { predictions, subject, meta, scheme, choose }));
  };

  it("names a word that is expected, no mark, piece or letter, and none where there is none", () => {
    const texts = ["[CLS]", "keys", "rust", ".", "[SEP]"];
    const p = [1, 0.5, 0.25, 0.125, 1];
    const lead = "With each word hidden in turn, rust surprises the model most: 25%, 77th";
    expect(say(texts, p, [1, 2, 3], [4, 1])).toBe(`${lead}, where it expects man: 50%.`);
    // A mark is no word; nor is a unit, which has its letter.
    expect(say(texts, p, [1, 2, 3], [1, 4])).toBe(
      `${lead}, where it expects the sign “,”: 50%, then man: 25%.`,
    );
    expect(say(texts, p, [1, 2, 3], [5, 2, 3, 3, 4])).toBe(
      `${lead}, where it expects the sign °c: 50%.`,
    );
    expect(say(texts, p, [1, 2, 3], [5, 2])).toBe(`${lead}, where it expects the sign °c: 50%.`);
    expect(say(texts, p, [1, 2, 3], [2, 3, 4])).toBe(
      `${lead}, where the likeliest word is man: 13%.`,
    );
    expect(say(texts, p, [1, 2, 3], [2, 3])).toBe(`${lead}.`);
    expect(say(texts, p, [1, 2, 3], [4, 1], 7)).toBe("–");
    const pieces = ["[CLS]", "keys", "rust", "##y", "[SEP]"];
    expect(say(pieces, p, [1, 2, 3], [4, 1])).toMatch(
      /^With each token hidden in turn, of the words of one token keys /,
    );
  });

  it("quotes *die* where the text is German", () => {
    const expected = (texts: string[]) =>
      say(["[CLS]", ...texts, "[SEP]"], [1, ...texts.map(() => 0.001), 1], [1, 2, 3], [6]);
    expect(expected(["der", "Hund", "schläft"])).toContain("expects “die”: 50%");
    expect(expected(["all", "plants", "rot"])).toContain("expects die: 50%");
  });

  it("names no short word of another language", () => {
    const texts = ["[CLS]", "der", "Hund", "schläft", "[SEP]"];
    expect(say(texts, [1, 0.001, 0.25, 0.5, 1], [1, 2, 3], [4])).toContain("Hund surprises");
    const pieces = ["[CLS]", "der", "Hu", "##nd", "los", "[SEP]"];
    expect(say(pieces, [1, 0.001, 0.25, 0.5, 0.5, 1], [1, 2, 3, 4], [4])).toBe(
      "The model has no content word of this text as one token, so what the model expects in place of one tells little.",
    );
  });

  it("says of a run that has stopped what it has read, and of one word that it is alone", () => {
    const texts = ["[CLS]", "keys", "rust", "here", "[SEP]"];
    expect(say(texts, [1, 0.5, 0.25, 0, 1], [1, 2], [4])).toBe(
      "With 2 of 3 tokens hidden, each in turn, rust surprises the model most: 25%, 77th, where it expects man: 50%.",
    );
    expect(say(["[CLS]", "keys", "[SEP]"], [1, 0.5, 1], [1], [4])).toBe(
      "This text is a single word, so there is nothing to predict it from.",
    );
  });

  it("says of pieces and marks alone that they tell little, and passes over them in a decoder's text", () => {
    expect(
      say(["[CLS]", "key", "##s", "door", "##s", "[SEP]"], [1, 0.5, 0.5, 1, 1, 1], [1, 2], [4]),
    ).toMatch(/^The model knows no word of this text as a whole, only pieces, so what the model/);
    const { tokens } = metaOf(["the", "key", "##s", ".", "rust", "."]);
    const surprisal = { data: Float32Array.from([9, 8, 7, 3, 6, Number.NaN]), shape: [6] };
    expect(mostSurprising({ surprisal }, tokens)).toEqual({
      position: 3,
      of: "of the words of one token after the first two tokens, ",
    });
  });
});

describe("Predictions of a decoder", () => {
  const texts = ["<s>", "ĠThe", "Ġdesert", "Ġis", "Ġvast", "Ġmirror", "."];
  const VOCABULARY = { 1: "Ġvast", 2: "Ġland", 3: "Ġmirror", 4: "Ġsea", 5: "<|im_end|>", 6: "ĠIt" };
  const NEXT: Readonly<Record<number, readonly [number, number][]>> = {
    3: [
      [1, 0.1],
      [2, 0.08],
    ],
    4: [
      [3, 0.7],
      [4, 0.2],
    ],
    6: [
      [5, 0.9],
      [6, 0.015],
    ],
  };
  const meta: Meta = (() => {
    const of = metaOf(texts, { written: 4 });
    const surface = texts.map((text) => text.replace("Ġ", ""));
    const before = texts.map((text) => (text.startsWith("Ġ") ? " " : ""));
    const special = texts.map((_, i) => i === 0);
    const id = [90, 91, 92, 93, 1, 3, 94];
    return { ...of, tokens: { ...of.tokens, id, surface, before, special } };
  })();
  const say = (own: number[], change: Partial<Meta> = {}): string => {
    const at = (k: number, part: 0 | 1) => texts.map((_, i) => NEXT[i]?.[k]?.[part] ?? 0);
    const both = (part: 0 | 1) =>
      texts.flatMap((_, i) => [at(0, part)[i] ?? 0, at(1, part)[i] ?? 0]);
    const nd = (values: number[]) => ({ data: Float32Array.from(values), shape: [values.length] });
    const flat = nd(texts.map(() => 0));
    const predictions: Predictions = {
      ...({ mode: "next" } as const),
      ...{ topK: 2, known: new Set(texts.keys()), vocabulary: VOCABULARY },
      ...{ ids: nd(both(0)), probabilities: nd(both(1)) },
      ...{ logits: flat, logitMax: flat, logSumExp: flat },
      surprisal: nd(own.map((p) => -Math.log2(p))),
      ...{ originalRank: nd(texts.map(() => 1)), originalProbability: nd(own) },
    };
    const run = { ...meta, ...change };
    return textOf(
      h(PredictionsSentence, { predictions, subject: 6, meta: run, scheme: "byte-level", choose }),
    );
  };

  it("say of which written word the model was least sure, and what else it might have written", () => {
    expect(say([0.01, 0.01, 0.01, 0.1, 0.7, 0.9, 1])).toBe(
      "Of the words that it wrote the model was least sure of vast: 10%; it might have written land: 8.0%; it would end here: 90%.",
    );
    expect(say([0.01, 0.01, 0.01, 0.95, 0.92, 0.9, 1])).toMatch(
      /^Of the words that it wrote the model was sure, least of mirror: 92%/,
    );
  });

  it("say of which words, where another one was less sure", () => {
    // “is” is a function word; a content word is named before it.
    expect(say([0.01, 0.01, 0.05, 0.1, 0.7, 0.9, 1], { written: 3 })).toMatch(
      /^Of the content words that it wrote the model was least sure of vast: 10%/,
    );
  });

  it("say how it goes on where it wrote nothing", () => {
    const own = [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1];
    expect(say(own, { written: texts.length })).toMatch(/^The model would end here: 90%/);
    expect(isStart("<|im_start|>") && !isStart("<|im_end|>") && !isStart("</s>")).toBe(true);
    expect(isStart("the") || isStart("<")).toBe(false);
  });
});

describe("Tree", () => {
  const squareOf = (weights: number[], size: number): Matrix => {
    const units = Array.from({ length: size });
    return {
      weights: Float32Array.from(weights),
      allowed: null,
      queries: units,
      keys: units,
    } as never;
  };
  const linksOf = (weights: number[], size: number) =>
    pathsOf({
      whole: influenceTree({ weights: Float32Array.from(weights), allowed: null, size }, 0, {
        topK: 2,
        depth: 3,
      }),
      matrix: squareOf(weights, size),
      link: (from, to) => ({
        value: itemAt(weights, from.unit * size + to.unit),
        error: 0,
        chance: 0,
      }),
    }).map((path) => path.map((link) => link && [link.to.unit, link.value]));

  it("goes from the root to its tokens, and on, or back, which the tree leaves out", () => {
    expect(linksOf([0.5, 0.3, 0.2, 0.1, 0.2, 0.7, 0.4, 0.3, 0.3], 3)).toEqual([
      [
        [1, 0.3],
        [2, 0.7],
      ],
      [
        [2, 0.2],
        [0, 0.4],
      ],
    ]);
  });

  it("ends with the tokens that there are", () => {
    expect(linksOf([1], 1)).toEqual([]);
    expect(linksOf([0.5, 0.5, 0, 1], 2)).toEqual([[[1, 0.5], null]]);
  });

  it("opens a branch above chance, and tells a second step to a whole content word", () => {
    const say = (second: number, third = "big"): string => {
      const meta = metaOf(["[CLS]", "trophy", "suitcase", third, "[SEP]"]);
      const units = firstUnits(meta, true);
      const rows = [
        [0.2, 0.2, 0.2, 0.2, 0.2],
        [0.1, 0.1, 0.6, 0.1, 0.1],
        [0.05, 0.1, 0.1, second, 0.75 - second],
        [0.2, 0.2, 0.2, 0.2, 0.2],
        [0.2, 0.2, 0.2, 0.2, 0.2],
      ];
      const matrix = {
        ...{ layer: 0, head: 0, quantity: "weights", queries: units, keys: units, allowed: null },
        ...{ weights: Float32Array.from(rows.flat()), queryOf: (token: number) => token },
      } as never;
      const of = grow(matrix, 1, { topK: 2, depth: 3, bare: false }, sourceOf(meta));
      const [suitcase] = of.whole.childrenOf(of.whole.root);
      const line = textOf(h(TreeSentence, { of, tokens: meta.tokens }));
      return `${line} ${of.leadsOn(suitcase!)}`;
    };
    expect(say(0.7)).toBe(
      "From trophy the path leads to suitcase, which gives 70% to big, chance 20%. true",
    );
    // A special token, a function word, a piece, an unknown word: the link to suitcase is told elsewhere.
    expect(say(0.05)).toBe("– true");
    for (const third of ["of", "##s", "[UNK]"]) expect(say(0.7, third)).toBe("– true");
    const words = (...rows: number[][]): string => {
      const meta = metaOf(["cat", "dog", "bird"]);
      const three = { ...meta, tokens: { ...meta.tokens, before: ["", " ", " "] } };
      const axis = firstUnits(three, true);
      const matrix = {
        ...{ layer: 0, head: 0, quantity: "weights", queries: axis, keys: axis, allowed: null },
        ...{ weights: Float32Array.from(rows.flat()), queryOf: (token: number) => token },
      } as never;
      const of = grow(matrix, 0, { topK: 2, depth: 3, bare: false }, sourceOf(three));
      const [dog, bird] = of.whole.childrenOf(of.whole.root);
      const line = textOf(h(TreeSentence, { of, tokens: three.tokens }));
      return `${line} ${of.leadsOn(of.whole.root)} ${of.leadsOn(dog!)} ${of.leadsOn(bird!)}`;
    };
    const even = [0.3, 0.4, 0.3];
    expect(words([0.1, 0.6, 0.3], even, even)).toBe("– true false false");
    const alike = [0.34, 0.33, 0.33];
    expect(words([0, 0.6, 0.4], alike, even)).toMatch(/^– /);
    expect(words([0, 0.5, 0.5], even, even)).toMatch(/^– /);
    // A way back is none.
    expect(words([0.1, 0.6, 0.3], [0.6, 0.1, 0.3], even)).toMatch(/^– /);
    expect(words([0.1, 0.6, 0.3], [0.1, 0.3, 0.6], even)).toMatch(
      /^From cat the path leads to dog, which gives 60% to bird, chance 33%\./,
    );
  });

  it("tells of the path of another word where the root's ends, and not by the root's own link", () => {
    const plain = metaOf(["cat", "the", "dog", "of", "bird", "a", "tree"]);
    const before = ["", " ", " ", " ", " ", " ", " "];
    const meta = { ...plain, tokens: { ...plain.tokens, before } };
    const units = firstUnits(meta, true);
    const say = (links: readonly (readonly [from: number, to: number, weight: number])[]) => {
      const weights = Float32Array.from({ length: 49 }, () => 0.02);
      for (const [from, to, weight] of links) weights[from * 7 + to] = weight;
      const matrix = {
        ...{ layer: 0, head: 0, quantity: "weights", queries: units, keys: units, allowed: null },
        ...{ weights, queryOf: (token: number) => token },
      } as never;
      const of = grow(matrix, 0, { topK: 1, depth: 3, bare: false }, sourceOf(meta));
      return textOf(h(TreeSentence, { of, tokens: meta.tokens, choose }));
    };
    const root = [0, 2, 0.8] as const;
    const [on, far] = [[6, 4, 0.5] as const, [4, 0, 0.35] as const];
    expect(say([root, on, far])).toBe(
      "From tree the path leads to bird, which gives 35% to cat, chance 14%.",
    );
    expect(chosen).toEqual([6, 4, 0]);
    expect(say([root, on])).toBe("–");
    // A neighbor, and a link near chance.
    expect(say([root, [6, 5, 0.5], far])).toBe("–");
    expect(say([root, on, [4, 0, 0.33]])).toBe("–");
    expect(say([root, [6, 0, 0.5]])).toBe("–");
  });

  it("makes a word of it the root by a click", () => {
    const plain = metaOf(["cat", "dog", "bird"]);
    const meta = { ...plain, tokens: { ...plain.tokens, before: ["", " ", " "] } };
    const units = firstUnits(meta, true);
    const matrix = {
      ...{ layer: 0, head: 0, quantity: "weights", queries: units, keys: units, allowed: null },
      weights: Float32Array.of(0.1, 0.6, 0.3, 0.3, 0.1, 0.6, 0.3, 0.4, 0.3),
      queryOf: (token: number) => token,
    } as never;
    const of = grow(matrix, 0, { topK: 2, depth: 3, bare: false }, sourceOf(meta));
    const chosen: number[] = [];
    const choose = (token: number) => void chosen.push(token);
    const line = drawn(h(TreeSentence, { of, tokens: meta.tokens, choose }));
    const words = [...line.querySelectorAll<HTMLElement>("button")];
    expect(words.map(({ textContent }) => textContent)).toEqual(["cat", "dog", "bird"]);
    for (const word of words) word.click();
    expect(chosen).toEqual([0, 1, 2]);
  });
});

describe("A text", () => {
  it("of words most of which the model does not know tells little", () => {
    const say = (...texts: string[]) => nothingToSee(metaOf(["[CLS]", ...texts, "[SEP]"]).tokens);
    expect(say("[UNK]", "tea", "[UNK]", ".")).toBe(
      "The model knows 1 of the 3 words of this text, so its links tell little.",
    );
    expect(say("[UNK]", "tea", "cup")).toBeNull();
    // Of a script without spaces single characters are counted, and called so.
    const written = (...surfaces: string[]) => {
      const { tokens } = metaOf(surfaces);
      const text = surfaces.map((one) => (/[茶。a-z]/.test(one) ? one : "[UNK]"));
      return nothingToSee({ ...tokens, text });
    };
    expect(written("我", "喝", "茶", "。")).toMatch(/^The model knows 1 of the 3 characters of/);
    expect(written("我", "喝", "茶", "tea", "喜")).toMatch(/ 2 of the 5 words and characters of/);
    expect(written("喜欢", "喝茶", "早上")).toMatch(/^The model knows 1 of the 3 words of/);
    expect(say("[UNK]", "[UNK]")).toMatch(/^The model knows no word/);
  });

  it("has no word in a piece of a contraction", () => {
    const { tokens } = metaOf(["don", "'", "t", "know", "the", "earl", "'", "s", "elbow", "'ll"]);
    const before = ["", "", "", " ", " ", " ", "", "", " ", ""];
    const whole = before.map((_, i) => isWhole({ ...tokens, before }, i));
    expect(tokens.surface.filter((_, i) => whole[i])).toEqual(["know", "the", "earl", "elbow"]);
  });

  it("of pieces alone, and of function words of any language, tells little", () => {
    const say = (...texts: string[]) => nothingToSee(metaOf(["[CLS]", ...texts, "[SEP]"]).tokens);
    expect(say("x", "##qz", "v", "##bn")).toBe(
      "The model knows no word of this text as a whole, only pieces, so its links tell little.",
    );
    expect(say("x", "##qz", "tea")).toBeNull();
    expect(say("x", "##qz")).toMatch(/^This text is a single word/);
    for (const words of [
      ["der", "die", "und", "mit"],
      ["of", "in", "and", "the"],
    ])
      expect(say(...words)).toMatch(/^This text has only function words/);
    expect(say("el", "sol")).toBeNull();
    expect(say("el", "per", "##ro", "sol")).toBe(
      "The model has no content word of this text as one token, so its links tell little.",
    );
    expect(say("el", "per", "##ro", "cama")).toBeNull();
  });

  it("of a thousand words without a full stop has something to see, of one again and again nothing", () => {
    const say = (word: (i: number) => string) =>
      nothingToSee(metaOf(["[CLS]", ...Array.from({ length: 1000 }, (_, i) => word(i))]).tokens);
    expect(say((i) => (i % 3 === 0 ? "and" : `word${i}`))).toBeNull();
    expect(say(() => "again")).toMatch(/^This text repeats one word/);
  });
});

describe("Sentences", () => {
  const matrix = (size: number, values: number[], aggregation: "mass" | "max" = "mass") =>
    ({
      ...{ size, width: size, values: Float32Array.from(values), error: () => 0 },
      keyTokens: Array.from({ length: size }, (_, i) => [2 * i + 1, 2 * i + 2]),
      elsewhere: Float32Array.from({ length: size }, () => 0.5),
      outside: "special tokens",
      sections: null,
      asked: { aggregation, layer: null, head: null, quantity: null },
    }) as never;
  const say = (...given: Parameters<typeof matrix>): string =>
    textOf(h(SentencesSentence, { matrix: matrix(...given), row: 0, tokens: META.tokens, choose }));

  it("says of one sentence which word looks at which, no neighbors, and none that is told", () => {
    const one = (weights: number[] | null, texts = TEXTS, of?: [number, number]): string => {
      const { tokens } = metaOf(texts);
      const all = texts.flatMap((_, i) => (tokens.special[i] ? [] : [i]));
      const block = weights && {
        ...{ queries: all, keys: all, weights: Float32Array.from(weights), error: () => 0 },
      };
      const words = wordsOf(tokens);
      const told = of ? ([itemAt(words, of[0]), itemAt(words, of[1])] as const) : null;
      return textOf(h(OneSentence, { block, tokens, told, choose }));
    };
    const texts = ["[CLS]", "keys", "the", "doors", "lock", "[SEP]"];
    // A word gives itself nothing that counts: doors gives keys 0.3 of 0.4, chance is a third.
    const rows = [
      [0.9, 0.1, 0.1, 0.1],
      [0.9, 0.1, 0.1, 0.1],
      [0.3, 0.05, 0.5, 0.05],
      [0.1, 0.1, 0.7, 0.9],
    ];
    expect(one(rows.flat(), texts)).toBe(
      `Over all heads doors looks at keys: with 75% of its attention to other words, chance 33%.`,
    );
    expect(chosen).toEqual([3, 1]);
    // No neighbor is named.
    const near = rows.with(2, [0.1, 0.1, 0.5, 0.1]);
    expect(one(near.flat(), texts)).toBe("–");
    // A decoder's words look back.
    const forward = rows.map((row, i) => row.map((w, j) => (j > i ? Number.NaN : w)));
    expect(one(forward.flat(), texts)).toMatch(/^Over all heads doors looks at keys: with 86% of/);
    expect(one(Array(16).fill(0.1), texts)).toBe("–");
    // 45% of a chance of a third.
    expect(
      one(rows.with(2, [0.1, 0.1, 0.5, 0.1]).with(3, [0.3, 0.3, 0.4, 0.9]).flat(), texts),
    ).toBe("–");
    // The Attention view tells of doors and keys, in either direction.
    for (const told of [
      [2, 0],
      [0, 2],
    ] as [number, number][])
      expect(one(rows.flat(), texts, told)).toBe("–");
    expect(one(null, texts)).toBe("–");
    expect(one([1], ["[CLS]", "hello", "[SEP]"])).toBe("–");
    expect(say(0, [])).toBe("");
  });

  it("says which words of two sentences are linked, a pronoun among them", () => {
    const { tokens } = metaOf(["[CLS]", "Ben", "ran", ".", "he", "fell", "[SEP]"]);
    const weights = Float32Array.of(0.3, 0.1, 0.1, 0.1);
    const block = { queries: [4, 5], keys: [1, 2], weights, error: () => 0 };
    const values = matrix(2, [0.25, 0.125, 0.0625, 0]);
    expect(textOf(h(SentencesSentence, { matrix: values, row: 0, block, tokens, choose }))).toMatch(
      /^From S0 to S1 “he” looks at Ben: with 75% of its attention to words of S1, chance 50%\. S0 gives S1 13%/,
    );
    expect(chosen).toEqual([4, 1]);
  });

  it("opens at the row with most to tell", () => {
    expect(openingRow(matrix(2, [0.5, 0.1, 0.2, 0.4]))).toBe(1);
    expect(openingRow(matrix(3, [0.2, 0.1, 0.1, 0.1, 0.2, 0.12, 0.3, 0.02, 0.2]))).toBe(2);
  });

  it("says to which other sentence most goes, or that the mask lets nothing", () => {
    expect(say(2, [0.25, 0.125, 0.25, 0])).toBe(
      "S0 gives S1 13% of its attention, and gets 25% of that of S1; 25% of its attention stays in S0, 50% lands on special tokens.",
    );
    const three = [0.25, 0.3, 0.1, 0, 0, 0, 0, 0, 0];
    expect(say(3, three)).toBe(
      "Of what S0 gives to other sentences, S1 gets most: 75%, 50% by its length; 25% of its attention stays in S0, 50% lands on special tokens.",
    );
    expect(say(3, [0.25, 0.1, 0.1, 0, 0, 0, 0, 0, 0])).toContain(
      ", yet not beyond its length: 50%, 50%",
    );
    expect(say(2, [0.25, Number.NaN, 0, 0])).toMatch(/^The model’s mask lets S0 look at no other/);
    expect(say(3, [0.25, 0.5, 0.75, 0, 0, 0, 0, 0, 0], "max")).toBe(
      "The strongest link from S0 to another sentence is to S2, 0.750; the strongest within S0 is 0.250.",
    );
    // Of a row that nobody chose, shares that double the odds of its length alone.
    const opened = (values: number[]) =>
      textOf(
        h(SentencesSentence, {
          ...{ matrix: matrix(3, values), row: 0, tokens: META.tokens, choose, chosen: false },
        }),
      );
    expect(opened([0.25, 0.2, 0.15, 0, 0, 0, 0, 0, 0])).toBe("–");
    expect(opened(three)).toMatch(/^Of what S0 gives/);
  });
});

describe("Inside", () => {
  it("tells what the focus word takes from another content word than the head links it to", () => {
    const { tokens } = metaOf(["[CLS]", "keys", "are", "lost", "often", "[SEP]"]);
    const five = wordsOf(tokens);
    const row = [0.05, 0.05, 0.5, 0.2, 0.15, 0.05];
    type Pair = [number, number];
    const taken = (values: number[], told: Pair | null = null) =>
      takenFrom(
        Array.from({ length: 36 }, (_, i) => (i < 12 || i >= 18 ? 0 : itemAt(values, i - 12))),
        ...([3, itemAt(five, 1), five] as const),
        told && [itemAt(five, told[0]), itemAt(five, told[1])],
      );
    const lineOf = (taken: ReturnType<typeof takenFrom>) =>
      textOf(
        h(InsideSentence, {
          ...{ taken, tokens, choose },
          nameOf: ({ surface }: { surface: string }) => surface,
        }),
      );
    const line = "In L3 “are” takes from lost 40% of what it gets from other tokens, chance 20%";
    const end = "; 50% of its vector stays its own (ALTI).";
    expect(taken(row)).toBeNull();
    // The head attends to keys, from which the layer takes less.
    expect(lineOf(taken(row, [1, 0]))).toBe(
      `${line}, more than from keys, to which this head links it: 10%${end}`,
    );
    expect(chosen).toEqual([2, 3, 1]);
    // That of the head is not said again.
    expect(taken(row, [1, 2])).toBeNull();
    expect(taken(row, [2, 1])).toBeNull();
    // Less than twice the odds of chance.
    expect(taken([0.1, 0.1, 0.5, 0.15, 0.08, 0.07], [1, 0])).toBeNull();
    // Little more than from the word beside.
    expect(taken([0.05, 0.15, 0.5, 0.2, 0.05, 0.05], [1, 0])).toBeNull();
    expect(lineOf(null)).toBe("–");
  });
});

describe("Why", () => {
  const base: Contributions = {
    ...{
      target: { position: 3, token: 7, against: 8, masked: true },
      of: "token" as const,
      names: ["are", "is"],
    },
    ...{ method: "decomposition", signed: true, value: 2.5, error: 0 },
    ...{ bias: -4, baseline: null, gap: 1e-6 },
    values: Float32Array.from([0.25, -0.5, 3, 0.125, -1, 0.125]),
  };
  const say = (change: Partial<Contributions>, value = 2.5, error = 0, asked = true): string => {
    const found = { ...base, ...change };
    return textOf(
      h(WhySentence, {
        titled: { of: found, value, error },
        found,
        tokens: META.tokens,
        choose,
        explained: explainedOf(META),
        asked,
        next: false,
        label: (token) => itemAt(TEXTS, token),
        nameUnit: ({ text }) => text,
      }),
    );
  };

  it("prints no digit of a value that processors may differ in", () => {
    expect(say({}, 3.796e-4)).toMatch(/ leads by 3\.80×10⁻⁴ logits/);
    expect(say({}, 3.796e-4, 2e-5)).toMatch(/ leads by 4×10⁻⁴ logits/);
  });

  it("names the word that decides and the outcome, then all tokens together and the lean of the biases", () => {
    expect(say({})).toBe(
      "With “are” hidden, keys decides for “are” over “is”, by 3.00; “are” leads by 2.50 logits. " +
        "All tokens together speak for “are” by 6.50; before any word is read the model leans to “is” by 4.00.",
    );
    expect(chosen).toEqual([3, 2]);
    expect(say({ bias: null, gap: null })).toBe(
      "With “are” hidden, keys speaks most for “are” over “is”, by 3.00; “are” leads by 2.50 logits.",
    );
    expect(say({ target: { position: 3, token: 7 }, names: ["are"] })).toBe(
      "At “are”, keys speaks most for “are”, by 3.00; “are” has a logit of 2.50. " +
        "All tokens together add +6.50; before any word is read the model has −4.00.",
    );
    expect(say({ target: { label: 1 }, of: "class", names: ["good", "bad"] })).toMatch(
      /^keys decides for good over bad, by 3\.00; /,
    );
    expect(say({ signed: false, bias: null, gap: null })).toBe(
      "With “are” hidden, keys has the largest share in “are” over “is”: 3.00; “are” leads by 2.50 logits.",
    );
  });

  it("turns the pair where words speak for the other one, so that no number needs a sign", () => {
    const values = Float32Array.from([0.25, -0.5, -3, 0.125, -1, 0.125]);
    // The tokens speak for the other one, and the biases for the winner.
    const still =
      "With “are” hidden, keys speaks most for “is” over “are”, by 3.00; “are” still leads by 2.50 logits. " +
      "All tokens together speak for “is” by 3.50; before any word is read the model leans to “are” by 6.00.";
    expect(say({ values, value: 2.5, bias: 6 })).toBe(still);
    expect(say({ values, value: -2.5, bias: 1 }, -2.5)).toBe(
      "With “are” hidden, keys decides for “is” over “are”, by 3.00; “is” leads by 2.50 logits. " +
        "All tokens together speak for “is” by 3.50; before any word is read the model leans to “are” by 1.00.",
    );
    expect(say({ values, value: -2.5, names: ["are"], bias: 1 }, -2.5)).toMatch(
      /^With “are” hidden, keys speaks most against “are”, by 3\.00; “are” has a logit of −2\.50\. /,
    );
  });

  it("names no word that gives next to nothing of the lead", () => {
    expect(say({ values: Float32Array.from([2.5, 0.0625, 0.125, 0.125, 0, 0.125]) })).toMatch(
      /^With “are” hidden, no single word decides between “are” and “is”: all tokens together speak for “are”, which leads by 2\.50 logits\.$/,
    );
    const against = Float32Array.from([-1, -0.125, -0.125, -0.125, -0.125, 0]);
    expect(say({ values: against, bias: 4 })).toBe(
      "With “are” hidden, no single word decides between “are” and “is”: " +
        "before any word is read the model leans to “are”, which leads by 2.50 logits.",
    );
    // The function word gives more: the claim is of the others.
    expect(say({ values: Float32Array.from([2.5, 1, 0.125, 0.125, 0, 0.125]) })).toMatch(
      /^With “are” hidden, no content word decides between “are” and “is”: all tokens together speak for “are”, which leads/,
    );
    // A question that the view opens with has an answer worth telling, or no sentence.
    expect(say({ values: against, bias: 4 }, 2.5, 0, false)).toBe("–");
    expect(say({}, 2.5, 0, false)).toMatch(/^With “are” hidden, keys decides/);
  });

  it("says of a question about function words of another language that it tells little", () => {
    const meta = metaOf(["[CLS]", "Mann", "gibt", "seiner", "Frau", "[SEP]"]);
    const found = { ...base, names: ["die", "mann"], target: { ...base.target, position: 1 } };
    const line = h(WhySentence, {
      ...{ titled: { of: found, value: 1, error: 0 }, found, next: false, choose },
      ...{ tokens: meta.tokens, explained: explainedOf(meta) },
      ...{ label: (token: number) => itemAt(meta.tokens.text, token), nameUnit: () => "" },
    });
    expect(textOf(line)).toBe(
      "With Mann hidden the model chooses between “die” and Mann, not two content words, so what decides tells little.",
    );
    expect(chosen).toEqual([1]);
  });

  it("takes a short word of another language for a content word that no list has", () => {
    const meta = metaOf(["[CLS]", "les", "enfants", "devant", "la", "maison", "[SEP]"]);
    const found = { ...base, names: ["vie", "maison"], target: { ...base.target, position: 5 } };
    const line = h(WhySentence, {
      ...{ titled: { of: found, value: 1, error: 0 }, found, next: false, choose },
      ...{ tokens: meta.tokens, explained: explainedOf(meta) },
      ...{ label: (token: number) => itemAt(meta.tokens.text, token), nameUnit: () => "enfants" },
    });
    expect(textOf(line)).toMatch(/^With maison hidden, .* (?:for|between) vie (?:over|and) maison/);
    chosen.length = 0;
  });

  it("lets no function word decide", () => {
    const sayOf = (the: number, keys: number, here = -1) =>
      say({ values: Float32Array.from([0.25, the, keys, 0.125, here, 0.125]) });
    expect(sayOf(5, 3)).toMatch(
      /^With “are” hidden, of the content words keys speaks most for “are” over “is”, by 3\.00; /,
    );
    // Where a content word has next to nothing of it, the function word beside the hidden one speaks, and is called one.
    expect(sayOf(-1, 0.375, 9)).toMatch(
      /^With “are” hidden, the function word “here” speaks most for “are” over “is”, by 9\.00; /,
    );
    expect(sayOf(9, 0.375)).toMatch(/^With “are” hidden, no content word decides between/);
    expect(sayOf(-9, 12)).toMatch(
      /^With “are” hidden, keys decides for “are” over “is”, by 12\.0; /,
    );
  });

  it("leaves it to Predictions that the model knows no word, and names a quotation mark", () => {
    const unknown = metaOf(["[CLS]", "[UNK]", "[UNK]", "[SEP]"]);
    const props = { titled: { of: base, value: 2.5, error: 0 }, found: base };
    const rest = { next: false, label: () => "x", nameUnit: () => "x", choose };
    expect(
      textOf(
        h(WhySentence, {
          ...{ ...props, ...rest, tokens: unknown.tokens, explained: explainedOf(unknown) },
        }),
      ),
    ).toBe("–");
    expect(say({ names: ["”", '"'] })).toContain(
      "for a closing quotation mark over a quotation mark, by 3.00; a closing quotation mark leads",
    );
  });

  it("counts no special token, no piece and not the hidden word as the word that decides", () => {
    const values = Float32Array.from([9, -0.5, 3, 8, 0.25, 9]);
    const words = wordsOf(META.tokens);
    expect(decidingWord({ ...base, values }, words)).toMatchObject({
      ...{ term: { unit: { text: "keys" } }, content: true, most: true },
    });
    const asIs = { ...base, values, target: { position: 3, token: 7, against: 8 } };
    expect(decidingWord({ ...asIs, values: values.with(2, 0.125) }, words)).toMatchObject({
      ...{ term: { unit: { text: "are" } }, content: false },
    });
    // The word on which the heads of a decoder rest.
    expect(decidingWord({ ...asIs, values: values.with(3, 5) }, words, 0, 3).term).toMatchObject({
      ...{ unit: { text: "keys" } },
    });
    const pieces = wordsOf(metaOf(["[CLS]", "key", "##s", "are", "[UNK]", "[SEP]"]).tokens);
    const large = Float32Array.from([0, 1, 2, 0, 8, 0]);
    expect(decidingWord({ ...base, values: large }, pieces).term).toMatchObject({
      ...{ unit: { surface: "keys" }, value: 3 },
    });
    const none = values.map(() => Number.NaN);
    expect(decidingWord({ ...base, values: none }, words).term).toBeNull();
    expect(say({ values: none })).toContain(
      "no word decides between “are” and “is”: all tokens together speak for “are”, which leads",
    );
  });
});

describe("Task", () => {
  const found = (
    task: Classification["task"],
    labels: string[],
    shares: number[],
  ): Classification =>
    ({
      ...{ task, activation: "softmax", note: "", labels, rows: shares.length / labels.length },
      logits: Float32Array.from(shares, Math.log),
      exp: Float32Array.from(shares),
      probabilities: Float32Array.from(shares),
      sum: Float64Array.of(1),
    }) as const;
  const say = (answer: Classification, push?: Push | null, { tokens } = META): string =>
    textOf(
      h(
        "p",
        null,
        classesInWords(answer, tokens, (token) => itemAt(TEXTS, token), choose, push),
      ),
    );

  it("names the word that pushes to a class, and how far the model decides", () => {
    const labels = ["bad", "good"];
    const [hardly, leans, decides] = [
      [0.3, 0.45, 0.25],
      [0.4, 0.6],
      [0.2, 0.8],
    ].map((shares) => found("sequence", [...labels, "none"].slice(0, shares.length), shares)) as [
      Classification,
      Classification,
      Classification,
    ];
    expect([hardly, leans, decides].map((one) => isUndecided(classesOf(one, 0)))).toEqual([
      true,
      true,
      false,
    ]);
    const words = wordsOf(META.tokens);
    const push = pushOf([9, 0.1, 0.75, -0.1, 0.1, 9], words);
    expect(say(hardly, push)).toBe(
      "keys pushes to good, away from bad: by 0.750 logits. The model hardly decides; likeliest is good: 45%, chance 33%.",
    );
    expect(chosen).toEqual([2]);
    expect(say(leans, push)).toBe(
      "keys pushes to good, away from bad: by 0.750 logits. The model leans to good: 60%, chance 50%.",
    );
    expect(say(leans, push && { ...push, value: -0.5 })).toBe(
      "keys pushes to bad, away from good: by 0.500 logits. The model leans to good: 60%, chance 50%.",
    );
    expect(say(leans)).toBe("The model leans to good: 60%, chance 50%.");
    expect(say(hardly, null)).toBe(
      "The model does not decide: the likeliest class, good, gets 45%, chance 33%.",
    );
    // A second class is named above chance alone.
    const second = found("sequence", ["bad", "good", "none"], [0.05, 0.51, 0.44]);
    expect(say(second)).toBe("The model leans to good: 51%, then none: 44%, chance 33%.");
    expect(say(decides, push)).toBe(
      "keys pushes to good, away from bad: by 0.750 logits. The model classifies the text as good: 80%, chance 50%.",
    );
    expect(say(decides)).toBe("The model classifies the text as good: 80%, chance 50%.");
    // No word stands out, and the class is not eight times as likely as by chance.
    expect(say(decides, null)).toBe("");
    expect(say(found("sequence", labels, [0.1, 0.9]), null)).toBe(
      "The model classifies the text as good: 90%, chance 50%.",
    );
  });

  it("names no function word but a negation, and none that does not stand out", () => {
    const words = wordsOf(META.tokens);
    const named = (values: number[]) => pushOf([9, ...values, 9], words)?.word.text;
    expect(named([0.7, 0.7, 0, 0])).toBe("keys");
    expect(named([0, 0.69, 0, 0])).toBeUndefined();
    expect(named([0.9, 0.8, 0, 0])).toBe("keys");
    expect(named([0.5, 0.2, 0, 0])).toBeUndefined();
    expect(named([0.3, 0.3, 0.3, 0.3])).toBeUndefined();
    expect(named([-0.1, -0.9, -0.1, -0.1])).toBe("keys");
    expect(named([-0.1, -0.3, -0.1, -0.1])).toBeUndefined();
    const { tokens } = metaOf(["[CLS]", "the", "keys", "not", "[SEP]"]);
    expect(pushOf([9, 0.1, 0.1, -0.7, 9], wordsOf(tokens))?.word.text).toBe("not");
    expect(pushOf([], words)).toBeNull();
  });

  it("says that function words, or words that it does not know, tell little", () => {
    const answer = found("sequence", ["bad", "good"], [0.1, 0.9]);
    const plain = metaOf(["[CLS]", "a", "of", "the", "[SEP]"]);
    expect(say(answer, undefined, plain)).toBe(
      "This text has only function words, so its class tells little: good, 90%, chance 50%.",
    );
    expect(
      say(answer, undefined, metaOf(["[CLS]", "[UNK]", "[UNK]", "tea", ".", "[SEP]"])),
    ).toMatch(
      /^The model knows 1 of the 3 words of this text, so its class tells little: good, 90%/,
    );
    expect(say(answer, undefined, metaOf(["[CLS]", "[UNK]", ".", "[SEP]"]))).toMatch(
      /^This text has no word that the model knows, so/,
    );
  });

  it("names the label that most tokens have, and the surest other", () => {
    const rows = [0.5, 0.5, 0.9, 0.1, 0.8, 0.2, 0.1, 0.9, 0.7, 0.3, 0.5, 0.5];
    expect(say(found("token", ["O", "VERB"], rows))).toBe(
      "3 of 4 tokens are O; the surest of the others is “are”, VERB: 90%.",
    );
    expect(chosen).toEqual([3]);
    const same = rows.map((_, i) => (i % 2 === 0 ? 0.9 : 0.1));
    expect(say(found("token", ["O", "VERB"], same))).toBe("All 4 tokens are O.");
  });

  it("names the likeliest answer, and that there is none where that is likelier", () => {
    const starts = [0.1, 0.1, 0.6, 0.1, 0.1, 0];
    const ends = [0.1, 0.1, 0.1, 0.6, 0.1, 0];
    const rows = starts.flatMap((start, i) => [start, itemAt(ends, i)]);
    expect(say(found("question_answering", ["start", "end"], rows))).toBe(
      "The likeliest answer is “keys are”: 36%.",
    );
    const none = [0.9, 0.9, ...rows.slice(2)];
    expect(say(found("question_answering", ["start", "end"], none))).toBe(
      "The model finds no answer (start and end at [CLS]: 81%). The likeliest answer is “keys are”: 36%.",
    );
  });
});
