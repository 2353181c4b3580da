/** The softmax over classes in symbols, and where it comes from. */

import { apply, frac, type MathNode, mi, mo, mtext, row, sub, sup, under } from "../draw/math";
import type { Reference } from "../formulas";

const z = mi("z");
const c = mi("c");
const k = mi("k");
const raised = (name: MathNode): MathNode =>
  sup(mi("e"), row(sub(z, name), mo("−"), sub(z, mtext("max"))));

/** `P(c) = e^(z_c - z_max) / sum_k e^(z_k - z_max)`, `z = W h + b`. */
export const CLASS_SOFTMAX: MathNode = row(
  apply(mi("P"), c),
  mo("="),
  frac(raised(c), row(under(mo("∑"), k), raised(k))),
  mo(","),
  mtext("\u2003"),
  z,
  mo("="),
  mi("W"),
  mi("h"),
  mo("+"),
  mi("b"),
);
export const CLASS_SOFTMAX_SPOKEN =
  "probability of c equals exp of its logit minus the largest logit, over the sum of the same over " +
  "all k; the logits z are W h plus b";

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
