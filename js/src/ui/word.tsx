/** Tokens in a sentence; apart from `sentence.tsx`, as no view that is drawn first needs them. */

import { wordsOf } from "../figures/nothing-to-see";
import type { TokenColumns } from "../protocol/types";
import { FocusWord, Quoted, Which } from "./sentence";

/** A quotation mark in quotes cannot be read, nor a sign that stands for a line break. */
const NAMES: Readonly<Record<string, string>> = {
  '"': "a quotation mark",
  "“": "an opening quotation mark",
  "”": "a closing quotation mark",
  "⏎": "a line break",
};

/** True of a mark that has a name of its own. */
export const isNamed = (text: string): boolean => NAMES[text] !== undefined;

/** A beginning of a word, which goes on. */
const isOpen = (text: string): boolean => /[\p{L}\p{N}]…$/u.test(text);

/** A token, of the text or of the vocabulary. */
export const Word = ({ text }: { readonly text: string }) =>
  isNamed(text) || isOpen(text) ? (
    <bdi dir="ltr">{NAMES[text] ?? `“${text}”`}</bdi>
  ) : (
    <Quoted text={text} />
  );

type Names = TokenColumns | Pick<TokenColumns, "surface">;

/** Which of several equal words a token belongs to, where its word is named; else which of several equal names it is. */
const WhichWord = ({
  text,
  tokens,
  position,
}: {
  readonly text: string;
  readonly tokens: Names;
  readonly position: number;
}) => {
  const words = "before" in tokens ? wordsOf(tokens) : [];
  const names = words.map(({ surface }) => surface.trim());
  const at = words.findIndex(({ token, end }) => token <= position && position < end);
  return names[at]?.toLowerCase() === text.trim().toLowerCase() ? (
    <Which {...{ names, at }} />
  ) : (
    <Which names={tokens.surface} at={position} />
  );
};

/** A token of the text, and which of several equal ones; a click makes it the focus token. */
export const TextWord = ({
  text,
  tokens,
  position,
  choose,
}: {
  readonly text: string;
  /** Null where it goes without saying which one is meant. */
  readonly tokens: Names | null;
  readonly position: number;
  /** Null of a token that cannot be the focus. */
  readonly choose: ((token: number) => void) | null;
}) => (
  <FocusWord choose={choose && (() => choose(position))}>
    <Word text={text} />
    {tokens && <WhichWord {...{ text, tokens, position }} />}
  </FocusWord>
);
