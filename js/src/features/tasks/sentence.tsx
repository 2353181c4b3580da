/** The classifier's answer in words. */

import type { ComponentChildren } from "preact";
import { isAboveChance, isTelling } from "../../figures/chance";
import { type Classification, classesOf, type SoftmaxColumn, termOf } from "../../figures/classes";
import { largest } from "../../figures/derive/matrix";
import { medianOf } from "../../figures/derive/median";
import type { Unit } from "../../figures/derive/units";
import { formatCount, formatNumber, visible } from "../../figures/format";
import { schemeOf, unitLabel } from "../../figures/names";
import { saysLittle } from "../../figures/nothing-to-see";
import { plainIn } from "../../figures/plain-words";
import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import type { TokenColumns } from "../../protocol/types";
import { Num } from "../../ui/number";
import { Share } from "../../ui/sentence";
import { TextWord } from "../../ui/word";
import { bestSpan, spanText } from "./answers";

/** Labels that a sentence names. */
const NAMED = 3;

const Name = ({ label }: { readonly label: string }) => (
  <bdi class="aw-verdict-label" title={label}>
    {visible(label)}
  </bdi>
);

/** A word, and by how many logits it moves the likeliest class away from the next; negative: to the next. */
export interface Push {
  readonly word: Unit;
  readonly value: number;
}

/** Without a word that pushes, a class is named from so many times the odds of chance on: the bars show it. */
const CLEAR = 8;
/** A class that is not so many times as likely as the next is no decision: about a logit of lead. */
const DECIDES = 2.8;
/** Least ratio of a word's share to the median of all others', without their signs, that is worth a sentence, and least logits: the odds double. */
const STANDS_OUT = { ratio: 1.5, logits: Math.LN2 };

/** True where a word may push a text from one class to another. */
export const canPush = ({ activation, labels }: SoftmaxColumn): boolean =>
  activation === "softmax" && labels.length > 1;

/** True where the likeliest class of a text leads by little. */
export function isUndecided(column: SoftmaxColumn): boolean {
  const { probabilities } = column;
  const [first = 0, second] = largest(probabilities, 2);
  if (!canPush(column) || second === undefined) return false;
  return itemAt(probabilities, first) < DECIDES * itemAt(probabilities, second);
}

/** Function words that turn what others say. */
const NEGATIONS: ReadonlySet<string> = new Set(["no", "not", "never", "nor", "n't", "without"]);

/** The content word, or negation, that moves the lead most, to either side; null where none stands out among all words. */
export function pushOf(values: ArrayLike<number>, words: readonly Unit[]): Push | null {
  const sums = words.map(({ token, end }) => {
    let sum = 0;
    for (let i = token; i < end; i++) sum += values[i] ?? Number.NaN;
    return sum;
  });
  const names = words.map(({ surface }) => surface.trim().toLowerCase());
  const plain = plainIn(names).map((is, i) => is && !NEGATIONS.has(itemAt(names, i)));
  const place = firstLargest(sums.map((sum, i) => (plain[i] ? 0 : Math.abs(sum))));
  const [word, value] = [words[place], sums[place]];
  const rest = sums.flatMap((sum, i) => (i === place ? [] : [Math.abs(sum)]));
  if (word === undefined || value === undefined || plain[place] || rest.length === 0) return null;
  const { ratio, logits } = STANDS_OUT;
  const size = Math.abs(value);
  return size >= logits && size > ratio * medianOf(rest) ? { word, value } : null;
}

/**
 * `brilliant pushes to positive, away from negative: by 0.61 logits. The model leans to positive: 55%, chance 33%.` Without such
 * a word, where the class is clear, `The model classifies the text as positive: 93%, then negative: 6.9%, chance 33%.`
 */
