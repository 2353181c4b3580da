/** The line in words on top of a view: what it shows of this run. `docs/opening.md` lists all of them with their rules. */

import { type ComponentChildren, createContext } from "preact";
import { formatOrdinal, formatPercent } from "../figures/format";
import {
  isForeignFunctionWord,
  isFunctionWord,
  isFunctionWordElsewhere,
} from "../figures/function-words";
import { isOfElsewhere } from "../figures/nothing-to-see";
import type { TokenColumns } from "../protocol/types";
import { Button } from "./controls";
import { Num } from "./number";

/** Digits of a share in a sentence; the number behind it has all. */
const DIGITS = 2;

/** True inside a sentence about a text of another language. */
const Elsewhere = createContext(false);

/**
 * Nothing while there is nothing to say; `silent`: nor will there be. `of`: the text that it speaks of, whose language says
 * what a function word is.
 */
export const SentenceLine = ({
  of = null,
  silent = false,
  children = null,
}: {
  readonly of?: TokenColumns | null;
  readonly silent?: boolean;
  readonly children?: ComponentChildren;
}) => (
  <p
    class="aw-sentence"
    data-aw-part="sentence"
    data-aw-silent={silent || undefined}
    hidden={children === null}
  >
    <Elsewhere.Provider value={of !== null && isOfElsewhere(of)}>{children}</Elsewhere.Provider>
  </p>
);

/** A function word or a mark alone would be read as one of the sentence; *die* is one in German. */
export const quoted = (text: string, elsewhere = false): string =>
  isFunctionWord(text) ||
  isForeignFunctionWord(text) ||
  (elsewhere && isFunctionWordElsewhere(text)) ||
  !/[\p{L}\p{N}]/u.test(text)
    ? `“${text}”`
    : text;

/** A token as a sentence names it. */
export const Quoted = ({ text }: { readonly text: string }) => (
  <bdi dir="ltr">
    <Elsewhere.Consumer>{(elsewhere) => quoted(text, elsewhere)}</Elsewhere.Consumer>
  </bdi>
);

/** A token of the text; a click makes it the focus token, where there is something to choose. */
export const FocusWord = ({
  choose,
  children,
}: {
  readonly choose: (() => void) | null;
  readonly children: ComponentChildren;
}) =>
  choose === null ? (
    children
  ) : (
    <Button class="aw-flat aw-focus-word" title="Make it the focus token" onClick={choose}>
      {children}
    </Button>
  );

/** A share in a sentence: `61%`. */
export const Share = ({
  value,
  error = 0,
}: {
  readonly value: number;
  readonly error?: number;
}) => <Num {...{ value, error }} text={formatPercent({ value, error }, DIGITS)} />;

/** `: 61%, chance 5.9%`, what stands behind a word; without a chance the number as it is. */
export const AgainstChance = ({
  value,
  error,
  chance,
}: {
  readonly value: number;
  readonly error: number;
  readonly chance: number;
}) =>
  Number.isNaN(chance) ? (
    <>
      {": "}
      <Num {...{ value, error }} />
    </>
  ) : (
    <>
      {": "}
      <Share {...{ value, error }} />
      {", chance "}
      <Share value={chance} />
    </>
  );

/** Which of several equal names is meant, whatever their case, as a reader counts: ` (2nd)`. */
export const Which = ({
  names,
  at,
}: {
  readonly names: readonly string[];
  readonly at: number;
}) => {
  const plain = (name = ""): string => name.trim().toLowerCase();
  const same = names.flatMap((name, i) => (plain(name) === plain(names[at]) ? [i] : []));
  return same.length < 2 ? null : (
    <span class="aw-muted">{` (${formatOrdinal(same.indexOf(at) + 1)})`}</span>
  );
};
