// @vitest-environment jsdom
/** The sentence on top of the view Inside (docs/opening.md). */

import { h } from "preact";
import { describe, expect, it } from "vitest";
import { InsideSentence } from "../../../src/features/inside/sentence";
import { takenFrom } from "../../../src/features/inside/taken";
import { wordsOf } from "../../../src/figures/nothing-to-see";
import { itemAt } from "../../../src/protocol/required";
import { metaOf } from "../../runs";
import { choose, chosen, textOf } from "../../said";

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
