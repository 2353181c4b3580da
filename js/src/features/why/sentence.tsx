/** The answer in words: by how much the target leads, and the largest term of what adds up to it. */

import { type Unit, unitOf } from "../../figures/derive/units";
import { formatNumber, formatSigned } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import type { TokenColumns } from "../../protocol/types";
import { Num } from "../../ui/number";
import { Nth, SentenceLine } from "../../ui/sentence";
import type { Explained } from "./both-texts";
import type { Contributions, Titled } from "./data";
import { sumOfUnit } from "./sum";

/** A term of the sum: a word or a token, the bias, or the masked text. */
export interface Term {
  readonly unit: Unit | null;
  readonly name: string;
  readonly value: number;
}

/** The term of the largest size; null where no number is known. Tokens that are not shown count one by one. */
export function largestTerm(
  { values, bias, baseline }: Contributions,
  units: readonly Unit[],
  tokens: TokenColumns,
): Term | null {
  const shown = new Set(
    units.flatMap(({ token, end }) => Array.from({ length: end - token }, (_, i) => token + i)),
  );
  const hidden = tokens.text.flatMap((_, token) =>
    shown.has(token) ? [] : [unitOf(tokens, token)],
  );
  const terms: Term[] = [...units, ...hidden].map((unit) => ({
    unit,
    name: unit.text,
    value: sumOfUnit(values, unit),
  }));
  if (bias !== null) terms.push({ unit: null, name: "the bias", value: bias });
  if (baseline !== null) terms.push({ unit: null, name: "the masked text", value: baseline });
  const sizes = terms.map(({ value }) => (Number.isNaN(value) ? -1 : Math.abs(value)));
  const place = firstLargest(sizes);
  return place < 0 || itemAt(sizes, place) <= 0 ? null : itemAt(terms, place);
}

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

/** `With here hidden, correct leads here by 4.11 logits; the largest term is the bias, +2.43.` */
export function WhySentence(props: Props) {
  const { titled, found, units, tokens, explained, next, label, nameUnit } = props;
  if (titled === null) return <SentenceLine />;
  const { of, value, error } = titled;
  const [first = "", second] = of.names;
  const { position, masked } = of.target;
  const term = found && largestTerm(found, units, explained.tokens);
  return (
    <SentenceLine>
      {position !== undefined && (
        <>
          {masked ? "With " : next ? "After " : "At "}
          <bdi>{label(position)}</bdi>
          <Nth {...{ tokens, position }} />
          {masked ? " hidden, " : ", "}
        </>
      )}
      <bdi>{first}</bdi>
      {second === undefined ? (
        <>
          {" has a logit of "}
          <Num part="why-value" value={value} text={formatNumber({ value, error })} />
        </>
      ) : (
        <>
          {value < 0 ? " trails " : " leads "}
          <bdi>{second}</bdi>
          {" by "}
          <Num
            part="why-value"
            value={value}
            text={formatNumber({ value: Math.abs(value), error })}
          />
          {" logits"}
        </>
      )}
      {found !== null && term !== null && (
        <>
          {found.gap === null ? "; the largest contribution is that of " : "; the largest term is "}
          {term.unit === null ? term.name : <bdi>{nameUnit(term.unit)}</bdi>}
          {term.unit !== null &&
            explained.sources > 0 &&
            (explained.placeOf(term.unit.token).ofSource ? " of the source" : ", written before")}
          {", "}
          <Num
            value={term.value}
            text={found.signed ? formatSigned(term.value) : formatNumber(term.value)}
          />
        </>
      )}
      .
    </SentenceLine>
  );
}
