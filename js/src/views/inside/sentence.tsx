/** The focus token in words: the layer from which on it is read as what the head says at last, and where a layer moves it most. */

import { medianOf } from "../../figures/derive/dimensions";
import { formatNumber, formatOrdinal } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import { Num } from "../../ui/number";
import { SentenceLine, Word } from "../../ui/sentence";
import type { Reading } from "./reading";

/** Change of all tokens by a part of a layer, relative to its input, `[L, n]` flat. */
export interface Change {
  readonly part: "attention" | "FFN";
  readonly values: ArrayLike<number>;
}

interface Unusual {
  readonly part: Change["part"];
  readonly layer: number;
  readonly value: number;
  readonly median: number;
  /** True of the token that is moved more, or less, than all others. */
  readonly extreme: "most" | "least" | null;
  readonly of: number;
}

/** Least ratio of a token's change to the median of the others, or the other way round, that is worth a sentence. */
const NOTABLE = 1.1;

/**
 * The part of the model that moves a token most, or least, of the tokens at `among`: that in which it differs most from the
 * median of the others, as a ratio. Null where it is neither anywhere by a tenth, and where no figure is known.
 */
export function mostUnusual(
  changes: readonly Change[],
  token: number,
  among: readonly number[],
  layers: number,
): Unusual | null {
  const others = among.filter((other) => other !== token);
  if (others.length < 2) return null;
  const all = changes.flatMap(({ part, values }): Unusual[] => {
    const n = values.length / layers;
    return Array.from({ length: layers }, (_, layer) => {
      const at = (position: number): number => values[layer * n + position] ?? Number.NaN;
      const [value, beside] = [at(token), others.map(at)];
      const extreme = beside.every((other) => value > other)
        ? "most"
        : beside.every((other) => value < other)
          ? "least"
          : null;
      return { part, layer, value, extreme, median: medianOf(beside), of: beside.length + 1 };
    });
  });
  const ratios = all.map(({ value, median, extreme }) =>
    extreme === null || !(value > 0) ? 1 : Math.max(value / median, median / value),
  );
  const place = firstLargest(ratios);
  return (ratios[place] ?? 1) >= NOTABLE ? itemAt(all, place) : null;
}

/** `At [MASK] the model settles on rome in L5: 1st from there on, 18th before.` `The attention of L3 moves it most of all 7 tokens: by 1.2 times the norm of its vector, others by 0.41 (median).` */
export function InsideSentence({
  token,
  reading,
  unusual,
  turn,
}: {
  readonly token: string;
  /** The answer on which the model settles at the token; null where that is not known. */
  readonly reading: Reading | null;
  readonly unusual: Unusual | null;
  /** The layer that turns the token most, and the cosine; where nothing else is known. */
  readonly turn: { readonly layer: number; readonly cosine: number } | null;
}) {
  const name = <Word text={token} />;
  const read = reading && (
    <>
      {reading.next ? "After " : "At "}
      {name}
      {" the model settles on "}
      <Word text={reading.word} />
      {reading.from === 0
        ? " before any layer"
        : ` in L${reading.from - 1}: 1st from there on, ${formatOrdinal(reading.before)} before`}
    </>
  );
  if (read) return <SentenceLine>{read}.</SentenceLine>;
  if (unusual === null) {
    if (turn === null) return <SentenceLine />;
    return (
      <SentenceLine>
        {name}
        {` is moved much like the other words; it turns most in L${turn.layer}: cosine `}
        <Num value={turn.cosine} />.
      </SentenceLine>
    );
  }
  const { part, layer, value, median: usual, extreme, of } = unusual;
  return (
    <SentenceLine>
      {`The ${part} of L${layer} moves `}
      {name}
      {` ${extreme} of all ${of} words: by `}
      <Num value={value} text={formatNumber(value, 2)} />
      {" times the length of its vector, others by "}
      <Num value={usual} text={formatNumber(usual, 2)} />
      {" (median)."}
    </SentenceLine>
  );
}
