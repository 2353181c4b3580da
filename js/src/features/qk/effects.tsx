/** Result of running the network without the listed entries, in a sentence: the only one that may say because. */

import { itemAt } from "../../protocol/required";
import { Percent } from "../../ui/number";
import type { PinnedCell } from "../../views/contract";
import { type Effects, type Found, SIDES, type SideName } from "./data";
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
  const byParts = found.by === "parts";
  // A token that is masked itself looks at nothing, and is not looked at: that explains nothing.
  const isOfPair = (side: SideName, part: number): boolean => {
    const { kind, token } = itemAt(found.parts[side], part);
    return kind === "token" && (token === cell.query || token === cell.key);
  };
  // On each side the entry without which least of the weight is left.
  const [first, second] = SIDES.flatMap((side) =>
    effects[side]
      .filter(({ part }) => !isOfPair(side, part))
      .map((effect) => ({ side, ...effect }))
      .sort((one, other) => one.weight - other.weight)
      .slice(0, 1),
  ).sort((one, other) => one.weight - other.weight);
  if (first === undefined) return null;
  const Entry = ({ of: { side, part } }: { readonly of: typeof first }) => {
    const entry = itemAt(found.parts[side], part);
    const named = entry.kind === "token" || entry.kind === "head";
    return (
      <>
        <strong>
          {named ? "" : "the "}
          <PartName names={names} side={side} part={entry} />
        </strong>
        {byParts && ` on the ${side} side`}
      </>
    );
  };
  return (
    <p data-aw-part="qk-verdict" role="status">
      {first.weight < MAKES * found.weight ? (
        <>
          <SideToken names={names} side="query" token={cell.query} />
          {" looks at "}
          <SideToken names={names} side="key" token={cell.key} />
          {" because of "}
          <Entry of={first} />
          {": without it the weight is "}
        </>
      ) : (
        <>
          {`None of ${byParts ? "these" : "the other tokens"} alone makes the head look there: without `}
          <Entry of={first} />
          {", which counts most, the weight is "}
        </>
      )}
      <Percent value={first.weight} />
      {" instead of "}
      <Percent value={found.weight} />
      {byParts && second !== undefined && (
        <>
          {"; without "}
          <Entry of={second} />
          {" it is "}
          <Percent value={second.weight} />
        </>
      )}
      .
    </p>
  );
}
