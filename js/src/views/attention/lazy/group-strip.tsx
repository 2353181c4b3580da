/** Below the picture: what the gathered tokens receive and give together. */

import { Fragment } from "preact";
import { groupGives, groupReceives } from "../../../figures/derive/group";
import { largest } from "../../../figures/derive/matrix";
import { repeated } from "../../../figures/derive/units";
import { isSquare, type Matrix, membersOf } from "../../../figures/matrix";
import type { AxisLabels } from "../../../figures/names";
import { itemAt } from "../../../protocol/required";
import { Button } from "../../../ui/controls";
import type { ViewContext } from "../../contract";
import { UnitName, Value } from "../group";

/** Keys in the list of a group, and names of the group. */
const MOST = { given: 3, named: 8 } as const;

interface GroupProps {
  readonly context: ViewContext;
  readonly matrix: Matrix;
  readonly labels: AxisLabels;
}

/** Weights that a group of tokens receives and gives; nothing without a group. */
export function GroupStrip({ context: { state }, matrix, labels }: GroupProps) {
  const { group, token } = state.get();
  if (group.length === 0) return null;
  const members = membersOf(matrix, group);
  const hidden = group.filter((member) => matrix.keyOf(member) < 0).length;
  const single = members.length === 1;
  return (
    <div class="aw-group">
      <div class="aw-group-head">
        <strong>{single ? "1 token: " : `${members.length} tokens: `}</strong>
        {members.slice(0, MOST.named).map((i, place) => (
          <Fragment key={i}>
            {place > 0 && ", "}
            <bdi dir="ltr">{itemAt(labels.keys, i)}</bdi>
          </Fragment>
        ))}
        {members.length > MOST.named && ` and ${members.length - MOST.named} more`}
        <Button class="aw-button aw-text-button" onClick={() => state.set({ group: [] })}>
          Clear
        </Button>
      </div>
      {members.length > 0 && <Sums {...{ matrix, labels, members, row: matrix.queryOf(token) }} />}
      {hidden > 0 && <p class="aw-muted">{hidden} of the group not shown and not counted.</p>}
    </div>
  );
}

function Sums({
  matrix,
  labels,
  members,
  row,
}: Pick<GroupProps, "matrix" | "labels"> & {
  readonly members: readonly number[];
  readonly row: number;
}) {
  const single = members.length === 1;
  const { weights, queries, keys, allowed } = matrix;
  const { fromRows, received } = groupReceives(weights, keys.length, members, allowed);
  const gives = isSquare(matrix) ? groupGives(weights, keys.length, members) : null;
  const twice = repeated(labels.queries);
  const name = (i: number) => (
    <UnitName {...{ units: queries, labels: labels.queries, twice, i }} />
  );
  const names = (values: Float64Array) =>
    largest(values, MOST.given, "weights").map((i, place) => (
      <Fragment key={i}>
        {place > 0 && ", "}
        {name(i)} <Value matrix={matrix} value={itemAt(values, i)} />
      </Fragment>
    ));
  const sum = (value: number) => <Value matrix={matrix} value={value} terms={members.length} />;
  return (
    <>
      {row >= 0 && (
        <p>
          {single ? "It receives " : "Together they receive "}
          {sum(itemAt(fromRows, row))} of the row of {name(row)}
          {single ? "." : " (sum over these keys)."}
        </p>
      )}
      <p>
        On average over all queries{matrix.allowed && " that may look there"}{" "}
        {single ? "it receives" : "they receive"} {sum(received)}
        {gives === null ? (
          <>, most from {names(fromRows)}.</>
        ) : (
          <>
            {single ? ", and from itself " : ", and from one another "}
            {sum(gives.within)}.
          </>
        )}
      </p>
      {gives !== null && (
        <p>
          {single ? "It gives most to " : "Together they give most to "}
          {names(gives.given)}
          {single ? "." : " (mean of their rows)."}
        </p>
      )}
    </>
  );
}

declare module "../../contract" {
  interface LazyCode {
    readonly GroupStrip: typeof GroupStrip;
  }
}
