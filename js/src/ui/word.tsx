/** Tokens of the text in a sentence, each with its place among equal ones. */

import type { TokenColumns } from "../protocol/types";
import { quoted, Which } from "./sentence";

/** A quotation mark in quotes cannot be read. */
const NAMES: Readonly<Record<string, string>> = {
  '"': "a quotation mark",
  "“": "an opening quotation mark",
  "”": "a closing quotation mark",
};

/** A token of the text, in a sentence. */
export const Word = ({ text }: { readonly text: string }) => (
  <bdi dir="ltr">{NAMES[text] ?? quoted(text)}</bdi>
);

/** Which of several tokens of the same text is meant. */
export const Nth = ({
  tokens: { surface },
  position,
}: {
  readonly tokens: Pick<TokenColumns, "surface">;
  readonly position: number;
}) => <Which names={surface} at={position} />;
