/** The current row in words: the sentence that it looks at most, what stays in it, and what tokens in no sentence take. */
import { itemAt } from "../../protocol/required";
import { Num } from "../../ui/number";
import { SentenceLine } from "../../ui/sentence";
import { keyName, ofTwoTexts, type SentenceMatrix, sentenceName, strongestOther } from "./data";

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
  const best = strongestOther(matrix, row);
  const other = best === null ? "" : keyName(matrix, best);
  const number = (value: number) => <Num value={value} error={error(value)} />;
  const at = (column: number) => number(itemAt(values, row * width + column));
  const taken = elsewhere?.some((share) => share > 0) ? number(itemAt(elsewhere, row)) : null;
  const said = (...parts: readonly unknown[]) => (
    <SentenceLine>{parts as readonly string[]}.</SentenceLine>
  );
  if (ofTwoTexts(matrix)) {
    const more = width > 1 ? ", more than to any other sentence of the source" : "";
    const special = taken && ["; ", taken, " lands on special tokens"];
    const source = keyName(matrix, best ?? 0);
    if (asked.aggregation === "max") {
      const from = `The strongest link from ${name} of the text that is written leads to ${source}, `;
      return said(from, at(best ?? 0), special);
    }
    const gives = `${name} of the text that is written gives `;
    return said(gives, at(best ?? 0), ` of its attention to ${source}${more}`, special);
  }
  if (asked.aggregation === "max") {
    const within = "within it, the strongest link is ";
    if (size === 1) return said("The text is one sentence; its strongest link is ", at(row));
    if (best === null)
      return said(`No token of ${name} can look at another sentence; ${within}`, at(row));
    const to = `The strongest link from ${name} to another sentence is to ${other}, `;
    return said(to, at(best), `; the strongest within ${name} is `, at(row));
  }
  const own = weights ? ` of its attention stays in ${size === 1 ? "it" : name}` : " is its own";
  const special = taken && [", ", taken, ` ${weights ? "lands on" : "comes from"} ${outside}`];
  if (size === 1) return said("The text is one sentence: ", at(row), own, special);
  if (best === null) {
    const none = `The model’s mask lets ${name} ${weights ? "look at" : "take from"} no other sentence; `;
    return said(none, at(row), own, special);
  }
  const more =
    size > 2 ? `, more than ${weights ? "it gives" : "from"} any other sentence; ` : "; ";
  const [gives, to] = weights
    ? [`${name} gives ${other} `, " of its attention"]
    : [`${name} takes `, ` from ${other}`];
  return said(gives, at(best), to + more, at(row), own, special);
}
