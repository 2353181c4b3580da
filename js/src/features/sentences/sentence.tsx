/** The current row in words: the sentence that it looks at beyond its length, what stays in it, and what tokens in no sentence take. */
import { isTelling } from "../../figures/chance";
import { nothingToSee } from "../../figures/nothing-to-see";
import type { Told } from "../../figures/told-link";
import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import type { TokenColumns } from "../../protocol/types";
import { Num } from "../../ui/number";
import { SentenceLine, Share } from "../../ui/sentence";
import { TextWord } from "../../ui/word";
import {
  keyName,
  nounsOf,
  ofTwoTexts,
  type SentenceMatrix,
  sentenceName,
  strongestOther,
  type TokenBlock,
} from "./data";
import { otherSection, SectionSentence } from "./section-sentence";
import { type Bridge, sameWord, strongestPair } from "./strongest-pair";

/** `valid looks at tickets: with 22% of its attention to other words, chance 7.2%`. */
function Pair({
  pair: { from, to, value, chance },
  tokens,
  choose,
  others,
}: {
  readonly pair: Bridge;
  readonly tokens: TokenColumns;
  readonly choose: (token: number) => void;
  readonly others: string;
}) {
  return (
    <>
      <TextWord text={from.surface.trim()} position={from.token} {...{ tokens, choose }} />
      {" looks at "}
      <TextWord text={to.surface.trim()} position={to.token} {...{ tokens, choose }} />
      {": with "}
      <Share value={value} />
      {` of its attention to ${others}, chance `}
      <Share value={chance} />
    </>
  );
}

/** `Over all heads valid looks at tickets: with 22% of its attention to other words, chance 7.2%.`: a text of one sentence has no other to compare. */
export function OneSentence({
  block,
  tokens,
  told = null,
  choose,
  outside = "special tokens",
}: {
  /** Weights of its tokens over all heads; null where they are not known. */
  readonly block: TokenBlock | null;
  readonly tokens: TokenColumns;
  /** A link that another view names. */
  readonly told?: Told | null;
  /** Make a token the focus token. */
  readonly choose: (token: number) => void;
  /** Tokens that are in none. */
  readonly outside?: string;
}) {
  if (nothingToSee(tokens) !== null) return <SentenceLine silent />;
  const pair = block && strongestPair(block, tokens, told);
  if (pair === null) return <SentenceLine silent />;
  return (
    <SentenceLine of={tokens}>
      {outside === "the first token"
        ? "Without the first token, over all heads "
        : "Over all heads "}
      <Pair {...{ pair, tokens, choose }} others="other words" />.
    </SentenceLine>
  );
}

/** Number of tokens of a sentence that is looked at. */
const lengthOf = ({ keyTokens }: SentenceMatrix, column: number): number =>
  keyTokens[column]?.length ?? 0;

/** Share of the strongest in what a row gives to the other sentences that it may look at, and its share by length; null for fewer than two. */
function preferenceOf(
  matrix: SentenceMatrix,
  row: number,
): { readonly share: number; readonly byLength: number } | null {
  const { width, values } = matrix;
  const value = (column: number): number => itemAt(values, row * width + column);
  const others = Array.from({ length: width }, (_, column) => column).filter(
    (column) => (column !== row || ofTwoTexts(matrix)) && !Number.isNaN(value(column)),
  );
  const best = strongestOther(matrix, row);
  if (best === null || others.length < 2) return null;
  const shareOf = (of: (column: number) => number): number =>
    of(best) / others.reduce((total, column) => total + of(column), 0);
  return { share: shareOf(value), byLength: shareOf((column) => lengthOf(matrix, column)) };
}

/**
 * The row that the view opens at: of three sentences or more the one that prefers another most beyond its length; of two
 * the one that gives the other more; of sections the last, which looks back on all of them.
 */
export function openingRow(matrix: SentenceMatrix): number {
  const { size, width, values, sections } = matrix;
  if (sections !== null) return size - 1;
  const preference = Array.from({ length: size }, (_, row) => {
    const { share, byLength } = preferenceOf(matrix, row) ?? { share: 0, byLength: 1 };
    const best = strongestOther(matrix, row);
    return size === 2 && best !== null ? itemAt(values, row * width + best) : share - byLength;
  });
  return Math.max(0, firstLargest(preference));
}

