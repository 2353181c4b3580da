/** The line in words on top of a view: what it shows of this run. `docs/opening.md` lists all of them with their rules. */

import type { ComponentChildren } from "preact";
import type { TokenColumns } from "../protocol/types";

/** Nothing while there is nothing to say. */
export const SentenceLine = ({ children = null }: { readonly children?: ComponentChildren }) => (
  <p class="aw-sentence" data-aw-part="sentence" hidden={children === null}>
    {children}
  </p>
);

/** Position of a token behind its name, where another token has the same text. */
export const Nth = ({
  tokens: { text },
  position,
}: {
  readonly tokens: Pick<TokenColumns, "text">;
  readonly position: number;
}) =>
  text.indexOf(text[position] ?? "") === text.lastIndexOf(text[position] ?? "") ? null : (
    <span class="aw-muted aw-nth">{position}</span>
  );
