/** Result of running the network without the listed entries, in a sentence: the only one that may say because. */

import { itemAt } from "../../protocol/required";
import { Percent } from "../../ui/figure";
import type { PinnedCell } from "../../views/contract";
import { type Effect, type Effects, type Found, SIDES, type SideName } from "./data";
import { THAN } from "./line";
import { type Names, PartName, SideToken } from "./names";

/** An entry without which less than this share of the weight is left makes the head look there; one without which the weight is more than so many times as large keeps it away. */
const MAKES = 0.5;
/** So many entries of which each makes the head look there say that the run disturbs it, not which of them it is about. */
const SEVERAL = 5;

/** The listed entry of largest total without which the weight moves the other way; null without any. */
export function againstItsTotal({ weight }: Found, effects: Effects) {
  const all = SIDES.flatMap((side) => effects[side].map((effect) => ({ side, ...effect })));
  const odd = all.filter(({ total, weight: without }) => total * (without - weight) > 0);
  return odd.sort((a, b) => Math.abs(b.total) - Math.abs(a.total))[0] ?? null;
}

/** Why a total and a weight may point in opposite directions, where those of an entry do. */
export function Opposite({
  found,
  effects,
  names,
}: {
  readonly found: Found;
  readonly effects: Effects;
  readonly names: Names;
}) {
  const odd = againstItsTotal(found, effects);
  if (odd === null) return null;
  const { against } = found;
  const [moves, move, weight] =
    odd.total > 0 ? ["falls", "fall", "rises"] : ["rises", "rise", "falls"];
  return (
    <p class="aw-view-note" data-aw-part="qk-opposite">
      {"Total and weight can go opposite ways: the total compares the key with "}
      {typeof against === "number" ? (
        <SideToken names={names} side="key" token={against} />
      ) : (
        THAN[against]
      )}
      {", the weight with every token that the query may look at. Without "}
      <PartName names={names} side={odd.side} part={itemAt(found.parts[odd.side], odd.part)} />
      {` the key ${moves} by the first comparison, but tokens that hold much of the other weight ${move} more: its weight ${weight}.`}
    </p>
  );
}

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
  // True of a key below the others: something keeps the head away from it.
  const away = found.contrast < 0;
  const order = (one: Effect, other: Effect): number =>
    away ? other.weight - one.weight : one.weight - other.weight;
  // On each side the entry without which least of the weight is left, or most.
  const counted = SIDES.map((side) =>
    effects[side]
      .filter(({ part }) => !isOfPair(side, part))
      .map((effect) => ({ side, ...effect }))
      .sort(order),
  );
  const [first, second] = counted.flatMap((side) => side.slice(0, 1)).sort(order);
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
  const makesIt = ({ weight }: Effect): boolean =>
    away ? weight * MAKES > found.weight : weight < MAKES * found.weight;
  const makes = makesIt(first);
  /** By parts each side has its own. */
  const other = byParts ? second : undefined;
  const both = makes && other !== undefined && makesIt(other);
  const all = counted.flat().sort(order);
  const least = all.at(-1);
  if (least !== undefined && all.length >= SEVERAL && makesIt(least))
    return (
      <p data-aw-part="qk-verdict" role="status">
        {`Without any one of these${byParts ? "" : " other tokens"} the weight is at ${away ? "least" : "most"} `}
        <Percent value={least.weight} />
        {" instead of "}
        <Percent value={found.weight} />: the run does not tell which of them matters.
      </p>
    );
  return (
    <p data-aw-part="qk-verdict" role="status">
      {makes ? (
        <>
          <SideToken names={names} side="query" token={cell.query} />
          {away ? " looks away from " : " looks at "}
          <SideToken names={names} side="key" token={cell.key} />
          {" because of "}
          <Entry of={first} />
          {both && (
            <>
              {" and of "}
              <Entry of={other} />
            </>
          )}
          {`: without ${both ? "the first" : "it"} the weight is `}
        </>
      ) : (
        <>
          {`None of ${byParts ? "these" : "the other tokens"} alone ${away ? "keeps the head away" : "makes the head look there"}: without `}
          <Entry of={first} />
          {", which counts most, the weight is "}
        </>
      )}
      <Percent value={first.weight} />
      {" instead of "}
      <Percent value={found.weight} />
      {other !== undefined && (
        <>
          {"; without "}
          {both ? "the second" : <Entry of={other} />}
          {" it is "}
          <Percent value={other.weight} />
        </>
      )}
      .
    </p>
  );
}
