/** The classifier's answer in words. */

import type { ComponentChildren } from "preact";
import {
  bestSpan,
  type Classification,
  classesOf,
  type SoftmaxColumn,
  spanText,
  termOf,
} from "../../figures/classes";
import { largest } from "../../figures/derive/matrix";
import { formatCount, formatNumber, visible } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import type { TokenColumns } from "../../protocol/types";
import { Num } from "../../ui/number";
import { Share, Word } from "../../ui/sentence";

/** Labels that a sentence names. */
const NAMED = 3;

const Name = ({ label }: { readonly label: string }) => (
  <bdi class="aw-verdict-label" title={label}>
    {visible(label)}
  </bdi>
);

/** `The model classifies the text as positive: 93%, then negative: 6.9%, chance 33%.` */
function ofText(column: SoftmaxColumn): ComponentChildren {
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
  if (activation === "softmax")
    return (
      <>
        {itemAt(probabilities, first) >= 0.5
          ? "The model classifies the text as "
          : "The model hardly decides: "}
        {term(first)}
        {second !== undefined && <>, then {term(second)}</>}
        {labels.length > 1 && (
          <>
            {`, chance `}
            <Share value={1 / labels.length} />
          </>
        )}
        .
      </>
    );
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
          <Word text={name(surest.token)} />
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

/** Answer of a classifier of texts, of tokens, or of answer spans; `name` is a token's. */
export function classesInWords(
  found: Classification,
  tokens: TokenColumns,
  name: (token: number) => string,
): ComponentChildren {
  if (found.task === "token") return ofTokens(found, tokens, name);
  return found.task === "sequence" ? ofText(classesOf(found, 0)) : ofSpan(found, tokens, name);
}
