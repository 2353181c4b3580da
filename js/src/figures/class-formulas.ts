/** The softmax over classes in symbols, and where it comes from. */

import type { Reference } from "./catalog/types";
import { closingSigmoids, type SoftmaxColumn, termOf, withTerms } from "./classes";
import { formatNumber } from "./format";
import {
  apply,
  frac,
  type MathNode,
  mi,
  mn,
  mo,
  mtext,
  parens,
  row,
  sub,
  sup,
  under,
} from "./math";

const z = mi("z");
const c = mi("c");
const k = mi("k");
const linear: readonly MathNode[] = [z, mo("="), mi("W"), mi("h"), mo("+"), mi("b")];
const raised = (name: MathNode): MathNode =>
  sup(mi("e"), row(sub(z, name), mo("−"), sub(z, mtext("max"))));

/** `P(c) = e^(z_c - z_max) / sum_k e^(z_k - z_max)`, `z = W h + b`. */
export const CLASS_SOFTMAX: MathNode = row(
  apply(mi("P"), c),
  mo("="),
  frac(raised(c), row(under(mo("∑"), k), raised(k))),
  mo(","),
  mtext("\u2003"),
  ...linear,
);
export const CLASS_SOFTMAX_SPOKEN =
  "probability of c equals exp of its logit minus the largest logit, over the sum of the same over " +
  "all k; the logits z are W h plus b";

/** `P(c) = 1 / (1 + e^(-z_c))`, `z = W h + b`. */
export const CLASS_SIGMOID: MathNode = row(
  apply(mi("P"), c),
  mo("="),
  frac(mn("1"), row(mn("1"), mo("+"), sup(mi("e"), row(mo("−"), sub(z, c))))),
  mo(","),
  mtext("\u2003"),
  ...linear,
);
export const CLASS_SIGMOID_SPOKEN =
  "probability of c equals 1 over 1 plus exp of minus its logit; the logits z are W h plus b";

/** `z = W h + b`. */
export const CLASS_VALUE: MathNode = row(...linear);
export const CLASS_VALUE_SPOKEN = "the values z are W h plus b";

export const SOFTMAX_REFERENCES: readonly Reference[] = [
  {
    text:
      "Bridle (1990), Probabilistic Interpretation of Feedforward Classification Network Outputs, " +
      "Neurocomputing",
    doi: "10.1007/978-3-642-76153-9_28",
  },
  {
    text: "Devlin, Chang, Lee & Toutanova (2019), BERT, NAACL",
    doi: "10.18653/v1/N19-1423",
  },
];

const [, BERT] = SOFTMAX_REFERENCES;
export const SIGMOID_REFERENCES: readonly Reference[] = BERT === undefined ? [] : [BERT];

/** The sigmoid of one label with its numbers. */
export function sigmoidWithNumbers(
  label: string,
  column: SoftmaxColumn,
  index: number,
): { node: MathNode; spoken: string } {
  const term = termOf(column, index);
  const digits = closingSigmoids(withTerms(column, [term]));
  const logit = term.logit.toFixed(digits.logit).replace("-", "−");
  const exp = formatNumber(term.exp, digits.exp);
  const probability = formatNumber(term.probability);
  const number = mn(logit, term.logit);
  const node = row(
    apply(mi("P"), mtext(`\u2068${label}\u2069`)),
    mo("="),
    frac(
      mn("1"),
      row(mn("1"), mo("+"), sup(mi("e"), row(mo("−"), term.logit < 0 ? parens(number) : number))),
    ),
    mo("="),
    frac(mn("1"), row(mn("1"), mo("+"), mn(exp, term.exp))),
    mo("="),
    mn(probability, term.probability),
  );
  const spoken = `probability of ${label} equals 1 over 1 plus exp of minus ${logit}, equals ${probability}`;
  return { node, spoken };
}
