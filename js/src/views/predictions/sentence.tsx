/** The list in words: what the model expects at the reader's mask, which word surprises it, how it would go on. */

import type { ComponentChildren } from "preact";
import { formatOrdinal, type TokenLabel, type TokenScheme } from "../../figures/format";
import { nothingToExpect } from "../../figures/nothing-to-expect";
import { isWhole } from "../../figures/whole-words";
import type { Meta } from "../../protocol/types";
import { SentenceLine, Share } from "../../ui/sentence";
import { TextWord } from "../../ui/word";
import { answerAt, type Guess, maskedAt } from "./answers";
import type { Predictions } from "./data";
import { Expected, Instead, nameOf } from "./instead";
import { NextSentence } from "./next";
import { countedIn, isSurprise } from "./subject";

const LETTER = /[\p{L}\p{N}]/u;
const FirstTwo = ({ guesses: [first, second] }: { readonly guesses: readonly Guess[] }) => (
  <>
    {first && <Expected name={nameOf(first.label)} {...first} />}
    {second && ", then "}
    {second && <Expected name={nameOf(second.label)} {...second} />}
  </>
);

/** `At [MASK] the model expects rome: 41%, then florence: 23%.` */
export function PredictionsSentence({
  predictions,
  subject,
  meta,
  scheme,
  choose,
}: {
  readonly predictions: Predictions | null;
  /** The position that is spoken of; null as long as it is not known. */
  readonly subject: number | null;
  readonly meta: Meta;
  readonly scheme: TokenScheme;
  /** Make a token the focus token. */
  readonly choose: (token: number) => void;
}) {
  const { tokens } = meta;
  const counted = countedIn(meta);
  if (predictions === null) return <SentenceLine />;
  const hidden = subject === null ? undefined : maskedAt(meta, subject);
  const nothing = nothingToExpect(tokens, predictions.mode === "next");
  if (nothing !== null && hidden === undefined) return <SentenceLine>{nothing}</SentenceLine>;
  if (subject === null) return <SentenceLine />;
  const at = (position: number) => answerAt(predictions, position, meta, scheme);
  const { original, guesses } = at(subject);
  const word = (label: TokenLabel, position: number) => (
    <TextWord key="word" text={nameOf(label)} {...{ tokens, position, choose }} />
  );
  const say = (...parts: readonly ComponentChildren[]) => (
    <SentenceLine of={tokens}>{parts}.</SentenceLine>
  );
  if (predictions.mode === "next")
    return <NextSentence {...{ predictions, meta, scheme, choose }} position={subject} />;
  const [first] = guesses;
  if (original === null || first === undefined) return <SentenceLine />;
  const named = word(original.label, subject);
  if (hidden !== undefined || !counted.includes(subject)) {
    return say(
      hidden === undefined ? "At " : "In place of ",
      hidden === undefined ? word({ ...original.label, word: "[MASK]" }, subject) : named,
      " the model expects ",
      <FirstTwo guesses={guesses} />,
      hidden !== undefined && !guesses.slice(0, 2).some(({ original }) => original) && (
        <>
          {`; the word itself is ${formatOrdinal(original.rank)}: `}
          <Share value={original.probability} />
        </>
      ),
    );
  }
  const known = counted.filter((i) => predictions.known.has(i)).length;
  // A run that has stopped speaks of what it has.
  const pieces = counted.filter((i) => !isWhole(tokens, i) && LETTER.test(tokens.surface[i] ?? ""));
  const hides =
    known < counted.length
      ? `With ${known} of ${counted.length} tokens hidden, each in turn, `
      : `With each ${pieces.length > 0 ? "token" : "word"} hidden in turn, `;
  const lead = predictions.mode === "masked" ? hides : "Read as it is, ";
  const probability = (i: number): number => predictions.originalProbability.data[i] ?? 0;
  // One that is left out surprises more.
  const beyond =
    pieces.length > 0 &&
    counted.some(
      (i) =>
        predictions.known.has(i) && !isWhole(tokens, i) && probability(i) < probability(subject),
    );
  const among = beyond && isWhole(tokens, subject) ? "of the words of one token " : "";
  if (first.original)
    return say(
      lead,
      counted.length === 1
        ? "the model expects it"
        : `the model expects every word${beyond ? " of one token" : ""}`,
      counted.length > 1 && [
        ", least surely ",
        named,
        ": ",
        <Share key="" value={first.probability} />,
      ],
    );
  if (!isWhole(tokens, subject))
    return say(
      "The model has no word of this text as one token, so what it expects in place of one tells little",
    );
  const rank = formatOrdinal(original.rank);
  if (!isSurprise(original)) return <SentenceLine silent />;
  return say(
    lead,
    among,
    named,
    " surprises the model most: ",
    <Share value={original.probability} />,
    `, ${rank}`,
    <Instead key="" guesses={guesses} />,
  );
}
