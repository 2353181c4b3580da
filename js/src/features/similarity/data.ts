/** Answers about a similarity, typed, and sums over the words of its texts. */

import { formatCount, visible } from "../../figures/format";
import { isAbort } from "../../protocol/failure";
import type { Meta, ScoreKind } from "../../protocol/meta";
import { arrayOf, itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import type { Slice, SliceOptions, Source } from "../../protocol/types";

export type SideName = "a" | "b";
export const SIDES: readonly SideName[] = ["a", "b"];
export type MatrixKind = "input" | "output" | "maxsim";

/** One of the two texts, by token. */
export interface Side {
  readonly text: readonly string[];
  readonly surface: readonly string[];
  readonly before: readonly string[];
  readonly special: readonly boolean[];
  readonly position: readonly number[];
  /** The word of each token, and the words. */
  readonly word: readonly number[];
  readonly names: readonly string[];
  /** Contribution of each token to the score, the other text fixed, and the rest, which no token of this text adds. */
  readonly values: Float32Array;
  readonly bias: number;
  /** Name of an input that is no text, and what features tell of it. */
  readonly title?: string;
  readonly meta?: Partial<Meta>;
}

export interface Similar {
  readonly score: number;
  readonly kind: ScoreKind;
  /** Sigmoid of a reranker's logit. */
  readonly probability: number | null;
  readonly notes: readonly string[];
  readonly matrices: readonly MatrixKind[];
  /** Matrices that take more than a moment; a page with the model names none. */
  readonly slow?: readonly MatrixKind[];
  /** Sides whose words can be masked; both where none are named. */
  readonly testable?: readonly SideName[];
  readonly by: "decomposition" | "output";
  readonly a: Side;
  readonly b: Side;
}

/** Every pair of tokens, `[a, b]`, and every token with the biases of the other text. */
export interface Pairs {
  readonly kind: MatrixKind;
  readonly pairs: Float32Array;
  readonly biasesA: Float32Array;
  readonly biasesB: Float32Array;
  readonly both: number;
  /** Late interaction: all cosines. */
  readonly cosines: Float32Array | null;
}

/** Subject of a question: a ranking's passage, texts that were typed in the page, or, without either, the first answer. */
export interface Asked {
  readonly passage?: number;
  readonly texts?: readonly [string, string];
}

const floats = (slice: Slice, name: string) => arrayOf(slice, name).data as Float32Array;

export async function askSimilar(
  source: Source,
  asked: Asked,
  options: SliceOptions,
): Promise<Similar> {
  const slice = await source.ask({ kind: "similar", ...asked }, options);
  const data = slice.data as unknown as Similar;
  return {
    ...data,
    a: { ...data.a, values: floats(slice, "a") },
    b: { ...data.b, values: floats(slice, "b") },
  };
}

export const pairsRequest = (kind: MatrixKind, asked: Asked) =>
  ({ kind: "similar_matrix", of: kind, ...asked }) as const;

export async function askPairs(
  source: Source,
  kind: MatrixKind,
  asked: Asked,
  options: SliceOptions,
): Promise<Pairs> {
  const slice = await source.ask(pairsRequest(kind, asked), options);
  return {
    kind,
    pairs: floats(slice, "pairs"),
    biasesA: floats(slice, "biases_a"),
    biasesB: floats(slice, "biases_b"),
    both: slice.data.both as number,
    cosines: (slice.arrays.get("cosines")?.data as Float32Array | undefined) ?? null,
  };
}

/** Contributions of one token with each token of the other side. */
export interface Row {
  readonly side: SideName;
  readonly unit: number;
  readonly values: Float32Array;
}

export async function askRow(
  source: Source,
  { side, unit }: Omit<Row, "values">,
  asked: Asked,
  options: SliceOptions,
): Promise<Row> {
  const slice = await source.ask({ kind: "similar_row", side, token: unit, ...asked }, options);
  return { side, unit, values: floats(slice, "row") };
}

/** Sides that are no texts. */
export const wordlessOf = (similar: Similar): readonly SideName[] =>
  SIDES.filter((side) => similar[side].meta?.wordless === true);

export const testRequest = (side: SideName, asked: Asked) =>
  ({ kind: "similar_test", side, ...asked }) as const;

/** Units of a text as it is shown: words or tokens. */
export interface Units {
  /** The unit of each token. */
  readonly of: readonly number[];
  readonly names: readonly string[];
  readonly special: readonly boolean[];
  /** True where white space stands before a unit, and where it begins a line. */
  readonly apart: readonly boolean[];
  readonly breaks: readonly boolean[];
}

export function unitsOf(side: Side, words: boolean): Units {
  const each = words ? side.word : side.text.map((_, i) => i);
  const first = each.flatMap((unit, i) => (each[i - 1] === unit ? [] : [i]));
  return {
    of: each,
    names: words ? side.names.map(visible) : side.text.map(visible),
    special: first.map((i) => itemAt(side.special, i)),
    apart: first.map((i) => /\s/.test(itemAt(side.before, i))),
    breaks: first.map((i) => /[\n\r]/.test(itemAt(side.before, i))),
  };
}

/** Values of tokens added up over units. */
export function merged(values: ArrayLike<number>, { of, names }: Units): Float64Array {
  const sums = new Float64Array(names.length);
  of.forEach((unit, i) => {
    sums[unit] = itemAt(sums, unit) + itemAt(values, i);
  });
  return sums;
}

/** Pairs of tokens added up over units, `[a, b]`. */
function mergedPairs(pairs: ArrayLike<number>, a: Units, b: Units): Float64Array {
  const columns = b.names.length;
  const sums = new Float64Array(a.names.length * columns);
  a.of.forEach((row, i) => {
    b.of.forEach((column, j) => {
      const at = row * columns + column;
      sums[at] = itemAt(sums, at) + itemAt(pairs, i * b.of.length + j);
    });
  });
  return sums;
}

/** A pair of units and what it adds to the score. */
export interface Pair {
  readonly a: number;
  readonly b: number;
  readonly value: number;
}

/** The units of one view of two texts, and what each of them and each pair of them adds. */
export interface Shown {
  readonly similar: Similar;
  readonly a: Units;
  readonly b: Units;
  readonly valuesA: Float64Array;
  readonly valuesB: Float64Array;
  readonly matrix: Matrix | null;
}

export interface Matrix {
  readonly pairs: Pairs;
  /** `[a, b]` by unit. */
  readonly values: Float64Array;
  readonly biasesA: Float64Array;
  readonly biasesB: Float64Array;
  /** Late interaction: the largest cosine of each pair of units, `[a, b]`, of which some do not count. */
  readonly faint: Float32Array | null;
  /** All pairs of units that are not special, the largest first. */
  readonly ranked: readonly Pair[];
}

/** The largest cell, where it passes the strongest pair of words, the end of the colors: a bias, or a special token. */
export function beyondRamp({ pairs, values, biasesA, biasesB, ranked }: Matrix): number | null {
  const top = Math.abs(ranked[0]?.value ?? 0);
  const biases = pairs.kind === "input" ? [...biasesA, ...biasesB, pairs.both] : [];
  const most = [...values, ...biases].reduce((most, value) =>
    Math.abs(value) > Math.abs(most) ? value : most,
  );
  return Math.abs(most) > top ? most : null;
}

/** `similar` with the sums of the rows and columns of `pairs`, where it has them by hidden states alone. */
function withSums(similar: Similar, pairs: Pairs | null): Similar {
  if (similar.by !== "output" || pairs?.kind !== "input") return similar;
  const [a, b] = [Float32Array.from(pairs.biasesA), Float32Array.from(pairs.biasesB)];
  pairs.pairs.forEach((value, k) => {
    const [i, j] = [Math.floor(k / b.length), k % b.length];
    a[i] = itemAt(a, i) + value;
    b[j] = itemAt(b, j) + value;
  });
  return {
    ...similar,
    by: "decomposition",
    a: { ...similar.a, values: a, bias: sum(pairs.biasesB) + pairs.both },
    b: { ...similar.b, values: b, bias: sum(pairs.biasesA) + pairs.both },
  };
}

export function shownOf(found: Similar, pairs: Pairs | null, words: boolean): Shown {
  const similar = withSums(found, pairs);
  const [a, b] = [unitsOf(similar.a, words), unitsOf(similar.b, words)];
  return {
    similar,
    a,
    b,
    valuesA: merged(similar.a.values, a),
    valuesB: merged(similar.b.values, b),
    matrix: pairs && matrixOf(pairs, a, b),
  };
}

function matrixOf(pairs: Pairs, a: Units, b: Units): Matrix {
  const values = mergedPairs(pairs.pairs, a, b);
  const ranked: Pair[] = [];
  a.names.forEach((_, i) => {
    b.names.forEach((_, j) => {
      const value = itemAt(values, i * b.names.length + j);
      if (!a.special[i] && !b.special[j] && value !== 0) ranked.push({ a: i, b: j, value });
    });
  });
  ranked.sort((pair, other) => Math.abs(other.value) - Math.abs(pair.value));
  return {
    pairs,
    values,
    biasesA: merged(pairs.biasesA, a),
    biasesB: merged(pairs.biasesB, b),
    faint:
      pairs.kind === "maxsim" && pairs.cosines !== null ? largestPairs(pairs.cosines, a, b) : null,
    ranked,
  };
}

function largestPairs(cosines: Float32Array, a: Units, b: Units): Float32Array {
  const columns = b.names.length;
  const largest = new Float32Array(a.names.length * columns).fill(-Infinity);
  a.of.forEach((row, i) => {
    b.of.forEach((column, j) => {
      const at = row * columns + column;
      largest[at] = Math.max(itemAt(largest, at), itemAt(cosines, i * b.of.length + j));
    });
  });
  return largest;
}

const sum = (values: ArrayLike<number>): number => {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += itemAt(values, i);
  return total;
};

/** A row of the sum that makes the score. */
export interface Term {
  readonly name: string;
  /** The units of a pair, or of one text, for pointing. */
  readonly a?: number;
  readonly b?: number;
  /** Tokens of a place in one of them. */
  readonly place?: {
    readonly side: SideName;
    readonly tokens: readonly number[];
    /** In a sentence. */
    readonly name: string;
  };
  readonly value: number;
}

/** The largest terms, what is left of words and of special tokens, and the biases; they add up to the score. */
export function termsOf({ similar, a, b, valuesA, valuesB, matrix }: Shown, count: number): Term[] {
  if (matrix !== null) {
    const first = matrix.ranked.slice(0, count);
    const own = matrix.ranked.reduce((total, { value }) => total + value, 0);
    const bias = sum(matrix.biasesA) + sum(matrix.biasesB) + matrix.pairs.both;
    const left = own - first.reduce((total, { value }) => total + value, 0);
    const others = matrix.ranked.length - first.length;
    return [
      ...first.map((pair) => ({
        ...pair,
        name: `${itemAt(a.names, pair.a)} · ${itemAt(b.names, pair.b)}`,
      })),
      ...(others > 0
        ? [
            {
              name: `${formatCount(others)} other ${others === 1 ? "pair" : "pairs"} of words`,
              value: left,
            },
          ]
        : []),
      { name: "pairs with a special token", value: sum(matrix.values) - own },
      ...(matrix.pairs.kind === "input" ? [{ name: "biases", value: bias }] : []),
    ];
  }
  // Without pairs: the words of the first text, or of both where the model reads them together.
  const both = similar.kind === "relevance";
  const units = [
    ...a.names.map((name, i) => ({ name, a: i, special: a.special[i], value: itemAt(valuesA, i) })),
    ...(both
      ? b.names.map((name, i) => ({
          name,
          b: i,
          special: b.special[i],
          value: itemAt(valuesB, i),
        }))
      : []),
  ];
  const own = units.filter(({ special }) => !special);
  own.sort((unit, other) => Math.abs(other.value) - Math.abs(unit.value));
  const first = own.slice(0, count);
  const rest = own.slice(count);
  return [
    ...first,
    ...(rest.length > 0
      ? [
          {
            name: `${formatCount(rest.length)} other ${rest.length === 1 ? "word" : "words"}`,
            value: sum(rest.map(({ value }) => value)),
          },
        ]
      : []),
    {
      name: "special tokens",
      value: sum(units.filter(({ special }) => special).map(({ value }) => value)),
    },
    { name: "biases", value: similar.a.bias },
  ];
}

/** The score without each word of both texts; NaN where there is none. */
export interface Deletions {
  readonly a: Float32Array;
  readonly b: Float32Array;
}

/** Null where the texts are long, and in a page that has no answer. */
export async function askDeletions(
  source: Source,
  asked: Asked,
  signal: AbortSignal,
): Promise<Deletions | null> {
  const request = { kind: "similar_deletions", ...asked } as const;
  if (asked.texts !== undefined || !(source.has?.(request) ?? source.live)) return null;
  const slice = await source.ask(request, { signal }).catch((error: unknown) => {
    if (isAbort(error)) throw error;
    return null; // longer texts
  });
  return slice && { a: floats(slice, "a"), b: floats(slice, "b") };
}

/** A word that moves the score by less than this share of what the strongest one does takes hardly any part. */
const HARDLY = 0.1;
const LETTER = /\p{L}|\p{N}/u;

/** A word, and the score without it. */
interface Deleted {
  readonly name: string;
  readonly score: number;
}

/** The word whose deletion moves the score most, and the longest of those that hardly move it; null without words. */
export function deletedWords(
  { similar, a, b }: Pick<Shown, "similar" | "a" | "b">,
  deletions: Deletions,
): { readonly strongest: Deleted; readonly idle: Deleted | null } | null {
  const units = { a, b };
  const words = SIDES.flatMap((side) =>
    units[side].names.flatMap((name, i) => {
      const score = deletions[side][i] ?? Number.NaN;
      const counts = !units[side].special[i] && LETTER.test(name) && !Number.isNaN(score);
      return counts ? [{ name, score, move: Math.abs(similar.score - score) }] : [];
    }),
  );
  const strongest = words[firstLargest(words.map(({ move }) => move))];
  if (strongest === undefined) return null;
  const idle = words.filter(({ move }) => move < HARDLY * strongest.move);
  idle.sort((word, other) => other.name.length - word.name.length);
  return { strongest, idle: idle[0] ?? null };
}
