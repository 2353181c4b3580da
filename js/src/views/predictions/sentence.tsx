/** The list in words: where the model is least sure, and what it expects there. */

import { formatOrdinal, type TokenScheme } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import type { Meta } from "../../protocol/types";
import { Num, Percent } from "../../ui/number";
import { Nth, SentenceLine } from "../../ui/sentence";
import { answerAt } from "./answers";
import type { Predictions } from "./data";

/**
 * The position of the text whose first choice is least probable, the first of those that are equal up to rounding; null
 * where none is known. Special tokens are not predicted.
 */
export function leastSure(
  { known, topK, probabilities }: Predictions,
  shown: readonly number[],
  special: readonly boolean[],
): number | null {
  const positions = shown.filter((position) => known.has(position) && special[position] !== true);
  const shares = positions.map((position) => -itemAt(probabilities.data, position * topK));
  return positions[firstLargest(shares)] ?? null;
}

/** `The token that surprises the model most is drink, after a: 10.3 bits; it expected lot.` */
function NextSentence({
  predictions,
  meta,
  scheme,
}: {
  readonly predictions: Predictions;
  readonly meta: Meta;
  readonly scheme: TokenScheme;
}) {
  const bits = Array.from(predictions.surprisal?.data ?? [], (surprisal) =>
    Number.isNaN(surprisal) ? -1 : surprisal,
  );
  const position = firstLargest(bits);
  const last = meta.tokens.text.length - 1;
  const { original, guesses } = answerAt(predictions, Math.max(position, 0), meta, scheme);
  const [best, comes] = [guesses[0], answerAt(predictions, last, meta, scheme).guesses[0]];
  // A mark alone would be read as one of this sentence.
  const name = (text: string) => (
    <bdi dir="ltr">{/[\p{L}\p{N}]/u.test(text) ? text : `“${text}”`}</bdi>
  );
  return (
    <SentenceLine>
      {original !== null && original.bits !== null && best !== undefined && (
        <>
          {name(original.label.word ?? original.label.text)}
          <Nth {...{ tokens: meta.tokens, position: position + 1 }} />
          {" surprises the model most, with "}
          <Num value={original.bits} />
          {" bits"}
          {!best.original && (
            <>
              {" where it expected "}
              {name(best.label.word ?? best.label.text)}
            </>
          )}
          {". "}
        </>
      )}
      {comes !== undefined && (
        <>
          {"It would go on with "}
          {name(comes.label.word ?? comes.label.text)} <Percent value={comes.probability} />
          {"."}
        </>
      )}
    </SentenceLine>
  );
}

/** `The model is least sure at here: its first choice is open, 4.10%; here ranks 5th, 0.120%.` */
export function PredictionsSentence({
  predictions,
  shown,
  meta,
  scheme,
}: {
  readonly predictions: Predictions | null;
  /** Positions whose rows are shown. */
  readonly shown: readonly number[];
  readonly meta: Meta;
  readonly scheme: TokenScheme;
}) {
  const { special } = meta.tokens;
  const position = predictions && leastSure(predictions, shown, special);
  if (predictions === null || position === null) return <SentenceLine />;
  const { original, guesses } = answerAt(predictions, position, meta, scheme);
  const first = itemAt(guesses, 0);
  if (predictions.mode === "next") return <NextSentence {...{ predictions, meta, scheme }} />;
  if (original === null) return <SentenceLine />;
  const words = special.filter((is) => !is).length;
  const count = [...predictions.known].filter((i) => special[i] !== true).length;
  const name = (label: typeof first.label) => <bdi dir="ltr">{label.text}</bdi>;
  return (
    <SentenceLine>
      {predictions.mode === "masked" ? "With each token hidden in turn, the model" : "The model"}
      {count < words && ` (so far at ${count} of ${words} positions)`}
      {" is least sure at "}
      {name(original.label)}
      <Nth {...{ tokens: meta.tokens, position }} />
      {first.original ? (
        <>
          {": it is the first choice, with only "}
          <Percent value={first.probability} />
        </>
      ) : (
        <>
          {": its first choice is "}
          {name(first.label)}
          {", "}
          <Percent value={first.probability} />
          {"; "}
          {name(original.label)}
          {` ranks ${formatOrdinal(original.rank)}, `}
          <Percent value={original.probability} />
        </>
      )}
      .
    </SentenceLine>
  );
}
