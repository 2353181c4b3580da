/** What the six attention metrics and the softmax mean: formula, reading, range, chance, source. */

import { formatNumber, shown } from "./format";
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
  sqrt,
  sub,
  sup,
  under,
} from "./math";

export type Tau = number | "uniform";

export interface Reference {
  readonly text: string;
  /** null where none is registered. */
  readonly doi: string | null;
}

const GOLSHANRAD: Reference = {
  text:
    "Golshanrad & Faghih (2024), From Attention to Assurance: Enhancing Transformer Encoder " +
    "Reliability Through Advanced Testing and Online Error Prediction, SSRN preprint",
  doi: null,
};
export const CLARK: Reference = {
  text:
    "Clark, Khandelwal, Levy & Manning (2019), What Does BERT Look At? An Analysis of BERT’s " +
    "Attention, BlackboxNLP",
  doi: "10.18653/v1/W19-4828",
};
export const VOITA: Reference = {
  text:
    "Voita, Talbot, Moiseev, Sennrich & Titov (2019), Analyzing Multi-Head Self-Attention: " +
    "Specialized Heads Do the Heavy Lifting, the Rest Can Be Pruned, ACL",
  doi: "10.18653/v1/P19-1580",
};
/** For the weights `A` themselves. */
export const VASWANI: Reference = {
  text: "Vaswani et al. (2017), Attention Is All You Need, NeurIPS 30 (arXiv:1706.03762)",
  doi: null,
};
/** How many keys each query may look at. */
export type RowCounts = readonly number[];

export interface Metric {
  readonly key: string;
  readonly name: string;
  /** Column heading and filter word. */
  readonly short: string;
  readonly unit: string;
  /** What it says in half a sentence. */
  readonly summary: string;
  readonly formula: (tau: Tau) => MathNode;
  readonly spoken: string;
  readonly high: string;
  readonly low: string;
  /** For names that point the wrong way. */
  readonly warning: string | null;
  /** Smallest and largest possible figure for these rows. */
  readonly range: (counts: RowCounts) => readonly [number, number];
  /** How the range is written, in symbols. */
  readonly rangeText: string;
  /** The figure of a head that attends to every possible key alike. */
  readonly uniform: (counts: RowCounts, tau: Tau) => number;
  /** How that figure is written when every key is possible. */
  readonly uniformText: string;
  readonly references: readonly Reference[];
}

const indices = (...names: string[]): MathNode =>
  row(...names.flatMap((name, i) => (i > 0 ? [mo(","), mi(name)] : [mi(name)])));
const A = sub(mi("A"), row(mi("i"), mi("j")));
const n = mi("n");
const nSquared = sup(n, mn("2"));
const over = (...names: string[]): MathNode => under(mo("∑"), indices(...names));
const oneOver = (below: MathNode): MathNode => frac(mn("1"), below);

const sum = (values: readonly number[]): number => values.reduce((total, v) => total + v, 0);
const mean = (values: readonly number[]): number => sum(values) / values.length;
const smallestRow = (counts: RowCounts): number =>
  counts.reduce((a, b) => Math.min(a, b), Infinity);
const cellCount = (counts: RowCounts): number => sum(counts);

/** Median of all cells of uniform attention: row `i` has `counts[i]` cells of `1 / counts[i]`. */
function uniformMedian(counts: RowCounts): number {
  const rows = [...counts].sort((a, b) => b - a);
  const total = cellCount(rows);
  const at = (index: number): number => {
    let reached = 0;
    for (const count of rows) {
      reached += count;
      if (index < reached) return 1 / count;
    }
    return Number.NaN;
  };
  return (at(Math.floor((total - 1) / 2)) + at(Math.floor(total / 2))) / 2;
}

/** Population standard deviation of the cells of uniform attention. */
function uniformDeviation(counts: RowCounts): number {
  const cells = cellCount(counts);
  const centre = counts.length / cells;
  return Math.sqrt(sum(counts.map((count) => count * (1 / count - centre) ** 2)) / cells);
}

/** The same where every query looks at one key alone: the largest that there is. */
function oneHotDeviation(counts: RowCounts): number {
  const centre = counts.length / cellCount(counts);
  return Math.sqrt(centre * (1 - centre));
}

