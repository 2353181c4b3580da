/** Above the tree: its root and earlier roots; its settings; and the card of a token. */

import { formatCount, formatOrdinal } from "../../figures/format";
import type { Selection } from "../../state/selection";
import { Button, Segmented } from "../../ui/controls";
import { Figure } from "../../ui/figure";
import { Stepper } from "../../ui/stepper";
import { Toggle } from "../../ui/toggle";
import { TokenName } from "../../ui/token";
import type { Facts } from "./facts";
import { force } from "./force";
import type { Placement } from "./layout";
import { tidy } from "./tidy";

const PLACEMENTS = { tidy, force } as const;

interface Named {
  readonly name: string;
  readonly token: number;
}

export function Head({
  root,
  matrix,
  trail,
  back,
}: {
  readonly root: Named | null;
  /** Which matrix, in words. */
  readonly matrix: string;
  readonly trail: readonly Named[];
  readonly back: (token: number) => void;
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
            <Button
              class="aw-tree-back"
              data-token={token}
              label={`Back to ${name}, position ${token}`}
              key={token}
              onClick={() => back(token)}
            >
              <TokenName name={name} token={token} />
            </Button>
          ))}
        </nav>
      </div>
    </header>
  );
}

/** The tree's part of the Display popover. */
export const Settings = ({
  placement,
  bare,
  selection: { top_k, depth },
  set,
  choose,
  setBare,
}: {
  readonly placement: Placement;
  /** True if special tokens and punctuation are left out. */
  readonly bare: boolean;
  readonly selection: Pick<Selection, "top_k" | "depth">;
  readonly set: (change: Partial<Selection>) => void;
  readonly choose: (placement: Placement) => void;
  readonly setBare: (bare: boolean) => void;
}) => (
  <>
    <Toggle
      text="words only"
      part="tree-bare"
      title="Leaves special tokens and punctuation out of the tree"
      on={bare}
      set={setBare}
    />
    <div class="aw-display-row aw-cluster">
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
    </div>
    <div class="aw-display-row aw-cluster">
      layout
      <Segmented
        label="Layout"
        part="layout"
        name="layout"
        options={Object.values(PLACEMENTS).map(({ name, label }) => [name, label] as const)}
        value={placement.name}
        choose={(name) => choose(PLACEMENTS[name])}
      />
    </div>
  </>
);

/** A token in numbers. */
export function Card({ name, token, word, parent, order, siblings, children, ...facts }: Facts) {
  const { quantity, weight, product, score, scoreAbsent } = facts;
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
            {`${formatOrdinal(order)} of ${siblings} children of `}
            <span class="aw-tree-name">
              <TokenName {...parent} />
            </span>
          </>
        )}
      </p>
      <dl class="aw-figures">
        {weight !== null && (
          <>
            <Figure name={quantity} part="tree-weight" {...weight} />
            <Figure name="path product" part="tree-product" {...product} />
            <Figure name="scaled score" part="tree-score" {...(score ?? { value: null })} />
          </>
        )}
        <Figure name="children" value={children} part="tree-children" format={formatCount} />
      </dl>
      {weight !== null && scoreAbsent !== null && (
        <p class="aw-muted aw-tree-why">No score: {scoreAbsent}.</p>
      )}
    </div>
  );
}
