/** The tree in words: the root's strongest link, and that of the token that it leads to. */

import type { TreeNode } from "../../figures/derive/tree";
import { numOf } from "../../figures/matrix";
import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import { Num } from "../../ui/number";
import { SentenceLine } from "../../ui/sentence";
import type { Grown } from "./grown";

/** A link of the tree, from one unit of the matrix to another. */
interface Link {
  readonly from: TreeNode;
  readonly to: TreeNode;
  readonly weight: number;
}

/** The root's strongest link, and that of the token that it leads to, which may lead back; fewer where there are none. */
export function strongestLinks({
  whole,
  matrix,
  below = matrix,
}: Pick<Grown, "whole" | "matrix"> & Partial<Pick<Grown, "below">>): readonly Link[] {
  const { root, childrenOf } = whole;
  const square = matrix.queries === matrix.keys;
  const linkTo = (from: TreeNode, to: TreeNode): Link => {
    const { weights, keys } = from.parent === null || square ? matrix : (below ?? matrix);
    return { from, to, weight: itemAt(weights, from.unit * keys.length + to.unit) };
  };
  const [child] = childrenOf(root);
  if (child === undefined) return [];
  const [on] = childrenOf(child);
  const canGoBack =
    square &&
    (matrix.allowed === null || matrix.allowed[child.unit * matrix.keys.length + root.unit]);
  const next = on === undefined ? [] : [linkTo(child, on)];
  const second = [...next, ...(canGoBack ? [linkTo(child, root)] : [])].filter(
    ({ weight }) => weight > 0,
  );
  const best = firstLargest(second.map(({ weight }) => weight));
  return [linkTo(root, child), ...(best < 0 ? [] : [itemAt(second, best)])];
}

/** `Of the other tokens shown, here attends most to keys 0.310, and keys to cabinet 0.220.` */
export function TreeSentence({ of }: { readonly of: Grown }) {
  const [first, second] = strongestLinks(of);
  if (first === undefined) return <SentenceLine />;
  const named = (node: TreeNode) => {
    const { name, index } = of.token(node);
    return (
      <>
        <bdi dir="ltr">{name}</bdi>
        {index !== null && <span class="aw-muted aw-nth">{index}</span>}
      </>
    );
  };
  const weights = of.matrix.quantity === "weights";
  const across = of.matrix.queries !== of.matrix.keys;
  const target = ({ to, weight }: Link) => (
    <>
      {named(to)} <Num {...numOf(of.matrixOf(to), weight)} />
    </>
  );
  return (
    <SentenceLine>
      {across ? "Of the source, " : "Of the other tokens shown, "}
      {named(first.from)}
      {weights ? " attends most to " : " comes most from "}
      {target(first)}
      {second !== undefined && (
        <>
          {", and "}
          {named(second.from)}
          {across && ", in the encoder,"}
          {second.to === first.from ? " back" : ""}
          {weights ? " to " : " from "}
          {target(second)}
        </>
      )}
      .
    </SentenceLine>
  );
}
