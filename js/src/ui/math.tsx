/** MathML from a formula's tree, and the sources of formulas. */

import { h, type VNode } from "preact";
import type { Reference } from "../figures/catalog/types";
import { equationParts, type MathNode } from "../figures/math";

const build = (node: MathNode): VNode =>
  h(
    node.tag as "mrow",
    (node.attributes ?? {}) as object,
    "text" in node ? node.text : node.children.map(build),
  );

/** A formula in its own line, or in text; `spoken` says it in words, for screen readers and browsers that lay out no MathML. */
export function Formula({
  node,
  spoken,
  display = "block",
}: {
  readonly node: MathNode;
  readonly spoken: string;
  readonly display?: "block" | "inline";
}) {
  const attributes = { alttext: spoken, "aria-label": spoken, role: "math" } as const;
  return (
    <math display={display} class="aw-math" {...attributes}>
      {build(node)}
    </math>
  );
}

/** An equation that may go on in the next line before each of its outermost equals signs. */
export const Equation = ({
  node,
  spoken,
}: {
  readonly node: MathNode;
  readonly spoken: string;
}) => (
  <div class="aw-equation" role="math" aria-label={spoken}>
    {equationParts(node).map((part, i) => (
      // Read as a whole; fractions are as tall as in a line of their own.
      <math key={i} display="inline" class="aw-math" aria-hidden="true" displaystyle={true}>
        {build(part)}
      </math>
    ))}
  </div>
);

export const References = ({ references }: { readonly references: readonly Reference[] }) => (
  <ul class="aw-references">
    {references.map(({ text, doi }) => (
      <li key={text}>{doi === null ? `${text}. No verified DOI.` : `${text}. doi:${doi}`}</li>
    ))}
  </ul>
);
