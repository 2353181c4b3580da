/** The answer in words: the word that decides and the outcome, then all tokens together and what the biases lean to. */

import { Fragment } from "preact";
import type { Unit } from "../../figures/derive/units";
import { capital, formatNumber, formatSigned } from "../../figures/format";
import { isFunctionWord, isFunctionWordElsewhere } from "../../figures/function-words";
import { nothingToExpect } from "../../figures/nothing-to-expect";
import { isMask, isOfElsewhere, wordsOf } from "../../figures/nothing-to-see";
import { plainIn } from "../../figures/plain-words";
import { firstLargest } from "../../protocol/ties";
import type { TokenColumns } from "../../protocol/types";
import { Num } from "../../ui/number";
import { SentenceLine } from "../../ui/sentence";
import { TextWord, Word } from "../../ui/word";
import type { Explained } from "./both-texts";
import type { Contributions, Titled } from "./data";
import { sumOfUnit } from "./sum";

/** A word of the text and what it contributes. */
interface Term {
  readonly unit: Unit;
  readonly value: number;
}

/** A content word is named before a function word from so much of what that contributes on. */
const ENOUGH = 0.05;

/** A word is named from so much of the lead on, and from so many logits. */
const DECIDES = { share: 0.2, logits: 0.4 };
/** For the question that the view opens with: from half of the lead on, and where the odds double. */
const TELLS = { share: 0.5, logits: Math.LN2 };

/** Words for the part of the biases: nothing is read before a similarity. */
const leanOf = ({ of }: Titled["of"], bias: number) =>
  of === "similarity"
    ? (["The biases alone ", bias, "add ", "lean to "] as const)
    : (["Before any word is read the model ", bias, "has ", "leans to "] as const);

/** A letter or two, which are no word that a list has; three may be one: *vie*. */
const LETTERS = /^\p{Script=Latin}{1,2}$/u;

interface Deciding {
  /** The word that speaks most; null where none does. */
  readonly term: Term | null;
  readonly content: boolean;
  /** No other word speaks more. */
  readonly most: boolean;
}

/**
 * The word that speaks most for where all tokens together lead (without a sum, for the outcome), without special tokens and the
 * word that is hidden, and without that of the token on which heads rest (`resting`): a content word, unless a function word next to the hidden one speaks more than twenty times as much. An
 * article elsewhere explains nothing.
 */
export function decidingWord(
  found: Pick<
    Contributions,
    "values" | "value" | "signed" | "target" | "bias" | "baseline" | "gap"
  >,
  units: readonly Unit[],
  sources = 0,
  resting = -1,
): Deciding {
  const { values, signed, target } = found;
  const hidden =
    target.masked === true && target.position !== undefined ? sources + target.position : -1;
  const words = units.flatMap((unit): Term[] => {
    const own = unit.token <= hidden && hidden < unit.end;
    const rests = unit.token <= resting && resting < unit.end;
    return own || rests ? [] : [{ unit, value: sumOfUnit(values, unit) }];
  });
  const sign = signed && sumOfTokens(found) < 0 ? -1 : 1;
  const sizeOf = ({ value }: Term): number => (Number.isNaN(value) ? -1 : sign * value);
  const largest = (terms: readonly Term[]): Term | undefined =>
    terms[firstLargest(terms.map(sizeOf))];
  const any = largest(words);
  if (any === undefined || sizeOf(any) <= 0) return { term: null, content: false, most: false };
  const plain = plainIn(units.map(({ surface }) => surface.trim().toLowerCase()));
  const word = largest(
    words.filter(({ unit }) => !plain[units.indexOf(unit)] && !isMask(unit.text)),
  );
  const content = word !== undefined && sizeOf(word) >= ENOUGH * sizeOf(any);
  const beside = hidden < 0 || any.unit.end === hidden || any.unit.token === hidden + 1;
  return content || (word !== undefined && !beside)
    ? { term: word, content: true, most: sizeOf(word) >= sizeOf(any) }
    : { term: any, content: false, most: true };
}

