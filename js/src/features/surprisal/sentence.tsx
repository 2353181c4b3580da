/** The words in words: which one surprises most, against the mean of all. */

import { Num } from "../../ui/number";
import { SentenceLine } from "../../ui/sentence";
import { TextWord } from "../../ui/word";
import { summaryOf, type Words } from "./data";

/** A word stands out with as many times the mean. */
const STANDS_OUT = 2;

/** A word without the marks around it; marks alone as they are. */
export const bare = (text: string): string =>
  text.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "") || text;

const Bits = ({ value }: { readonly value: number }) => (
  <Num value={value} text={`${value.toFixed(1)} bits`} />
);

export function WordsSentence({
  words,
  choose,
}: {
  readonly words: Words;
  readonly choose: (token: number) => void;
}) {
  const summary = summaryOf(words);
  if (summary === null) return <SentenceLine />;
  const { most, mean, count } = summary;
  const equal = words.rows.map(({ text }) => bare(text));
  const word = (
    <TextWord
      text={bare(most.text)}
      tokens={{ surface: equal }}
      position={words.rows.indexOf(most)}
      choose={() => choose(most.first)}
    />
  );
  const hidden = words.masked ? "With each word hidden in turn, " : "";
  const lead =
    most.bits < STANDS_OUT * mean
      ? hidden === ""
        ? "No word stands out; "
        : `${hidden}no word stands out; `
      : hidden;
  return (
    <SentenceLine>
      {lead}
      {word}
      {" surprises the model most: "}
      <Bits value={most.bits} />
      {", against "}
      <Bits value={mean} />
      {` on average over ${count} words.`}
    </SentenceLine>
  );
}
