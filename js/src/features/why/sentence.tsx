/** The answer in words: the word that decides, all tokens together, what the biases lean to, and the outcome. */

import type { Unit } from "../../figures/derive/units";
import { formatNumber, formatSigned } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import type { TokenColumns } from "../../protocol/types";
import { Num } from "../../ui/number";
import { Nth, SentenceLine, Word } from "../../ui/sentence";
import type { Explained } from "./both-texts";
import type { Contributions, Titled } from "./data";
import { sumOfUnit } from "./sum";

/** A word of the text and what it contributes. */
export interface Term {
  readonly unit: Unit;
  readonly value: number;
}

const LETTER = /[\p{L}\p{N}]/u;

/**
 * The word that speaks most for where all tokens together lead (without a sum, for the outcome), without special tokens and the
 * word that is hidden. Null where none does.
 */
export function decidingWord(
  found: Pick<
    Contributions,
    "values" | "value" | "signed" | "target" | "bias" | "baseline" | "gap"
  >,
  units: readonly Unit[],
  sources = 0,
): Term | null {
  const { values, signed, target } = found;
  const hidden =
    target.masked === true && target.position !== undefined ? sources + target.position : -1;
  const terms = units.flatMap((unit): Term[] => {
    const { special, surface, token, end } = unit;
    const own = token <= hidden && hidden < end;
    return special || own || !LETTER.test(surface)
      ? []
      : [{ unit, value: sumOfUnit(values, unit) }];
  });
  const sign = signed && sumOfTokens(found) < 0 ? -1 : 1;
  const sizes = terms.map(({ value }) => (Number.isNaN(value) ? -1 : sign * value));
  const place = firstLargest(sizes);
  return place < 0 || itemAt(sizes, place) <= 0 ? null : itemAt(terms, place);
}

/** Sum of all tokens; of a method that does not add up, the outcome. */
const sumOfTokens = ({
  value,
  bias,
  baseline,
  gap,
}: Pick<Contributions, "value" | "bias" | "baseline" | "gap">): number =>
  gap === null ? value : value - (bias ?? 0) - (baseline ?? 0);

interface Props {
  /** The target and its value; null before the first answer. */
  readonly titled: Titled | null;
  /** The chosen method's answer. */
  readonly found: Contributions | null;
  readonly units: readonly Unit[];
  readonly tokens: TokenColumns;
  /** The tokens that contribute: those of a source, then `tokens`. */
  readonly explained: Explained;
  /** The model predicts what follows a position. */
  readonly next: boolean;
  readonly label: (token: number) => string;
  readonly nameUnit: (unit: Unit) => string;
}

/**
 * `With “are” hidden, keys decides for “are” over “is”: +3.00; all tokens together +8.81. Before any word is read the model
 * leans to “is” by 4.73, so “are” leads by 4.08 logits.`
 */
export function WhySentence(props: Props) {
  const { titled, found, units, tokens, explained, next, label, nameUnit } = props;
  if (titled === null || found === null) return <SentenceLine />;
  const { of, value, error } = titled;
  const [first = "", second] = of.names;
  const { position, masked } = of.target;
  const { signed, bias, baseline, gap } = found;
  const term = decidingWord(found, units, explained.sources);
  const winner = <Word text={value < 0 ? (second ?? first) : first} />;
  const loser = second === undefined ? null : <Word text={value < 0 ? first : second} />;
  const shown = (number: number) => (
    <Num value={number} text={signed ? formatSigned(number) : formatNumber(number)} />
  );
  const together = sumOfTokens(found);
  const agrees = together < 0 === value < 0;
  const decides = term !== null && gap !== null && agrees && Math.abs(term.value) > Math.abs(value);
  const verb = !signed
    ? " has the largest share in "
    : decides && loser !== null
      ? " decides for "
      : loser === null && together < 0
        ? " speaks most against "
        : " speaks most for ";
  const [towards, over] = agrees || loser === null ? [winner, loser] : [loser, winner];
  const outcome = (
    <>
      {winner}
      {loser === null ? " has a logit of " : ` ${agrees ? "" : "still "}leads by `}
      <Num
        part="why-value"
        value={value}
        text={formatNumber({ value: loser === null ? value : Math.abs(value), error })}
      />
      {loser !== null && " logits"}
    </>
  );
  return (
    <SentenceLine>
      {position !== undefined && (
        <>
          {masked ? "With " : next ? "After " : "At "}
          <Word text={label(position)} />
          <Nth {...{ tokens, position }} />
          {masked ? " hidden, " : ", "}
        </>
      )}
      {term === null ? (
        "no word speaks for the outcome"
      ) : (
        <>
          <Word text={nameUnit(term.unit)} />
          <Nth tokens={explained.tokens} position={term.unit.token} />
          {explained.sources > 0 &&
            (explained.placeOf(term.unit.token).ofSource ? " of the source" : ", written before,")}
          {verb}
          {towards}
          {over !== null && " over "}
          {over}
          {": "}
          {shown(term.value)}
        </>
      )}
      {gap !== null && (bias ?? baseline) !== null && (
        <>
          {"; all tokens together "}
          {shown(together)}
        </>
      )}
      {". "}
      {bias !== null && bias !== 0 && (
        <>
          {"Before any word is read the model "}
          {second === undefined ? "has " : "leans to "}
          {second !== undefined && <Word text={bias < 0 ? second : first} />}
          {second === undefined ? "" : " by "}
          <Num
            value={bias}
            text={second === undefined ? formatSigned(bias) : formatNumber(Math.abs(bias))}
          />
          {second !== undefined && agrees && bias < 0 === value < 0 ? " as well; " : "; "}
        </>
      )}
      {baseline !== null && baseline !== 0 && (
        <>
          {"With all words masked it gives "}
          <Num value={baseline} text={formatSigned(baseline)} />
          {"; "}
        </>
      )}
      {outcome}.
    </SentenceLine>
  );
}
