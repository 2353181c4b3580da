// @vitest-environment jsdom
/** The sentence on top of the view Task (docs/opening.md). */

import { h } from "preact";
import { describe, expect, it } from "vitest";
import {
  classesInWords,
  isUndecided,
  type Push,
  pushOf,
} from "../../../src/features/tasks/sentence";
import { type Classification, classesOf } from "../../../src/figures/classes";
import { wordsOf } from "../../../src/figures/nothing-to-see";
import { itemAt } from "../../../src/protocol/required";
import { metaOf } from "../../runs";
import { choose, chosen, META, TEXTS, textOf } from "../../said";

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
