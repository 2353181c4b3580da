/** The tree in words: the root's strongest link, and on from the token that it leads to where that tells. */

import { isAboveChance } from "../../figures/chance";
import type { TreeNode } from "../../figures/derive/tree";
import { isUnknown, isWhole, nothingToSee, wordsOf } from "../../figures/nothing-to-see";
import { plainIn } from "../../figures/plain-words";
import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import type { Num, TokenColumns } from "../../protocol/types";
import { AgainstChance, FocusWord, quoted, SentenceLine, Share, Which } from "../../ui/sentence";
import type { Grown } from "./grown";

/** A second step is named from so many times chance on. */
const TELLS = 1.5;

/** A link of the tree. */
interface Link extends Num {
  readonly from: TreeNode;
  readonly to: TreeNode;
  readonly chance: number;
}

/** The root's strongest link, and that of the token that it leads to, which may lead back; fewer where there are none. */
export function strongestLinks({
  whole,
  matrix,
  link,
}: Pick<Grown, "whole" | "matrix" | "link">): readonly Link[] {
  const { root, childrenOf } = whole;
  const square = matrix.queries === matrix.keys;
  const linkTo = (from: TreeNode, to: TreeNode): Link => ({ from, to, ...link(from, to) });
  const [child] = childrenOf(root);
  if (child === undefined) return [];
  const [on] = childrenOf(child);
  const canGoBack =
    square &&
    (matrix.allowed === null || matrix.allowed[child.unit * matrix.keys.length + root.unit]);
  const next = on === undefined ? [] : [linkTo(child, on)];
  const second = [...next, ...(canGoBack ? [linkTo(child, root)] : [])].filter(
    ({ value }) => value > 0,
  );
  const best = firstLargest(second.map(({ value }) => value));
  return [linkTo(root, child), ...(best < 0 ? [] : [itemAt(second, best)])];
}

/** `From “it” the strongest path leads to trophy: 61%, chance 6%; and from there to suitcase: 15%, chance 6%.`, the second step where it leads to a whole content word. */
export function TreeSentence({
  of,
  tokens,
  choose,
}: {
  readonly of: Grown;
  /** Make a token the root. */
  readonly choose?: (token: number) => void;
  /** Tokens of the keys. */
  readonly tokens: TokenColumns;
}) {
  const [first, second] = strongestLinks(of);
  if (first === undefined) return <SentenceLine />;
  const nothing = nothingToSee(tokens);
  if (nothing !== null) return <SentenceLine>{nothing}</SentenceLine>;
  const across = of.matrix.queries !== of.matrix.keys;
  const named = (node: TreeNode) => {
    const { name } = of.token(node);
    const [names, at] = of.among(node);
    const { token } = itemAt(of.matrix.keys, node.unit);
    const roots = choose !== undefined && !across;
    return (
      <FocusWord choose={roots ? () => choose(token) : null}>
        <bdi dir="ltr">{quoted(name)}</bdi>
        <Which {...{ names, at }} />
      </FocusWord>
    );
  };
  const names = wordsOf(tokens).map(({ surface }) => surface.trim().toLowerCase());
  const plain = plainIn(names);
  const isContent = ({ unit }: TreeNode): boolean => {
    const { token, end, special, surface, text } = itemAt(of.matrix.keys, unit);
    const says = plain[names.indexOf(surface.trim().toLowerCase())] === false;
    return !special && !isUnknown(text) && says && isWhole(tokens, token, end);
  };
  const isAbove = ({ value, chance }: Link): boolean => isAboveChance(value, chance);
  if (!isAbove(first)) {
    return (
      <SentenceLine>
        {"From "}
        {named(first.from)}
        {` no path leads to another ${across ? "token of the source" : "of the tokens shown"} above chance, `}
        <Share value={first.chance} />.
      </SentenceLine>
    );
  }
  return (
    <SentenceLine>
      {"From "}
      {named(first.from)}
      {` the strongest path leads to ${across ? "the source’s " : ""}`}
      {named(first.to)}
      <AgainstChance {...first} />
      {second === undefined ? null : !isAbove(second) ? (
        "; and from there nowhere in particular"
      ) : second.value < TELLS * second.chance || !isContent(second.to) ? null : (
        <>
          {across ? "; from there, in the encoder, " : "; and from there "}
          {second.to === first.from ? "back to " : "to "}
          {named(second.to)}
          <AgainstChance {...second} />
        </>
      )}
      .
    </SentenceLine>
  );
}
