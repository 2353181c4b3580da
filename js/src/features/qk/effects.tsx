/** What running the network without the largest entries gives, in a sentence: here alone one may say because. */

import { Percent } from "../../ui/number";
import type { PinnedCell } from "../../views/contract";
import { type Effects, type Found, SIDES } from "./data";
import { type Names, PartName, SideToken } from "./names";

/** An entry without which less than this share of the weight is left makes the head look there. */
const MAKES = 0.5;

export function Verdict({
  found,
  effects,
  names,
  cell,
}: {
  readonly found: Found;
  readonly effects: Effects;
  readonly names: Names;
  readonly cell: PinnedCell;
}) {
  const all = SIDES.flatMap((side) => effects[side].map((effect) => ({ side, ...effect })));
  const least = all.reduce<(typeof all)[number] | null>(
    (one, next) => (one === null || next.weight < one.weight ? next : one),
    null,
  );
  const part = least && found.parts[least.side][least.part];
  if (least === null || !part) return null;
  const named = part.kind === "token" || part.kind === "head";
  const name = (
    <strong>
      {named ? "" : "the "}
      <PartName names={names} side={least.side} part={part} />
    </strong>
  );
  const side = found.by === "parts" ? ` on the ${least.side} side` : "";
  const weights = (
    <>
      <Percent value={least.weight} />
      {" instead of "}
      <Percent value={found.weight} />
    </>
  );
  return (
    <p data-aw-part="qk-verdict" role="status">
      {least.weight < MAKES * found.weight ? (
        <>
          <SideToken names={names} side="query" token={cell.query} />
          {" looks at "}
          <SideToken names={names} side="key" token={cell.key} />
          {" because of "}
          {name}
          {`${side}: without it the weight is `}
          {weights}.
        </>
      ) : (
        <>
          {"None of these alone makes the head look there: without "}
          {name}
          {`${side}, which counts most, the weight is `}
          {weights}.
        </>
      )}
    </p>
  );
}
