/** The tree in words: where the path goes on behind the token that the root leads to. */

import type { ComponentChildren } from "preact";
import { isAboveChance } from "../../figures/chance";
import { isSink } from "../../figures/matrix";
import { isUnknown, nothingToSee } from "../../figures/nothing-to-see";
import { contentOf, isContracted, isWhole } from "../../figures/whole-words";
import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import type { Num, TokenColumns } from "../../protocol/types";
import { Num as Figure } from "../../ui/number";
import { AgainstChance, FocusWord, Quoted, SentenceLine, Share, Which } from "../../ui/sentence";
import type { Grown } from "./grown";
import type { TreeNode } from "./influence";

/** A second step is named from so many times chance on. */
const TELLS = 1.5;

/** A link of the tree. */
interface Link extends Num {
  readonly from: TreeNode;
  readonly to: TreeNode;
  readonly chance: number;
}

type Links = Pick<Grown, "whole" | "matrix" | "link">;

const linkIn = ({ link }: Links, from: TreeNode, to: TreeNode): Link => ({
  ...{ from, to },
  ...link(from, to),
});

/** The strongest link of a token of the tree, which may lead back to the root. */
function onwards(of: Links, node: TreeNode): Link | null {
  const { root, childrenOf } = of.whole;
  const { allowed, keys, queries } = of.matrix;
  const [on] = childrenOf(node);
  const back =
    queries === keys && (allowed === null || allowed[node.unit * keys.length + root.unit] !== 0);
  const found = [...(on === undefined ? [] : [on]), ...(back ? [root] : [])]
    .map((to) => linkIn(of, node, to))
    .filter(({ value }) => value > 0);
  return found[firstLargest(found.map(({ value }) => value))] ?? null;
}

/** The links of the root, the strongest first, each with that of the token that it leads to; null where that has none. */
export const pathsOf = (of: Links): readonly (readonly [first: Link, second: Link | null])[] =>
  of.whole
    .childrenOf(of.whole.root)
    .map((child) => [linkIn(of, of.whole.root, child), onwards(of, child)]);

/** The largest link of a token of all, to itself and to what the tree leaves out as well; null where there is none. */
function largestOf({ whole, matrix, link }: Links, from: TreeNode): Link | null {
  const { keys, weights } = matrix;
  const unit = firstLargest(keys.map((_, key) => itemAt(weights, from.unit * keys.length + key)));
  const to = unit === from.unit ? from : { ...whole.root, unit };
  return unit < 0 ? null : { from, to, ...link(from, to) };
}

/** `15% to suitcase, chance 6%`, what a word gives; of values without a chance the number as it is. */
const Given = ({
  value,
  error,
  chance,
  children,
}: Num & { readonly chance: number; readonly children?: ComponentChildren }) =>
  Number.isNaN(chance) ? (
    <>
      <Figure {...{ value, error }} />
      {children}
    </>
  ) : (
    <>
      <Share {...{ value, error }} />
      {children}
      {", chance "}
      <Share value={chance} />
    </>
  );

/**
 * `From “it” the path leads to trophy, which gives 15% to suitcase, chance 6%.`, where a second step leads to a whole content word.
 * Without one, a second path of the root; without that, what the strongest word gives most to.
 */
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
  const paths = pathsOf(of);
  const first = paths[0]?.[0];
  if (first === undefined) return <SentenceLine />;
  const nothing = nothingToSee(tokens);
  if (nothing !== null) return <SentenceLine>{nothing}</SentenceLine>;
  const across = of.matrix.queries !== of.matrix.keys;
  const source = across ? "the source’s " : "";
  const named = (node: TreeNode) => {
    const { name } = of.token(node);
    const [names, at] = of.among(node);
    const { token } = itemAt(of.matrix.keys, node.unit);
    const roots = choose !== undefined && !across;
    return (
      <FocusWord choose={roots ? () => choose(token) : null}>
        <Quoted text={name} />
        <Which {...{ names, at }} />
      </FocusWord>
    );
  };
  const says = contentOf(tokens);
  const isContent = ({ unit }: TreeNode): boolean => {
    const key = itemAt(of.matrix.keys, unit);
    const { token, end, surface, text } = key;
    return (
      !isSink(key, of.matrix.sink) &&
      !isUnknown(text) &&
      says(surface) &&
      isWhole(tokens, token, end)
    );
  };
  const isAbove = ({ value, chance }: Link): boolean => isAboveChance(value, chance);
  if (!isAbove(first)) {
    return (
      <SentenceLine of={tokens}>
        {"From "}
        {named(first.from)}
        {` no path leads to another ${across ? "token of the source" : "of the tokens shown"} above chance, `}
        <Share value={first.chance} />.
      </SentenceLine>
    );
  }
  const tells = (link: Link): boolean =>
    isAbove(link) && link.value >= TELLS * link.chance && isContent(link.to);
  const through = paths.find(
    ([one, second]) => isAbove(one) && isContent(one.to) && second !== null && tells(second),
  );
  if (through !== undefined) {
    const [one, second] = through;
    const back = second?.to === one.from;
    return (
      <SentenceLine of={tokens}>
        {"From "}
        {named(one.from)}
        {one.to === first.to ? (
          ` the path leads to ${source}`
        ) : (
          <>
            {` a second path, beside that to ${source}`}
            {named(first.to)}
            {`, leads to ${source}`}
          </>
        )}
        {named(one.to)}
        {`, which ${across ? "in the encoder " : ""}gives `}
        {second && (
          <Given {...second}>
            {back ? " back to " : " to "}
            {named(second.to)}
          </Given>
        )}
        .
      </SentenceLine>
    );
  }
  const other = paths.slice(1).find(([one]) => tells(one))?.[0];
  if (other !== undefined)
    return (
      <SentenceLine of={tokens}>
        {"From "}
        {named(first.from)}
        {` a second path, beside that to ${source}`}
        {named(first.to)}
        {`, leads to ${source}`}
        {named(other.to)}
        {", to which "}
        {named(other.from)}
        {" gives "}
        <Given {...other} />.
      </SentenceLine>
    );
  const most = across ? null : largestOf(of, first.to);
  const rests = most?.to === first.to;
  const { token: at, special } = itemAt(of.matrix.keys, (most ?? first).to.unit);
  const ends = most === null || !isAbove(most) || isContracted(tokens, at);
  return (
    <SentenceLine of={tokens}>
      {"From "}
      {named(first.from)}
      {ends ? (
        <>
          {` the path ends at ${source}`}
          {named(first.to)}
          <AgainstChance {...first} />
        </>
      ) : (
        <>
          {rests || special ? " the path ends at " : " the path leads to "}
          {named(first.to)}
          {", which gives "}
          <Given {...most}>
            {" to "}
            {rests ? "itself" : named(most.to)}
          </Given>
        </>
      )}
      .
    </SentenceLine>
  );
}