/** Sum of all tokens; of a method that does not add up, the outcome. */
const sumOfTokens = ({
  value,
  bias,
  baseline,
  gap,
}: Pick<Contributions, "value" | "bias" | "baseline" | "gap">): number =>
  gap === null ? value : value - (bias ?? 0) - (baseline ?? 0);

/** True where a text of another language is asked about one of its function words, or about a letter or two. */
function ofNoWords(names: readonly string[], tokens: TokenColumns): boolean {
  const isLittle = (name: string): boolean =>
    !isFunctionWord(name) && (isFunctionWordElsewhere(name) || LETTERS.test(name));
  return names.length === 2 && isOfElsewhere(tokens) && names.some(isLittle);
}

interface Props {
  /** The target and its value; null before the first answer. */
  readonly titled: Titled | null;
  /** The chosen method's answer. */
  readonly found: Contributions | null;
  readonly tokens: TokenColumns;
  /** The tokens that contribute: those of a source, then `tokens`. */
  readonly explained: Explained;
  /** The model predicts what follows a position. */
  readonly next: boolean;
  /** The reader put the question: then it has an answer, even that no word decides. */
  readonly asked?: boolean;
  readonly label: (token: number) => string;
  readonly nameUnit: (unit: Unit) => string;
  /** Make a token of the text the focus token. */
  readonly choose: (token: number) => void;
}

/**
 * `With “are” hidden, keys decides for “are” over “is”, by 3.00; “are” leads by 4.08 logits. All tokens together speak for “are”
 * by 8.81; before any word is read the model leans to “is” by 4.73.` Every number is that of a side, so none has a sign.
 */