const threshold = (tau: Tau, size: number): number => (tau === "uniform" ? 1 / size : tau);

export const METRICS: readonly Metric[] = [
  {
    key: "confidence_max",
    name: "Confidence (max)",
    short: "Conf. max",
    unit: "",
    summary: "the sharpest single link",
    formula: () => row(under(mi("max"), indices("i", "j")), A),
    spoken: "the largest weight of the whole matrix",
    high: "at least one query puts nearly all its attention on one key.",
    low: "no single link stands out anywhere.",
    warning: null,
    range: (counts) => [1 / smallestRow(counts), 1],
    rangeText: "1/n to 1",
    uniform: (counts) => 1 / smallestRow(counts),
    uniformText: "1/n",
    references: [GOLSHANRAD],
  },
  {
    key: "confidence_avg",
    name: "Confidence (average)",
    short: "Conf. avg",
    unit: "",
    summary: "how sure a typical query is",
    formula: () => row(oneOver(n), over("i"), under(mi("max"), mi("j")), A),
    spoken: "the mean, over queries, of each row’s largest weight",
    high: "most queries settle on one key each: a sharp head.",
    low: "most queries spread their attention over many keys.",
    warning: null,
    range: (counts) => [mean(counts.map((count) => 1 / count)), 1],
    rangeText: "1/n to 1",
    uniform: (counts) => mean(counts.map((count) => 1 / count)),
    uniformText: "1/n",
    references: [GOLSHANRAD, VOITA],
  },
  {
    key: "focus_entropy",
    name: "Focus (entropy)",
    short: "Entropy",
    unit: "nats",
    summary: "how diffuse the head is, summed over queries",
    formula: () => row(mo("−"), over("i", "j"), A, mi("ln"), mo("\u2061"), A),
    spoken: "minus the sum over all cells of the weight times its natural logarithm",
    high: "diffuse: queries look at many keys alike.",
    low: "sharp: each query looks at few keys.",
    warning: "High is diffuse, not focused.",
    range: (counts) => [0, sum(counts.map((count) => Math.log(count)))],
    rangeText: "0 to n\u00a0ln\u00a0n",
    uniform: (counts) => sum(counts.map((count) => Math.log(count))),
    uniformText: "n\u00a0ln\u00a0n",
    references: [GOLSHANRAD, CLARK],
  },
  {
    key: "sparsity",
    name: "Sparsity",
    short: "Sparsity",
    unit: "",
    summary: "share of weights below τ",
    formula: (tau) =>
      row(
        oneOver(nSquared),
        over("i", "j"),
        mn("1"),
        parens(A, mo("<"), mi("τ")),
        mo(","),
        mi("τ"),
        mo("="),
        tau === "uniform" ? oneOver(n) : mn(String(tau)),
      ),
    spoken: "the share of cells whose weight is strictly below tau",
    high: "most weights are close to zero: attention rests on few keys.",
    low: "hardly any weight is close to zero.",
    warning: null,
    range: () => [0, 1],
    rangeText: "0 to 1",
    uniform: (counts, tau) => {
      const below = counts.filter((count) => 1 / count < threshold(tau, counts.length));
      return cellCount(below) / cellCount(counts);
    },
    uniformText: "0, or 1 where 1/n < τ",
    references: [GOLSHANRAD],
  },
  {
    key: "distribution_median",
    name: "Distribution (median)",
    short: "Median",
    unit: "",
    summary: "the weight in the middle",
    formula: () => row(under(mi("median"), indices("i", "j")), A),
    spoken: "the median of all cells",
    high: "attention is spread: half of the cells carry at least this much.",
    low: "half of the cells carry next to nothing: attention sits on few keys.",
    warning: null,
    range: () => [0, 1],
    rangeText: "0 to 1",
    uniform: uniformMedian,
    uniformText: "1/n",
    references: [GOLSHANRAD],
  },
  {
    key: "uniformity",
    name: "Uniformity",
    short: "Uniformity",
    unit: "",
    summary: "standard deviation of the weights",
    formula: () =>
      sqrt(row(oneOver(nSquared), over("i", "j"), sup(parens(A, mo("−"), oneOver(n)), mn("2")))),
    spoken: "the population standard deviation of all cells, whose mean is one over n",
    high: "weights differ much: a few large ones among many small ones.",
    low: "weights are alike: near-uniform attention.",
    warning: "High is less uniform.",
    range: (counts) => [0, oneHotDeviation(counts)],
    rangeText: "0 to √(n − 1) / n",
    uniform: uniformDeviation,
    uniformText: "0",
    references: [GOLSHANRAD],
  },
];

