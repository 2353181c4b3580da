// @vitest-environment jsdom
/** The sentence on top of the view Why (docs/opening.md). */

import { h } from "preact";
import { describe, expect, it } from "vitest";
import { explainedOf } from "../../../src/features/why/both-texts";
import type { Contributions } from "../../../src/features/why/data";
import { decidingWord, WhySentence } from "../../../src/features/why/sentence";
import { wordsOf } from "../../../src/figures/nothing-to-see";
import { itemAt } from "../../../src/protocol/required";
import { metaOf } from "../../runs";
import { choose, chosen, META, TEXTS, textOf } from "../../said";

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