export function WhySentence(props: Props) {
  const { titled, found, tokens, explained, next, label, nameUnit, choose, asked = true } = props;
  if (titled === null || found === null) return <SentenceLine />;
  const { of, value, error } = titled;
  const own = of.target.position === undefined ? "" : label(of.target.position);
  // The text's own word is spelled as it stands there.
  const [first = "", second] = of.names.map((name) =>
    name.toLowerCase() === own.toLowerCase() ? own : name,
  );
  const { position, masked } = of.target;
  // A class, and what follows, can be asked of any text that the model knows a word of.
  const only = explained.tokens.special.filter((is) => is !== true).length === 1;
  // Predictions says so.
  const nothing = nothingToExpect(
    explained.tokens,
    masked !== true && !(only && explained.tokens.text.some(isMask)),
  );
  if (nothing !== null) return <SentenceLine silent />;
  if (ofNoWords(of.names, explained.tokens) && position !== undefined)
    return !asked ? (
      <SentenceLine silent />
    ) : (
      <SentenceLine of={explained.tokens}>
        {masked ? "With " : next ? "After " : "At "}
        <TextWord text={label(position)} {...{ tokens, position, choose }} />
        {masked ? " hidden the model" : " the model"}
        {" chooses between "}
        <Word text={first} />
        {" and "}
        <Word text={second ?? ""} />, not two content words, so what decides tells little.
      </SentenceLine>
    );
  const { signed, bias, baseline, gap } = found;
  const units = wordsOf(explained.tokens);
  // The heads of a decoder rest on the first token, which may be a word, whatever it says.
  const resting = next && explained.sources === 0 && tokens.special[0] === false ? 0 : -1;
  const { term, content, most } = decidingWord(found, units, explained.sources, resting);
  const rested = resting < 0 ? undefined : units.find(({ token }) => token === resting);
  const place = explained.placeOf(term?.unit.token ?? 0);
  const named = ({ unit }: Term) => (
    <TextWord
      text={nameUnit(unit)}
      tokens={explained.tokens}
      position={unit.token}
      choose={place.ofSource ? null : () => choose(place.token)}
    />
  );
  const together = sumOfTokens(found);
  const sign = signed && together < 0 ? -1 : 1;
  const aside =
    rested !== undefined && sign * sumOfUnit(found.values, rested) > sign * (term?.value ?? 0)
      ? "the first word aside, "
      : "";
  const agrees = !signed || together < 0 === value < 0;
  const decides =
    term !== null &&
    content &&
    most &&
    gap !== null &&
    agrees &&
    Math.abs(term.value) > Math.abs(value);
  /** The name that a number speaks for. */
  const side = (number: number) => <Word text={number < 0 ? (second ?? first) : first} />;
  const pair = (number: number) => (
    <>
      {side(number)}
      {second !== undefined && " over "}
      {second !== undefined && side(number < 0 ? 1 : -1)}
    </>
  );
  const least = asked ? DECIDES : TELLS;
  const little =
    signed &&
    second !== undefined &&
    Math.abs(term?.value ?? 0) < Math.max(least.logits, least.share * Math.abs(value));
  if (little && !asked) return <SentenceLine silent />;
  const towards = agrees ? value : -value;
  const against = second === undefined && together < 0;
  const verb = !signed
    ? "has the largest share in "
    : decides && second !== undefined
      ? "decides for "
      : `speaks most ${against ? "against" : "for"} `;
  const size = (number: number) => (
    <Num value={Math.abs(number)} text={formatNumber(Math.abs(number))} />
  );
  /** `speak for “are” by 6.50`; of a single name what is added. */
  const leaning = (number: number, one: string, two: string) =>
    second === undefined ? (
      <>
        {one}
        <Num value={number} text={formatSigned(number)} />
      </>
    ) : (
      <>
        {two}
        {side(number)}
        {" by "}
        {size(number)}
      </>
    );
  const [lean, before] =
    bias === null ? [baseline ?? 0, "with all words masked"] : [bias, "before any word is read"];
  const leads = (number: number): boolean => number !== 0 && number < 0 === value < 0;
  const because =
    leads(lean) && (!agrees || Math.abs(lean) >= Math.abs(together))
      ? `${before} the model leans to `
      : agrees && gap !== null
        ? "all tokens together speak for "
        : "";
  const all = [
    gap !== null && (bias ?? baseline) !== null
      ? (["All tokens together ", together, "add ", "speak for "] as const)
      : null,
    bias !== null && bias !== 0 ? leanOf(of, bias) : null,
    baseline !== null && baseline !== 0
      ? (["With all words masked the model ", baseline, "has ", "leans to "] as const)
      : null,
  ].filter((sum) => sum !== null);
  // Sums that agree change nothing about the answer.
  const opposed = all.some(([, number]) => number < 0 !== value < 0);
  const sums = !little && (second === undefined || opposed) ? all : [];
  return (
    <SentenceLine of={explained.tokens}>
      {position !== undefined && (
        <>
          {masked ? "With " : next ? "After " : "At "}
          <TextWord text={label(position)} {...{ tokens, position, choose }} />
          {masked ? " hidden, " : ", "}
        </>
      )}
      {position === undefined ? capital(aside) : aside}
      {little ? (
        <>
          {`no ${term === null ? "" : most ? "single " : "content "}word decides between `}
          <Word text={first} />
          {" and "}
          <Word text={second} />
        </>
      ) : term === null ? (
        <>
          {signed ? `no word speaks ${against ? "against " : "for "}` : "no word has a share in "}
          {pair(towards)}
        </>
      ) : (
        <>
          {content ? !most && "of the content words " : "the function word "}
          {named(term)}
          {explained.sources > 0 && (place.ofSource ? " of the source" : ", written before,")}{" "}
          {verb}
          {pair(towards)}
          {signed ? ", by " : ": "}
          {size(term.value)}
        </>
      )}
      {little && because !== "" ? `: ${because}` : "; "}
      {side(value)}
      {little && because !== "" && ", which"}
      {second === undefined
        ? ` has a ${of.of === "similarity" ? "similarity" : "logit"} of `
        : ` ${agrees || little ? "" : "still "}leads by `}
      <Num
        part="why-value"
        value={value}
        text={formatNumber({ value: second === undefined ? value : Math.abs(value), error })}
      />
      {second !== undefined && " logits"}.
      {sums.map(([of, number, one, two], i) => (
        <Fragment key={of}>
          {i === 0 ? ` ${of}` : `; ${of.toLowerCase()}`}
          {leaning(number, one, two)}
        </Fragment>
      ))}
      {sums.length > 0 && "."}
    </SentenceLine>
  );
}