export function metricOf(key: string): Metric | undefined {
  return METRICS.find((metric) => metric.key === key);
}

/** One entry of a softmax, as the slice `softmax` gives it, with what it is divided by. */
export interface SoftmaxTerms {
  readonly token: string;
  readonly logit: number;
  readonly logitMax: number;
  /** `exp(logit - logitMax)` */
  readonly exp: number;
  readonly sumExp: number;
  readonly probability: number;
}

const RESULT_DIGITS = 3;
const MOST_DIGITS = 15;

/** Digits at which the arithmetic on the printed numbers gives the printed result. */
export interface ClosingDigits {
  readonly logit: number;
  readonly exp: number;
  readonly sum: number;
}

/**
 * The fewest digits (never under three significant ones) with which a reader's own calculation from
 * the printed logits gives the printed exponential, and from that the printed probability.
 */
export function closingDigits(terms: SoftmaxTerms): ClosingDigits {
  const { logit, logitMax, exp, sumExp, probability } = terms;
  let ratio = RESULT_DIGITS;
  while (
    ratio < MOST_DIGITS &&
    shown(shown(exp, ratio) / shown(sumExp, ratio), RESULT_DIGITS) !==
      shown(probability, RESULT_DIGITS)
  ) {
    ratio++;
  }
  let decimals = 2;
  const rounded = (value: number): number => Number(value.toFixed(decimals));
  while (
    decimals < MOST_DIGITS &&
    shown(Math.exp(rounded(logit) - rounded(logitMax)), ratio) !== shown(exp, ratio)
  ) {
    decimals++;
  }
  return { logit: decimals, exp: ratio, sum: ratio };
}

const w = mi("w");
const z = mi("z");
const exponential = (...above: MathNode[]): MathNode => sup(mi("e"), row(...above));

/** The softmax over the vocabulary, in symbols. */
export const SOFTMAX: MathNode = row(
  apply(mi("P"), w),
  mo("="),
  frac(
    exponential(sub(z, w), mo("−"), sub(z, mtext("max"))),
    row(under(mo("∑"), mi("v")), exponential(sub(z, mi("v")), mo("−"), sub(z, mtext("max")))),
  ),
);
export const SOFTMAX_SPOKEN =
  "probability of w equals exp of its logit minus the largest logit, over the sum of the same over the vocabulary";

const fixed = (value: number, decimals: number): string =>
  value.toFixed(decimals).replace("-", "−");

/** The same with the numbers of one entry; what is printed closes (`closingDigits`). */
export function softmaxWithNumbers(terms: SoftmaxTerms): { node: MathNode; spoken: string } {
  const digits = closingDigits(terms);
  const logit = fixed(terms.logit, digits.logit);
  const logitMax = fixed(terms.logitMax, digits.logit);
  const exp = formatNumber(terms.exp, digits.exp);
  const total = formatNumber(terms.sumExp, digits.sum);
  const probability = formatNumber(terms.probability, RESULT_DIGITS);
  const maximum = mn(logitMax, terms.logitMax);
  const node = row(
    // Isolated, so that a right-to-left token leaves the equation in order.
    apply(mi("P"), mtext(`\u2068${terms.token}\u2069`)),
    mo("="),
    frac(
      exponential(mn(logit, terms.logit), mo("−"), terms.logitMax < 0 ? parens(maximum) : maximum),
      mn(total, terms.sumExp),
    ),
    mo("="),
    frac(mn(exp, terms.exp), mn(total, terms.sumExp)),
    mo("="),
    mn(probability, terms.probability),
  );
  const spoken =
    `probability of ${terms.token} equals exp of ${logit} minus ${logitMax}, over ${total}, ` +
    `equals ${exp} over ${total}, equals ${probability}`;
  return { node, spoken };
}
