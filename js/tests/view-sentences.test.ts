// @vitest-environment jsdom
/** The sentence on top of a view of the core, as its rule has it (docs/opening.md). */

import { h } from "preact";
import { describe, expect, it } from "vitest";
import { firstUnits } from "../src/draw/text-line";
import { tokenScheme } from "../src/figures/format";
import { isStart } from "../src/figures/guess";
import { nothingToSee, wordsOf } from "../src/figures/nothing-to-see";
import { isWhole } from "../src/figures/whole-words";
import type { Meta } from "../src/protocol/types";
import { TextWord } from "../src/ui/word";
import { type Link, linkOf } from "../src/views/heads/link";
import { HeadSentence, NO_STANDINGS, standingsIn } from "../src/views/heads/sentence";
import type { Predictions } from "../src/views/predictions/data";
import { PredictionsSentence } from "../src/views/predictions/sentence";
import { mostSurprising, subjectOf } from "../src/views/predictions/subject";
import { metaOf } from "./runs";
import { choose, chosen, META, sourceOf, textOf } from "./said";

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
