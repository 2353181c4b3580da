/** The tree in words: where the path goes on behind the token that the root leads to. */

import type { ComponentChildren } from "preact";
import { isAboveChance, isTelling } from "../../figures/chance";
import type { Unit } from "../../figures/derive/units";
import { isSink } from "../../figures/matrix";
import { isUnknown, nothingToSee } from "../../figures/nothing-to-see";
import { isNamed } from "../../figures/told-link";
import { contentOf, isWhole } from "../../figures/whole-words";
import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import type { Num, TokenColumns } from "../../protocol/types";
import { Num as Figure } from "../../ui/number";
import { FocusWord, Quoted, SentenceLine, Share, Which } from "../../ui/sentence";
import type { Grown } from "./grown";
import type { TreeNode } from "./influence";

/** A second step is named from so many times the odds of chance on. */
const ODDS = 3;

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

/** Two links of content words that are no neighbors, one behind the other, of another root: the largest product; null where none tells. */
function otherPath(
  { matrix, whole, link }: Links,
  told: readonly number[],
  isContent: (unit: Unit) => boolean,
): readonly [first: Link, second: Link] | null {
  const { keys, queries, weights, sink } = matrix;
  if (queries !== keys) return null;
  const names = keys.map(({ surface }) => surface.trim().toLowerCase());
  const rootAt = (unit: number): TreeNode => ({ ...whole.root, unit });
  /** The strongest link to a word. */
  const ahead = keys.map((word, unit): Link | null => {
    if (!isContent(word)) return null;
    const to = firstLargest(
      keys.map((other, key) =>
        key === unit || !isNamed(other, sink)
          ? Number.NaN
          : itemAt(weights, unit * keys.length + key),
      ),
    );
    const far = to >= 0 && Math.abs(to - unit) > 1 && isContent(itemAt(keys, to));
    if (!far || names[to] === names[unit]) return null;
    const found = { from: rootAt(unit), to: rootAt(to), ...link(rootAt(unit), rootAt(to)) };
    return isTelling(found.value, found.chance, ODDS) ? found : null;
  });
  const paths = ahead.flatMap((first): (readonly [Link, Link])[] => {
    const second = first && ahead[first.to.unit];
    if (first === null || second == null) return [];
    const isKnown = [first, second].some(({ from, to }) =>
      [from, to].every(({ unit }) => told.includes(unit)),
    );
    return isKnown || names[second.to.unit] === names[first.from.unit] ? [] : [[first, second]];
  });
  return paths[firstLargest(paths.map(([a, b]) => a.value * b.value))] ?? null;
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
 * Without one, the path of another word. The link itself is the Attention
 * view's, so that there is no sentence where there is no more.
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
  if (first === undefined || nothingToSee(tokens) !== null) return <SentenceLine silent />;
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
  const saysSomething = ({ token, end, special, surface, text }: Unit): boolean =>
    !special && !isUnknown(text) && says(surface) && isWhole(tokens, token, end);
  const isContent = ({ unit }: TreeNode): boolean => {
    const key = itemAt(of.matrix.keys, unit);
    return !isSink(key, of.matrix.sink) && saysSomething(key);
  };
  const isAbove = ({ value, chance }: Link): boolean => isAboveChance(value, chance);
  if (!isAbove(first)) return <SentenceLine silent />;
  const tells = (link: Link): boolean =>
    isAbove(link) && isTelling(link.value, link.chance, ODDS) && isContent(link.to);
  const through = paths.find(
    ([one, second]) =>
      isAbove(one) &&
      isContent(one.to) &&
      second !== null &&
      second.to !== one.from &&
      tells(second),
  );
  if (through !== undefined) {
    const [one, second] = through;
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
            {" to "}
            {named(second.to)}
          </Given>
        )}
        .
      </SentenceLine>
    );
  }
  const [one, second] = otherPath(of, [first.from.unit, first.to.unit], saysSomething) ?? [];
  if (one === undefined || second === undefined) return <SentenceLine silent />;
  return (
    <SentenceLine of={tokens}>
      {"From "}
      {named(one.from)}
      {" the path leads to "}
      {named(one.to)}
      {", which gives "}
      <Given {...second}>
        {" to "}
        {named(second.to)}
      </Given>
      .
    </SentenceLine>
  );
}
