/** MathML from a formula's tree. */

import { h, type VNode } from "preact";
import type { MathNode } from "../figures/math";

const build = (node: MathNode): VNode =>
  h(
    node.tag as "mrow",
    (node.attributes ?? {}) as object,
    "text" in node ? node.text : node.children.map(build),
  );

/** A formula in its own line; `spoken` says it in words, for screen readers and browsers that lay out no MathML. */
export function Formula({ node, spoken }: { readonly node: MathNode; readonly spoken: string }) {
  const attributes = { alttext: spoken, "aria-label": spoken, role: "math" } as const;
  return (
    <math display="block" class="aw-math" {...attributes}>
      {build(node)}
    </math>
  );
}