function ofText(
  column: SoftmaxColumn,
  tokens: TokenColumns,
  push: Push | null | undefined,
  choose: (token: number) => void,
): ComponentChildren {
  const { activation, labels, logits, probabilities } = column;
  const term = (index: number) => {
    const { label, probability } = termOf(column, index);
    return (
      <>
        <Name label={label} />
        {": "}
        <Share value={probability} />
      </>
    );
  };
  if (activation === "identity") {
    const { label, logit } = termOf(column, firstLargest(logits));
    return (
      <>
        {labels.length > 1
          ? `The largest of ${formatCount(labels.length)} values is that of `
          : "The value of "}
        <Name label={label} />
        {labels.length > 1 ? ", " : " is "}
        <Num value={logit} text={formatNumber(logit, 4)} />.
      </>
    );
  }
  const order = largest(probabilities, labels.length);
  const [first = 0, second] = order;
  if (activation === "softmax") {
    const chance = labels.length > 1 && (
      <>
        {", chance "}
        <Share value={1 / labels.length} />
      </>
    );
    const little = saysLittle(tokens);
    if (little !== null)
      return (
        <>
          {`${little}, so its class tells little: `}
          <Name label={itemAt(labels, first)} />
          {", "}
          <Share value={itemAt(probabilities, first)} />
          {chance}.
        </>
      );
    // A share that two digits show as 50% is no less than half.
    const hardly = itemAt(probabilities, first) < 0.495;
    const undecided = isUndecided(column);
    if (hardly && (push == null || second === undefined))
      return (
        <>
          {"The model does not decide: the likeliest class, "}
          <Name label={itemAt(labels, first)} />
          {", gets "}
          <Share value={itemAt(probabilities, first)} />
          {chance}.
        </>
      );
    const verdict = hardly
      ? "The model hardly decides; likeliest is "
      : undecided
        ? "The model leans to "
        : "The model classifies the text as ";
    if (second !== undefined && push != null)
      return (
        <>
          <TextWord
            text={unitLabel(push.word, schemeOf(tokens))}
            position={push.word.token}
            {...{ tokens, choose }}
          />
          {" pushes to "}
          <Name label={itemAt(labels, push.value > 0 ? first : second)} />
          {", away from "}
          <Name label={itemAt(labels, push.value > 0 ? second : first)} />
          {": by "}
          <Num value={Math.abs(push.value)} text={formatNumber(Math.abs(push.value))} />
          {` logits. ${verdict}`}
          {term(first)}
          {chance}.
        </>
      );
    if (push === null && !isTelling(itemAt(probabilities, first), 1 / labels.length, CLEAR))
      return false;
    // No second class at chance or below.
    const isNamed =
      second !== undefined && isAboveChance(itemAt(probabilities, second), 1 / labels.length);
    return (
      <>
        {verdict}
        {term(first)}
        {isNamed && <>, then {term(second)}</>}
        {chance}.
      </>
    );
  }
  const likely = order.filter((i) => itemAt(probabilities, i) >= 0.5);
  if (labels.length === 1 || likely.length === 0)
    return (
      <>
        {labels.length === 1 ? "The model gives " : "No label has 50% or more; the likeliest is "}
        {term(first)}.
      </>
    );
  return (
    <>
      {`${formatCount(likely.length)} of ${formatCount(labels.length)} labels ${likely.length === 1 ? "has" : "have"} 50% or more: `}
      {likely.slice(0, NAMED).map((i, k) => [k > 0 && ", ", <span key={i}>{term(i)}</span>])}
      {likely.length > NAMED ? " …" : "."}
    </>
  );
}

/** `5 of 7 tokens are O; the surest of the others is Paris, LOC 99.0%.` */
function ofTokens(
  found: Classification,
  { text, special }: TokenColumns,
  name: (token: number) => string,
  choose: (token: number) => void,
): ComponentChildren {
  const best = text.flatMap((_, token) => {
    const column = classesOf(found, token);
    return special[token] ? [] : [{ token, ...termOf(column, column.best) }];
  });
  const counts = best.map(({ label }) => best.filter((other) => other.label === label).length);
  const usual = best[firstLargest(counts)];
  if (usual === undefined) return null;
  const others = best.filter(({ label }) => label !== usual.label);
  const surest = others[firstLargest(others.map(({ probability }) => probability))];
  const count = best.length - others.length;
  const all = formatCount(best.length);
  return (
    <>
      {surest === undefined
        ? best.length === 1
          ? "The only token is "
          : `All ${all} tokens are `
        : `${formatCount(count)} of ${all} tokens ${count === 1 ? "is" : "are"} `}
      <Name label={usual.label} />
      {surest !== undefined && (
        <>
          {"; the surest of the others is "}
          <TextWord
            text={name(surest.token)}
            tokens={null}
            position={surest.token}
            choose={choose}
          />
          {", "}
          <Name label={surest.label} />
          {": "}
          <Share value={surest.probability} />
        </>
      )}
      .
    </>
  );
}

/** `The likeliest answer is “the mat”, 81.2%.` */
function ofSpan(
  found: Classification,
  tokens: TokenColumns,
  name: (token: number) => string,
): ComponentChildren {
  const span = bestSpan(found, tokens);
  if (span === null) return "The text has no token that could be an answer.";
  // Start and end at the first special token mean that there is no answer.
  const [start = 0, end = 0] = tokens.special[0] ? found.probabilities : [];
  return (
    <>
      {start * end > span.probability && (
        <>
          {"The model finds no answer (start and end at "}
          <bdi dir="ltr">{name(0)}</bdi>
          {": "}
          <Share value={start * end} />
          {"). "}
        </>
      )}
      {"The likeliest answer is "}
      <bdi dir="auto">{`“${spanText(tokens, span)}”`}</bdi>
      {": "}
      <Share value={span.probability} />.
    </>
  );
}

/** Answer of a classifier of texts, of tokens, or of answer spans; `name` is a token's, `choose` makes one the focus token, `push` is what moves it, null where no word stands out. False where that leaves nothing to tell. */
export function classesInWords(
  found: Classification,
  tokens: TokenColumns,
  name: (token: number) => string,
  choose: (token: number) => void,
  push?: Push | null,
): ComponentChildren {
  if (found.task === "token") return ofTokens(found, tokens, name, choose);
  return found.task === "sequence"
    ? ofText(classesOf(found, 0), tokens, push, choose)
    : ofSpan(found, tokens, name);
}
