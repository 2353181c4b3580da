/** The current row in words: the sentence that it looks at most, what stays in it, and what tokens in no sentence take. */

import { itemAt } from "../../protocol/required";
import { Num } from "../../ui/number";
import { SentenceLine } from "../../ui/sentence";
import { ofTwoTexts, type SentenceMatrix, strongestOther } from "./data";
import { keyName, sentenceName } from "./grid";

/** `S0 gives S1 0.123 of its attention, more than it gives any other sentence; 0.412 stays in S0, 0.465 lands on special tokens.` */
export function SentencesSentence({
  matrix,
  row,
}: {
  readonly matrix: SentenceMatrix;
  readonly row: number;
}) {
  const { size, width, values, elsewhere, outside, asked, error } = matrix;
  if (size === 0 || width === 0) return <SentenceLine />;
  const weights = asked.quantity === null;
  const name = sentenceName(row);
  const number = (value: number) => <Num value={value} error={error(value)} />;
  const best = strongestOther(matrix, row);
  if (ofTwoTexts(matrix)) {
    const b = best ?? 0;
    return (
      <SentenceLine>
        {asked.aggregation === "max"
          ? `The strongest link from ${name} of the text that is written leads to ${keyName(matrix, b)}, `
          : `${name} of the text that is written gives `}
        {number(itemAt(values, row * width + b))}
        {asked.aggregation === "mass" &&
          ` of its attention to ${keyName(matrix, b)}${width > 1 ? ", more than to any other sentence of the source" : ""}`}
        {elsewhere?.some((share) => share > 0) && (
          <>
            {"; "}
            {number(itemAt(elsewhere, row))}
            {" lands on special tokens"}
          </>
        )}
        .
      </SentenceLine>
    );
  }
  const own = itemAt(values, row * size + row);
  const special = elsewhere?.some((share) => share > 0) && (
    <>
      {", "}
      {number(itemAt(elsewhere, row))}
      {` ${weights ? "lands on" : "comes from"} ${outside}`}
    </>
  );
  if (asked.aggregation === "max") {
    return (
      <SentenceLine>
        {size === 1 && "The text is one sentence; its strongest link is "}
        {size > 1 &&
          best === null &&
          `No token of ${name} can look at another sentence; within it, the strongest link is `}
        {size > 1 && best !== null && (
          <>
            {`The strongest link from ${name} to another sentence is to ${sentenceName(best)}, `}
            {number(itemAt(values, row * size + best))}
            {`; the strongest within ${name} is `}
          </>
        )}
        {number(own)}.
      </SentenceLine>
    );
  }
  return (
    <SentenceLine>
      {size === 1 && "The text is one sentence: "}
      {size > 1 &&
        best === null &&
        `The model’s mask lets ${name} ${weights ? "look at" : "take from"} no other sentence; `}
      {size > 1 && best !== null && (
        <>
          {weights ? `${name} gives ${sentenceName(best)} ` : `${name} takes `}
          {number(itemAt(values, row * size + best))}
          {weights ? " of its attention" : ` from ${sentenceName(best)}`}
          {size > 2 && `, more than ${weights ? "it gives" : "from"} any other sentence`}
          {"; "}
        </>
      )}
      {number(own)}
      {weights ? ` of its attention stays in ${size === 1 ? "it" : name}` : " is its own"}
      {special}.
    </SentenceLine>
  );
}
