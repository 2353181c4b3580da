/** The focus token in words: the layer from which on it is read as what the head says at last, and where a layer moves it most. */

import { medianOf } from "../../figures/derive/median";
import type { Unit } from "../../figures/derive/units";
import { formatNumber, formatOrdinal } from "../../figures/format";
import { placeName } from "../../figures/guess";
import { schemeOf, tokenName } from "../../figures/names";
import { plainIn } from "../../figures/plain-words";
import { firstLargest } from "../../protocol/ties";
import type { TokenColumns } from "../../protocol/types";
import { Num } from "../../ui/number";
import { SentenceLine, Share } from "../../ui/sentence";
import { TextWord, Word } from "../../ui/word";
import type { Reading } from "./reading";
import type { Taken } from "./taken";

/** Change of all tokens by a part of a layer, relative to its input, `[L, n]` flat. */
export interface Change {
  readonly part: "attention" | "FFN";
  readonly values: ArrayLike<number>;
}

interface Moved {
  readonly unit: Unit;
  readonly part: Change["part"];
  readonly layer: number;
  readonly value: number;
  readonly median: number;
  /** True of the word that is moved more, or less, than all others. */
  readonly extreme: "most" | "least" | null;
  readonly of: number;
}

/** Least ratio of a word's change to the median of the others, or the other way round, that is worth a sentence. */
const NOTABLE = 3;

/** The last answer's rank in the layer before it stands, beyond which it is worth a sentence. */
const LEAP = 10;

/** Change of a word by a part of a layer: the mean of its tokens. */
function changeOf({ values }: Change, layer: number, layers: number, { token, end }: Unit): number {
  const n = values.length / layers;
  let sum = 0;
  for (let i = token; i < end; i++) sum += values[layer * n + i] ?? Number.NaN;
  return sum / (end - token);
}

/** A word among others, in one part of a layer. */
function movedIn(
  change: Change,
  layer: number,
  layers: number,
  unit: Unit,
  others: readonly Unit[],
): Moved {
  const at = (of: Unit): number => changeOf(change, layer, layers, of);
  const [value, beside] = [at(unit), others.map(at)];
  const extreme = beside.every((other) => value > other)
    ? "most"
    : beside.every((other) => value < other)
      ? "least"
      : null;
  const median = extreme === null ? Number.NaN : medianOf(beside);
  return { unit, part: change.part, layer, value, extreme, median, of: beside.length + 1 };
}

const ratioOf = ({ value, median, extreme }: Moved): number =>
  extreme === null || !(value > 0) ? 1 : Math.max(value / median, median / value);

function mostOf(all: readonly Moved[]): Moved | null {
  const found = all[firstLargest(all.map(ratioOf))];
  return found !== undefined && ratioOf(found) >= NOTABLE ? found : null;
}

const without = (among: readonly Unit[], { token }: Unit): Unit[] =>
  among.filter((other) => other.token !== token);

/**
 * The content word that a part of the model moves most, or least, of all, and the part in which it differs most from the median of
 * the others, as a ratio. Null where none is three times beyond, and where no figure is known: among some hundred figures one
 * is always a third beyond. `resting`: the token on which the heads of a decoder rest, whose vector is far longer than others'.
 */
export function mostUnusual(
  changes: readonly Change[],
  among: readonly Unit[],
  layers: number,
  resting = -1,
): Moved | null {
  if (among.length < 3) return null;
  const all = changes.flatMap((change) =>
    Array.from({ length: layers }, (_, layer) => {
      const values = among.map((unit) => changeOf(change, layer, layers, unit));
      // No other can be beyond all.
      return [firstLargest(values), firstLargest(values.map((value) => -value))].flatMap((i) => {
        const unit = among[i];
        return unit === undefined
          ? []
          : [movedIn(change, layer, layers, unit, without(among, unit))];
      });
    }).flat(),
  );
  const plain = plainIn(among.map(({ surface }) => surface.trim().toLowerCase()));
  return mostOf(all.filter(({ unit }) => !plain[among.indexOf(unit)] && unit.token !== resting));
}

/**
 * `In L2 “it” takes from published 31% of what it gets from other tokens, more than from book, to which this head links it: 12%, chance 5.3%; …` `At [MASK] the model
 * settles on rome in L5: 1st from there on, 18th before.` `The attention of L3 moves it most of all 7
 * words: by 1.2 times the length of its vector, others by 0.41 (median).`
 */
export function InsideSentence({
  focus,
  reading,
  taken = null,
  moved,
  tokens,
  noun = "words",
  nameOf,
  choose,
}: {
  /** The focus token, or the word that it belongs to. */
  readonly focus: Unit;
  /** The answer on which the model settles at the token; null where that is not known. */
  readonly reading: Reading | null;
  /** The word from which the focus word takes most in the selected layer, where that is not the head's; null where none tells. */
  readonly taken?: Taken | null;
  /** The content word that stands out; null where none does. */
  readonly moved: Moved | null;
  readonly tokens: TokenColumns;
  /** Plural of its units. */
  readonly noun?: string;
  readonly nameOf: (unit: Unit) => string;
  /** Make a token the focus token. */
  readonly choose: (token: number) => void;
}) {
  const named = (unit: Unit, among: TokenColumns | null) => (
    <TextWord text={nameOf(unit)} tokens={among} position={unit.token} choose={choose} />
  );
  if (taken !== null)
    return (
      <SentenceLine of={tokens}>
        {`In L${taken.layer} `}
        {named(taken.word, tokens)}
        {" takes from "}
        {named(taken.from, tokens)} <Share value={taken.value} />
        {" of what it gets from other tokens"}
        {", more than from "}
        {named(taken.beside.word, tokens)}
        {", to which this head links it: "}
        <Share value={taken.beside.value} />
        {", chance "}
        <Share value={taken.chance} />
        {"; "}
        <Share value={taken.own} />
        {" of its vector stays its own (ALTI)."}
      </SentenceLine>
    );
  // A rise of a few ranks is that of any answer.
  const rises = reading !== null && reading.from > 0 && reading.before > LEAP;
  const name = rises && tokenName(tokens, reading.position, schemeOf(tokens));
  if (reading && name)
    return (
      <SentenceLine of={tokens}>
        {reading.next ? "After " : "At "}
        {reading.position === focus.token && !reading.next ? (
          named(focus, tokens)
        ) : (
          <TextWord
            text={reading.next ? placeName(tokens, reading.position, name) : name}
            {...{ tokens, position: reading.position, choose }}
          />
        )}
        {" the model settles on "}
        <Word text={reading.word} />
        {` in L${reading.from - 1}: 1st from there on, ${formatOrdinal(reading.before)} before.`}
      </SentenceLine>
    );
  if (moved === null) return <SentenceLine silent />;
  const { unit, part, layer, value, median: usual, extreme, of } = moved;
  const vector = unit.end - unit.token > 1 ? "its vectors (mean of its tokens)" : "its vector";
  return (
    <SentenceLine of={tokens}>
      {`The ${part} of L${layer} moves `}
      {named(unit, unit.token === focus.token ? null : tokens)}
      {` ${extreme} of all ${of} ${noun}: by `}
      <Num value={value} text={formatNumber(value, 2)} />
      {` times the length of ${vector}, others by `}
      <Num value={usual} text={formatNumber(usual, 2)} />
      {" (median)."}
    </SentenceLine>
  );
}
