/** What the seven specialisations and the positional patterns mean: formula, reading, chance, source. */

import { CLARK, metricOf, type Reference, VOITA } from "./formulas";
import { frac, type MathNode, mi, mn, mo, mtext, row, sub, under } from "./math";

const KOVALEVA: Reference = {
  text: "Kovaleva, Romanov, Rogers & Rumshisky (2019), Revealing the Dark Secrets of BERT, EMNLP-IJCNLP",
  doi: "10.18653/v1/D19-1445",
};
/** For the number of roles. */
export const ROUSSEEUW: Reference = {
  text:
    "Rousseeuw (1987), Silhouettes: A Graphical Aid to the Interpretation and Validation of Cluster " +
    "Analysis, Journal of Computational and Applied Mathematics 20",
  doi: "10.1016/0377-0427(87)90125-7",
};
/** For intervals over texts. */
export const EFRON: Reference = {
  text: "Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 13, Chapman & Hall",
  doi: "10.1201/9780429246593",
};

/** A figure of a head that says where it looks. */
export interface Aim {
  readonly key: string;
  readonly name: string;
  /** Column heading and filter word. */
  readonly short: string;
  /** What it stands for, in a few words; beside its name on the radar. */
  readonly meaning: string;
  readonly formula: MathNode;
  readonly spoken: string;
  readonly symbols: string;
  readonly high: string;
  /** What a head that attends everywhere alike has, in symbols. */
  readonly chance: string;
  readonly references: readonly Reference[];
}

const i = mi("i");
const j = mi("j");
const n = mi("n");
const P = mi("P");
const weight = (key: MathNode): MathNode => sub(mi("A"), row(i, mo(","), key));
const oneOver = (below: MathNode): MathNode => frac(mn("1"), below);

const SHARE: MathNode = frac(
  row(under(mo("∑"), row(i, mo(","), j, mo("∈"), P)), sub(mi("A"), row(i, j))),
  row(under(mo("∑"), row(i, mo(","), j)), sub(mi("A"), row(i, j))),
);
const SHARE_SPOKEN =
  "the sum of the weights on the keys in P, over the sum of all weights of the matrix";
const LAST = "Special tokens are in no P, and in the sum below.";

export const SPECIALIZATIONS: readonly Aim[] = [
  {
    key: "syntax",
    name: "Syntax",
    short: "Syntax",
    meaning: "function words",
    formula: SHARE,
    spoken: SHARE_SPOKEN,
    symbols: `P: tokens of words tagged DET, ADP, AUX, CCONJ, SCONJ, PART or PRON. ${LAST}`,
    high: "attention goes to the words that hold the sentence together.",
    chance: "|P| / n",
    references: [VOITA],
  },
  {
    key: "semantics",
    name: "Semantics",
    short: "Semantics",
    meaning: "content words",
    formula: SHARE,
    spoken: SHARE_SPOKEN,
    symbols: `P: tokens of words tagged NOUN, PROPN, VERB, ADJ, ADV or NUM. ${LAST}`,
    high: "attention goes to the words that carry the content.",
    chance: "|P| / n",
    references: [VOITA],
  },
  {
    key: "cls",
    name: "CLS",
    short: "CLS",
    meaning: "the first token",
    formula: row(oneOver(n), under(mo("∑"), i), weight(mn("0"))),
    spoken: "the mean, over queries, of the weight on token 0",
    symbols: "Token 0 stands for the whole sequence: [CLS], <s> and the like.",
    high: "queries rest on the token that sums the sequence up, often because they find nothing else.",
    chance: "1 / n",
    references: [CLARK, KOVALEVA],
  },
  {
    key: "punctuation",
    name: "Punctuation",
    short: "Punct.",
    meaning: "commas, full stops …",
    formula: SHARE,
    spoken: SHARE_SPOKEN,
    symbols: `P: tokens of punctuation only (Unicode categories P, and backticks). ${LAST}`,
    high: "attention goes to the marks between the words.",
    chance: "|P| / n",
    references: [CLARK],
  },
  {
    key: "entities",
    name: "Entities",
    short: "Entities",
    meaning: "named entities",
    formula: SHARE,
    spoken: SHARE_SPOKEN,
    symbols: `P: tokens inside a named entity. ${LAST}`,
    high: "attention goes to names of people, places, dates and the like.",
    chance: "|P| / n",
    references: [VOITA],
  },
  {
    key: "long_range",
    name: "Long range",
    short: "Far (5+)",
    meaning: "5+ tokens away",
    formula: row(
      under(mi("mean"), row(mo("|"), i, mo("−"), j, mo("|"), mo("≥"), mn("5"))),
      sub(mi("A"), row(i, j)),
    ),
    spoken: "the mean of the weights of all pairs five or more tokens apart",
    symbols: "A mean over pairs, not a share: its chance level falls with the length of the text.",
    high: "queries look far beyond their neighbours.",
    chance: "1 / n",
    references: [KOVALEVA],
  },
  {
    key: "self",
    name: "Self",
    short: "Self",
    meaning: "the token itself",
    formula: row(oneOver(n), under(mo("∑"), i), weight(i)),
    spoken: "the mean, over queries, of the weight on the query itself",
    symbols: "The diagonal of the matrix.",
    high: "tokens look at themselves: the head passes them on.",
    chance: "1 / n",
    references: [CLARK, KOVALEVA],
  },
];

const beside = (mark: "−" | "+"): MathNode =>
  row(under(mi("mean"), i), sub(mi("A"), row(i, mo(","), i, mo(mark), mn("1"))));

export const PATTERNS: readonly Aim[] = [
  {
    key: "previous",
    name: "Previous token",
    short: "Previous",
    meaning: "one token back",
    formula: beside("−"),
    spoken: "the mean, over queries that have one, of the weight on the token before",
    symbols: "Over the n − 1 queries that have a token before them, special tokens among them.",
    high: "each token looks one back.",
    chance: "1 / n",
    references: [CLARK],
  },
  {
    key: "next",
    name: "Next token",
    short: "Next",
    meaning: "one token on",
    formula: beside("+"),
    spoken: "the mean, over queries that have one, of the weight on the token after",
    symbols: "Over the n − 1 queries that have a token after them, special tokens among them.",
    high: "each token looks one on.",
    chance: "1 / n",
    references: [CLARK],
  },
];

const AIMS: ReadonlyMap<string, Aim> = new Map(
  [...SPECIALIZATIONS, ...PATTERNS].map((aim) => [aim.key, aim]),
);
export const aimOf = (key: string): Aim | undefined => AIMS.get(key);

/** How the heads of a layer are put on one scale. */
export const SCALED: MathNode = frac(
  row(mi("x"), mo("−"), mi("min")),
  row(mi("max"), mo("−"), mi("min")),
);
export const SCALED_SPOKEN =
  "x minus the layer’s smallest, over the layer’s largest minus smallest";
export const STANDARD: MathNode = frac(
  row(mi("x"), mo("−"), mtext("mean")),
  mtext("standard deviation"),
);
export const STANDARD_SPOKEN = "x minus the mean of all heads, over their standard deviation";

/** A figure's name, whatever kind it is. */
export const figureName = (key: string): string | undefined =>
  metricOf(key)?.name ?? aimOf(key)?.name;
