/** Words that a model expects in the place of one of the text. */

import type { TokenLabel } from "../../figures/format";
import { Share } from "../../ui/sentence";
import { isNamed, Word } from "../../ui/word";
import type { Guess } from "./answers";

export const nameOf = ({ word, text }: TokenLabel): string => word ?? text;

/** A word that a vocabulary has whole, as far as it says: no mark, no piece, no single letter but *a* and *I*. */
const isWord = ({ token, label }: Guess): boolean =>
  !token.startsWith("##") &&
  /^(?![^\p{L}\p{N}]*[b-hj-z]$|[[<⟨]).*[\p{L}\p{N}]/iu.test(nameOf(label));

/** A mark, a symbol or a unit (*°c*), and no piece of a word. */
const isSign = ({ token, label }: Guess): boolean =>
  !/^##./u.test(token) &&
  /[^\p{L}\p{N}\p{M}\s]/u.test(nameOf(label)) &&
  !/^[[<]./u.test(label.text);
/** A word is named after a sign from so much of what that gets on. */
const AFTER_SIGN = 0.1;

interface Said {
  /** Guesses that are words; those of a masked word by default. */
  readonly says?: (guess: Guess) => boolean;
  readonly name?: (guess: Guess) => string;
}

/** `, where it expects man: 39%`, the sign that is likelier than any word, or the likeliest guess that is a word; nothing where that is the text's own. */
export function Instead({
  guesses,
  says = isWord,
  name = ({ label }) => nameOf(label),
}: Said & { readonly guesses: readonly Guess[] }) {
  const word = guesses.find(says);
  const [first] = guesses;
  const expected = (guess: Guess) => (
    <Expected name={name(guess)} probability={guess.probability} />
  );
  if (word === undefined ? first === undefined || !isSign(first) : word.original) return null;
  if (first !== undefined && word !== first && isSign(first))
    return (
      <>
        {`, where it expects ${isNamed(nameOf(first.label)) ? "" : "the sign "}`}
        {expected(first)}
        {word !== undefined && word.probability >= AFTER_SIGN * first.probability && (
          <>
            {", then "}
            {expected(word)}
          </>
        )}
      </>
    );
  return word === undefined ? null : (
    <>
      {word === first ? ", where it expects " : ", where the likeliest word is "}
      {expected(word)}
    </>
  );
}

/** `rome: 41%`. */
export const Expected = ({
  name,
  probability,
}: {
  readonly name: string;
  readonly probability: number;
}) => (
  <>
    <Word text={name} />
    {": "}
    <Share value={probability} />
  </>
);
