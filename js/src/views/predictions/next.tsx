/** A decoder's list in words: where it was least sure of what it wrote, or what surprises it most, and how it would go on. */

import { capital, type TokenScheme } from "../../figures/format";
import { type Guessed, guessAfter, isEnd, isStart, placeName } from "../../figures/guess";
import { schemeOf, tokenName } from "../../figures/names";
import { LETTER } from "../../figures/nothing-to-see";
import { contentOf, isWhole } from "../../figures/whole-words";
import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import type { Meta } from "../../protocol/types";
import { SentenceLine, Share } from "../../ui/sentence";
import { TextWord } from "../../ui/word";
import { answerAt, type Guess } from "./answers";
import type { Predictions } from "./data";
import { Expected, Instead } from "./instead";
import { isSurprise, mostSurprising } from "./subject";

/** A second choice is named from so much of the first one's probability on. */
const TOLD = 0.1;
/** A content word of which the model was surer than this comes after function words; of one surer than that it was sure. */
const UNSURE = 0.5;
const SURE = 0.9;

/** The position before the word of which the model was least sure, of those that it wrote, and which words these are; null where there is none. */
export function leastSure(
  { known, originalProbability }: Pick<Predictions, "known" | "originalProbability">,
  { tokens, written }: Pick<Meta, "tokens" | "written">,
): { readonly position: number; readonly of: string } | null {
  const { surface, special } = tokens;
  const sureness = (i: number): number => originalProbability.data[i] ?? 1;
  const says = contentOf(tokens);
  const named = surface.flatMap((_, i) =>
    written !== undefined &&
    i + 1 >= written &&
    known.has(i) &&
    special[i + 1] === false &&
    LETTER.test(itemAt(surface, i + 1))
      ? [i]
      : [],
  );
  const whole = named.filter((i) => isWhole(tokens, i + 1));
  const content = whole.filter((i) => says(itemAt(surface, i + 1)) && sureness(i) < UNSURE);
  const among = content.length > 0 ? content : whole;
  const position = among[firstLargest(among.map((i) => -sureness(i)))];
  if (position === undefined) return null;
  const lower = named.filter((i) => sureness(i) < sureness(position));
  const of =
    lower.length === 0
      ? "words"
      : lower.every((i) => isWhole(tokens, i + 1))
        ? "content words"
        : "words of one token";
  return {
    position,
    of: lower.length > 0 && content.length > 0 && of !== "content words" ? `content ${of}` : of,
  };
}

/** `The model would go on with flies: 61%, then insects: 12%; traps surprises it most: <0.01%, where it expects “is”: 34%.` */
export function NextSentence({
  predictions,
  meta,
  scheme,
  position,
  choose,
}: {
  readonly predictions: Predictions;
  readonly meta: Meta;
  readonly scheme: TokenScheme;
  /** The text's last one. */
  readonly position: number;
  readonly choose: (token: number) => void;
}) {
  const { tokens } = meta;
  const at = (position: number) => answerAt(predictions, position, meta, scheme);
  const guessed = ({ token }: Guess, after: number): Guessed =>
    guessAfter(token, scheme, tokens, after, predictions.beginnings);
  const expected = (guess: Guess, after: number) => (
    <Expected name={guessed(guess, after).name} probability={guess.probability} />
  );
  const words = (after: number) => ({
    says: (guess: Guess) => guessed(guess, after).kind !== "mark",
    name: (guess: Guess) => guessed(guess, after).name,
  });
  const word = (position: number) => (
    <TextWord
      text={tokenName(tokens, position, schemeOf(tokens))}
      {...{ tokens, position, choose }}
    />
  );
  const [first, second] = at(position).guesses;
  const then = first && second && second.probability >= TOLD * first.probability && (
    <>
      {", then "}
      {expected(second, position)}
    </>
  );
  // Behind the end of a turn nothing but the next can follow.
  const goesOn = first && !isStart(first.token) && (
    <>
      {isEnd(first.token) ? (
        "end here: "
      ) : guessed(first, position).kind === "continues" ? (
        <>
          {"continue "}
          <TextWord
            text={placeName(tokens, position, tokenName(tokens, position, schemeOf(tokens)))}
            {...{ tokens, position, choose }}
          />
          {" as "}
        </>
      ) : (
        "go on with "
      )}
      {isEnd(first.token) ? <Share value={first.probability} /> : expected(first, position)}
      {then}
    </>
  );
  const { position: unsure, of } = leastSure(predictions, meta) ?? { position: null, of: "" };
  const answer = unsure === null ? null : at(unsure);
  if (unsure !== null && answer?.original) {
    const { original, guesses } = answer;
    const [likeliest] = guesses;
    const other = guesses.find((guess) => !guess.original && words(unsure).says(guess));
    const sure = original.probability >= SURE;
    const mine = likeliest?.original === true;
    return (
      <SentenceLine of={tokens}>
        {mine
          ? `Of the ${of} that it wrote the model was ${sure ? "sure, least " : "least sure "}of `
          : `Of the ${of} that are written, `}
        {word(unsure + 1)}
        {mine ? ": " : " surprises the model most: "}
        <Share value={original.probability} />
        {mine ? (
          other !== undefined &&
          other.probability >= TOLD * original.probability && (
            <>
              {"; it might have written "}
              {expected(other, unsure)}
            </>
          )
        ) : (
          <Instead {...{ guesses }} {...words(unsure)} />
        )}
        {goesOn && "; it would "}
        {goesOn}.
      </SentenceLine>
    );
  }
  const surprising = mostSurprising(predictions, tokens);
  const surprise = surprising === null ? null : at(surprising.position).original;
  const surprises = surprising !== null && surprise != null && isSurprise(surprise);
  if (!goesOn && !surprises) return <SentenceLine silent />;
  return (
    <SentenceLine of={tokens}>
      {goesOn && "The model would "}
      {goesOn}
      {surprises && (
        <>
          {goesOn && "; "}
          {goesOn ? surprising.of : capital(surprising.of)}
          {word(surprising.position + 1)}
          {` surprises ${goesOn ? "it" : "the model"} most: `}
          <Share value={surprise.probability} />
          <Instead guesses={at(surprising.position).guesses} {...words(surprising.position)} />
        </>
      )}
      .
    </SentenceLine>
  );
}