/** `Of what S3 gives to other sentences, S0 gets 60%, 40% by its length; 45% of its attention stays in S3, 30% lands on special tokens.` */
export function SentencesSentence({
  matrix,
  row,
  block = null,
  tokens,
  told = null,
  chosen = true,
  choose,
}: {
  readonly matrix: SentenceMatrix;
  readonly row: number;
  /** Weights from the row's tokens to those of the sentence that it looks at most; null where they are not known. */
  readonly block?: TokenBlock | null;
  readonly tokens: TokenColumns;
  /** A link that another view names. */
  readonly told?: Told | null;
  /** The reader chose the row: then its shares answer, even those of any two sentences. */
  readonly chosen?: boolean;
  /** Make a token the focus token. */
  readonly choose: (token: number) => void;
}) {
  const { size, width, values, elsewhere, outside, asked, error } = matrix;
  if (size === 0 || width === 0) return <SentenceLine />;
  const weights = asked.quantity === null;
  const name = sentenceName(matrix, row);
  const [noun, many] = nounsOf(matrix.sections);
  const best = strongestOther(matrix, row);
  const other = best === null ? "" : keyName(matrix, best);
  const number = (value: number) => <Num value={value} error={error(value)} />;
  const at = (column: number) => number(itemAt(values, row * width + column));
  const taken = elsewhere?.some((share) => share > 0) ? number(itemAt(elsewhere, row)) : null;
  const section = matrix.sections === null ? null : otherSection(matrix, row, tokens);
  const pair =
    block &&
    (strongestPair(block, tokens, told) ?? (section === null ? null : sameWord(block, tokens)));
  const said = (...parts: readonly unknown[]) => (
    <SentenceLine of={tokens}>
      {pair !== null && (
        <>
          {`From ${name} to ${other} `}
          <Pair {...{ pair, tokens, choose }} others={`words of ${other}`} />
          {". "}
        </>
      )}
      {parts as readonly string[]}.
    </SentenceLine>
  );
  if (ofTwoTexts(matrix)) {
    const more = width > 1 ? ", more than to any other sentence of the source" : "";
    const special = taken && ["; ", taken, " lands on special tokens"];
    const source = keyName(matrix, best ?? 0);
    if (asked.aggregation === "max") {
      const from = `The strongest link from ${name} of the text that is written leads to ${source}, `;
      return said(from, at(best ?? 0), special);
    }
    const gives = `${name} of the text that is written gives `;
    return said(gives, at(best ?? 0), ` of its attention to ${source}${more}`, special);
  }
  if (asked.aggregation === "max") {
    const within = "within it, the strongest link is ";
    if (best === null)
      return said(`No token of ${name} can look at another ${noun}; ${within}`, at(row));
    const to = `The strongest link from ${name} to another ${noun} is to ${other}, `;
    return said(to, at(best), `; the strongest within ${name} is `, at(row));
  }
  const share = (value: number) => <Share value={value} error={error(value)} />;
  const shareAt = (row: number, column: number) => share(itemAt(values, row * width + column));
  const own = weights ? ` of its attention stays in ${name}` : " is its own";
  const rest = itemAt(elsewhere ?? [0], elsewhere === null ? 0 : row);
  const special = rest > 0 && [
    ", ",
    share(rest),
    ` ${weights ? "lands on" : "comes from"} ${outside}`,
  ];
  if (best === null) {
    const none = `The model’s mask lets ${name} ${weights ? "look at" : "take from"} no other ${noun}; `;
    return said(none, shareAt(row, row), own, special);
  }
  if (matrix.sections !== null && weights)
    return (
      <SectionSentence {...{ matrix, row, chosen }} other={section}>
        {pair && section !== null && (
          <>
            {`From ${name} to ${keyName(matrix, section)} `}
            <Pair {...{ pair, tokens, choose }} others={`words of ${keyName(matrix, section)}`} />.
          </>
        )}
      </SectionSentence>
    );
  const stays = ["; ", shareAt(row, row), own, special];
  const [gives, to] = weights
    ? [`${name} gives ${other} `, " of its attention"]
    : [`${name} takes `, ` from ${other}`];
  const back = itemAt(values, best * width + row);
  const preference = preferenceOf(matrix, row);
  const tells = preference !== null && isTelling(preference.share, preference.byLength);
  if (weights && pair === null && !tells && !chosen) return <SentenceLine silent />;
  if (size === 2 && !Number.isNaN(back)) {
    const returns = weights ? `, and gets ` : ", and gives ";
    return said(
      gives,
      shareAt(row, best),
      to,
      returns,
      share(back),
      weights ? ` of that of ${other}` : "",
      stays,
    );
  }
  if (preference === null) return said(gives, shareAt(row, best), to, stays);
  const [of, gets] = weights ? ["gives to", "gets"] : ["takes from", "gives"];
  const prefers = preference.share > preference.byLength;
  return said(
    `Of what ${name} ${of} other ${many}, ${other} ${gets} most${prefers ? "" : ", yet not beyond its length"}: `,
    <Share key="share" value={preference.share} />,
    ", ",
    <Share key="length" value={preference.byLength} />,
    " by its length",
    stays,
  );
}
