/** Above the tree: its root, earlier roots, and its size; and the card of a token. */

import type { TreeNode } from "../../figures/derive/tree";
import { formatCount, formatNumber, formatOrdinal } from "../../figures/format";
import type { Selection } from "../../state/selection";
import { Segmented, Stepper } from "../../ui/controls";
import { Figure } from "../../ui/number";
import { TokenName } from "../../ui/token";
import type { LayoutName } from "./layout";

const LAYOUTS = [
  ["tidy", "Tidy"],
  ["force", "Force"],
] as const;

export interface Named {
  readonly name: string;
  readonly token: number;
}

export function Head({
  root,
  matrix,
  trail,
  note,
  layout,
  selection: { top_k, depth },
  back,
  set,
  choose,
}: {
  readonly root: Named | null;
  /** Which matrix, in words. */
  readonly matrix: string;
  readonly trail: readonly Named[];
  readonly note: string;
  readonly layout: LayoutName;
  readonly selection: Pick<Selection, "top_k" | "depth">;
  readonly back: (token: number) => void;
  readonly set: (change: Partial<Selection>) => void;
  readonly choose: (layout: LayoutName) => void;
}) {
  return (
    <header class="aw-tree-head">
      <div class="aw-tree-title">
        <h3
          class="aw-title"
          data-aw-part="tree-root"
          data-token={root?.token}
          hidden={root === null}
        >
          {root !== null && <TokenName {...root} />} attends to
        </h3>
        <span class="aw-muted">{matrix}</span>
        <nav
          class="aw-tree-trail"
          aria-label="Earlier roots"
          data-aw-part="tree-trail"
          hidden={trail.length === 0}
        >
          <span class="aw-muted">back to</span>
          {trail.map(({ name, token }) => (
            <button
              type="button"
              class="aw-tree-back"
              data-token={token}
              aria-label={`Back to ${name}, position ${token}`}
              key={token}
              onClick={() => back(token)}
            >
              <TokenName name={name} token={token} />
            </button>
          ))}
        </nav>
      </div>
      <div class="aw-tree-controls">
        <Stepper
          label="children"
          part="top-k"
          value={top_k}
          range={[1, 10]}
          set={(n) => set({ top_k: n })}
        />
        <Stepper
          label="levels"
          part="depth"
          value={depth}
          range={[1, 6]}
          set={(n) => set({ depth: n })}
        />
        <Segmented
          label="Layout"
          part="layout"
          name="layout"
          options={LAYOUTS}
          value={layout}
          choose={choose}
        />
      </div>
      <p class="aw-hint aw-tree-note" data-aw-part="tree-note" hidden={note === ""}>
        {note}
      </p>
    </header>
  );
}

/** One token of the tree in numbers. */
export interface Facts extends Named {
  readonly node: TreeNode;
  /** The readable word, where it differs. */
  readonly word: string | null;
  readonly parent: Named | null;
  readonly siblings: number;
  readonly children: number;
  /** Null where there is none, or not yet. */
  readonly score: number | null;
  /** How far the three numbers may be off; 0 where they are exact. */
  readonly errors: { readonly weight: number; readonly product: number; readonly score: number };
  /** Why there is no score; null when there is, or will be. */
  readonly scoreAbsent: string | null;
  /** Name of a weight: attention weight or rollout. */
  readonly quantity: string;
}

export function Card({ node, name, token, word, parent, ...facts }: Facts) {
  const { quantity, errors, score, scoreAbsent, siblings, children } = facts;
  return (
    <div class="aw-tree-card" data-aw-part="tree-card">
      <p class="aw-tree-card-title">
        <span class="aw-tree-name">
          <TokenName name={name} token={token} />
        </span>
        {word !== null && <bdi class="aw-muted">{word}</bdi>}
      </p>
      <p class="aw-muted">
        {parent === null ? (
          "the root"
        ) : (
          <>
            {`${formatOrdinal(node.order)} of ${siblings} children of `}
            <span class="aw-tree-name">
              <TokenName {...parent} />
            </span>
          </>
        )}
      </p>
      <dl class="aw-figures">
        {parent !== null && (
          <>
            <Figure name={quantity} value={node.weight} part="tree-weight" error={errors.weight} />
            <Figure
              name="path product"
              value={node.product}
              part="tree-product"
              error={errors.product}
            />
            <Figure name="scaled score" value={score} part="tree-score" error={errors.score} />
          </>
        )}
        <Figure name="children" value={children} part="tree-children" format={formatCount} />
      </dl>
      {parent !== null && scoreAbsent !== null && (
        <p class="aw-muted aw-tree-why">No score: {scoreAbsent}.</p>
      )}
    </div>
  );
}

/** The same for screen readers. */
export function spoken({ node, name, token, parent, children, ...facts }: Facts): string {
  const { quantity, score, errors } = facts;
  const number = (value: number, error: number): string => formatNumber(value, undefined, error);
  const below = `${children} ${children === 1 ? "child" : "children"}`;
  if (parent === null) return `${name}, position ${token}, root, ${below}`;
  return [
    `${name}, position ${token}`,
    `${quantity} ${number(node.weight ?? Number.NaN, errors.weight)}`,
    `path product ${number(node.product, errors.product)}`,
    ...(score === null ? [] : [`scaled score ${number(score, errors.score)}`]),
    below,
  ].join(", ");
}
