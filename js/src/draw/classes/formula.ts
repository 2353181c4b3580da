/** The formula of a class's probability in symbols, with its numbers, and where it comes from. */

import {
  CLASS_SIGMOID,
  CLASS_SIGMOID_SPOKEN,
  CLASS_SOFTMAX,
  CLASS_SOFTMAX_SPOKEN,
  CLASS_VALUE,
  CLASS_VALUE_SPOKEN,
  SIGMOID_REFERENCES,
  SOFTMAX_REFERENCES,
  sigmoidWithNumbers,
} from "../../figures/class-formulas";
import { type Activation, type SoftmaxColumn, termOf } from "../../figures/classes";
import { visible } from "../../figures/format";
import { softmaxWithNumbers } from "../../figures/formulas";
import type { MathNode } from "../../figures/math";
import { h } from "../dom";
import { mathElement, wrappingEquation } from "../math";

/** A name longer than this would tear the equation apart. */
const NAME_MOST = 14;

const FORMULAS: Record<Activation, readonly [MathNode, string]> = {
  softmax: [CLASS_SOFTMAX, CLASS_SOFTMAX_SPOKEN],
  sigmoid: [CLASS_SIGMOID, CLASS_SIGMOID_SPOKEN],
  identity: [CLASS_VALUE, CLASS_VALUE_SPOKEN],
};

export const symbols = (activation: Activation): Element => mathElement(...FORMULAS[activation]);

export const references = (activation: Activation = "softmax"): HTMLElement =>
  h(
    "ul",
    { class: "aw-references" },
    ...(activation === "softmax" ? SOFTMAX_REFERENCES : SIGMOID_REFERENCES).map(({ text, doi }) =>
      h("li", {}, `${text}. doi:${doi}`),
    ),
  );

/** The equation of one term with its numbers; null where nothing is computed. */
export function withNumbers(column: SoftmaxColumn, index: number): HTMLElement | null {
  const { activation, logitMax, sum } = column;
  if (activation === "identity") return null;
  const { label, logit, exp, probability } = termOf(column, index);
  const letters = [...visible(label)];
  const token =
    letters.length > NAME_MOST ? `${letters.slice(0, NAME_MOST).join("")}…` : letters.join("");
  const { node, spoken } =
    activation === "softmax"
      ? softmaxWithNumbers({ token, logit, logitMax, exp, sumExp: sum, probability })
      : sigmoidWithNumbers(token, column, index);
  return wrappingEquation(node, spoken);
}
