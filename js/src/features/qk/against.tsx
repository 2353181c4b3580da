/** With what the key is compared: a group of keys, or another key out of the row. */

import type { Matrix } from "../../figures/matrix";
import { itemAt } from "../../protocol/required";
import { Button, Segmented } from "../../ui/controls";
import { Percent } from "../../ui/figure";
import { RovingList } from "../../ui/roving-list";
import type { Against, Found } from "./data";
import { type Names, SideToken } from "./names";

type Group = Exclude<Against, number>;
const LABELS: Readonly<Record<Group, readonly [label: string, title: string]>> = {
  others: ["other words", "The mean of the other words that the query may look at"],
  all: ["all tokens", "The mean of all other tokens that the query may look at, special ones too"],
  rivals: ["rivals", "The other keys by their weights: the log-odds of this weight"],
  sink: ["sink", "The head's learned sink"],
};
const KEY = "key";

interface Props {
  readonly found: Found;
  /** False for a comparison that a saved page lacks. */
  readonly has: (against: Group) => boolean;
  readonly live: boolean;
  readonly names: Names;
  readonly choose: (against: Against) => void;
  /** True if the row of keys is open. */
  readonly listing: boolean;
  readonly list: (open: boolean) => void;
}

export function AgainstControl({ found, has, live, names, choose, listing, list }: Props) {
  const { against, againsts } = found;
  const chosen = typeof against === "number";
  const another = chosen ? <SideToken names={names} side="key" token={against} /> : "another key …";
  return (
    <span class="aw-qk-against">
      <span class="aw-muted">against</span>
      <Segmented<Group | typeof KEY>
        label="Compared with"
        part="qk-against"
        name="against"
        options={[
          ...againsts
            .filter(has)
            .map((each) => [each, LABELS[each][0], { title: LABELS[each][1] }] as const),
          ...(live
            ? [[KEY, another, { title: "One other key: choose it in the row" }] as const]
            : []),
        ]}
        value={listing || chosen ? KEY : against}
        choose={(next) => {
          list(next === KEY && !listing);
          if (next !== KEY) choose(next);
        }}
      />
    </span>
  );
}

/** The keys of the query's row with their weights; one of them is what the pinned key is compared with. */
export function RowOfKeys({
  matrix,
  query,
  pinned,
  against,
  names,
  choose,
}: {
  readonly matrix: Matrix;
  readonly query: number;
  readonly pinned: number;
  readonly against: Against;
  readonly names: Names;
  readonly choose: (against: number) => void;
}) {
  const row = matrix.queryOf(query);
  const { keys, weights, allowed } = matrix;
  return (
    <div role="group" aria-label="Keys of this row, with their weights">
      <RovingList class="aw-qk-keys aw-small" part="qk-keys">
        {keys.map(({ token, end }, i) => {
          const at = row * keys.length + i;
          if (allowed?.[at] === 0 || (token <= pinned && pinned < end)) return null;
          return (
            <li key={token}>
              <Button
                class="aw-item"
                data-key={token}
                aria-pressed={against === token}
                onClick={() => choose(token)}
              >
                <SideToken names={names} side="key" token={token} />
                <span class="aw-muted">
                  {" "}
                  <Percent value={itemAt(weights, at)} />
                </span>
              </Button>
            </li>
          );
        })}
      </RovingList>
    </div>
  );
}
