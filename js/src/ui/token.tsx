/** Tokens in text: each is isolated, so that a right-to-left one leaves its neighbors in place. */

import type { TokenLabel } from "../figures/format";

/** A token and its position in the text. */
export const TokenName = ({ name, token }: { readonly name: string; readonly token: number }) => (
  <>
    <bdi dir="ltr">{name}</bdi>
    <span class="aw-muted aw-number aw-token-index">{token}</span>
  </>
);

/** A token as the tokenizer writes it, and its readable word where that differs. */
export const TokenText = ({ text, word }: TokenLabel) => (
  <span class="aw-token">
    {/* The tokenizer's marks stay in front: ##ל is not turned into ל##. */}
    <bdi class="aw-token-text" dir="ltr">
      {text}
    </bdi>
    {word !== null && <bdi class="aw-token-word">{word}</bdi>}
  </span>
);
