/** One side of the sum: its largest entries with bars, the rest, and what they add up to; next to it what running without them gives. */

import type { ComponentChild } from "preact";
import { formatNumber, formatSigned } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import { Button } from "../../ui/controls";
import { Percent } from "../../ui/figure";
import { Num } from "../../ui/number";
import { Change } from "../../ui/signs";
import { type Effect, type Effects, type Found, type Part, SIDES, type SideName } from "./data";
import { groupsOf } from "./groups";
import { type Names, PartName, SideToken } from "./names";

/** Goes to the cell at which a head read what it brings here. */
export type Follow = (side: SideName, part: Part) => void;

/** A head is a button that leads to its cell; its largest source stands behind it. */
function Entry({
  names,
  side,
  part,
  follow,
}: {
  readonly names: Names;
  readonly side: SideName;
  readonly part: Part;
  readonly follow: Follow;
}) {
  const name = <PartName {...{ names, side, part }} />;
  if (part.kind !== "head" || part.source === null) return name;
  return (
    <>
      <Button
        class="aw-link"
        data-layer={part.layer}
        data-head={part.head}
        title="Go to the link where this head read it"
        onClick={() => follow(side, part)}
      >
        {name}
      </Button>
      <span class="aw-muted">
        {" from "}
        <SideToken names={names} side={side} token={part.source} />
      </span>
    </>
  );
}

/** The largest number of both sides, whose bars have one scale. */
export function topOf({ parts, sums }: Found, effects: Effects | null): number {
  const values = SIDES.flatMap((side) => [
    ...groupsOf(parts[side], sums[side]).flatMap(({ rows, rest }) => [
      ...rows.map(({ value }) => value),
      rest?.value ?? 0,
    ]),
    ...(effects?.[side] ?? []).flatMap(({ direct, total }) => [direct, total]),
  ]);
  return Math.max(...values.map(Math.abs));
}

/** Below both sides, which have the same sum. */
export const ONE_NUMBER =
  "Key side and query side account for the same number, each in full: do not add them.";

export function SideSum({
  found,
  side,
  title,
  names,
  effects,
  follow,
  top,
}: {
  readonly found: Found;
  readonly side: SideName;
  readonly title: ComponentChild;
  readonly names: Names;
  /** Null before the network has run without the largest entries. */
  readonly effects: readonly Effect[] | null;
  readonly follow: Follow;
  /** Number whose bar is longest. */
  readonly top: number;
}) {
  const parts = found.parts[side];
  const groups = groupsOf(parts, found.sums[side]);
  const total = groups.reduce((sum, group) => sum + group.total, 0);
  const ofPart = new Map(effects?.map((effect) => [effect.part, effect]));
  // A token stands on both sides, and is taken out of both.
  const both = found.by === "tokens";
  const run = (part: number | null) => {
    if (effects === null) return null;
    const effect = part === null ? undefined : ofPart.get(part);
    if (effect === undefined)
      return (
        <>
          {both && <td />}
          <td />
          <td />
        </>
      );
    return (
      <>
        {both && <Change value={effect.direct} top={top} />}
        <Change value={effect.total} top={top} />
        <td>
          <Percent value={effect.weight} />
        </td>
      </>
    );
  };
  return (
    <table class={`aw-qk-sum${both ? " of-tokens" : ""}`} data-aw-part={`qk-${side}`}>
      <caption>{title}</caption>
      {effects !== null && (
        <thead>
          <tr>
            <td />
            <th scope="col" title="What it adds to the score, all else held">
              {both ? "this side" : "direct"}
            </th>
            {both && <th scope="col">both sides</th>}
            <th scope="col" title="By how much the score falls when the network runs without it">
              total, by a run
            </th>
            <th scope="col">
              weight without it, of <Percent value={found.weight} />
            </th>
          </tr>
        </thead>
      )}
      {groups.map(({ name, rows, rest, total: sum }) => (
        <tbody key={name}>
          {name !== null && (
            <tr class="aw-qk-group">
              <th scope="rowgroup">{name}</th>
              <td>
                <Num value={sum} text={formatSigned(sum)} />
              </td>
              {run(null)}
            </tr>
          )}
          {rows.map(({ part, value }) => (
            <tr key={part} data-part={part}>
              <th scope="row">
                <Entry part={itemAt(parts, part)} {...{ names, side, follow }} />
              </th>
              <Change value={value} top={top} />
              {run(part)}
            </tr>
          ))}
          {rest !== null && (
            <tr class="aw-qk-rest">
              <th scope="row">{`${rest.count} other ${rest.of}`}</th>
              <Change value={rest.value} top={top} />
              {run(null)}
            </tr>
          )}
        </tbody>
      ))}
      <tfoot>
        <tr>
          <th scope="row">sum</th>
          <td>
            <Num part={`qk-${side}-total`} value={total} text={`= ${formatNumber(total)}`} />
          </td>
          {run(null)}
        </tr>
      </tfoot>
    </table>
  );
}
