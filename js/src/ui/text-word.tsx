/** A token that a sentence names, which a click follows; apart from `sentence.tsx`, as no view that is drawn first needs it. */

import type { TokenColumns } from "../protocol/types";
import { FocusWord, Nth, Word } from "./sentence";

/** A token of the text, with its position where another has the same text; a click makes it the focus token. */
export const TextWord = ({
  text,
  tokens,
  position,
  choose,
}: {
  readonly text: string;
  /** Null where its position is not written. */
  readonly tokens: Pick<TokenColumns, "text"> | null;
  readonly position: number;
  /** Null of a token that cannot be the focus. */
  readonly choose: ((token: number) => void) | null;
}) => (
  <FocusWord choose={choose && (() => choose(position))}>
    <Word text={text} />
    {tokens && <Nth {...{ tokens, position }} />}
  </FocusWord>
);
