/** Turns in words: which one has the largest part, and what the system prompt has in it. */

import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import { Share } from "../../ui/sentence";
import type { TurnContributions } from "./data";

const Name = ({ children }: { readonly children: string }) => (
  <bdi>
    <em>{children}</em>
  </bdi>
);

/** Ratio of the first turn's share without the first token to the whole, below which the first token is left out. */
const RESTS = 2 / 3;
/** A share is the largest one from so many times the next on. */
const CLEAR = 1.2;

/**
 * `Of what is written user 2 has the largest part: 46%, with 30% of the tokens; the system prompt 12%.` Where that is the reply
 * itself, the strongest of the other turns follows. Where the first token has much of its turn's share, as heads rest on it that find
 * nothing to look at, the shares are those without it.
 */
export function TurnsSentence({
  names,
  roles,
  next,
  means,
  meansWithoutFirst: without,
  lengths,
}: TurnContributions) {
  const aside = without !== null && itemAt(without, 0) < RESTS * itemAt(means, 0);
  const shares = aside ? without : means;
  const last = names.length - 1;
  const first = firstLargest(shares);
  const other = firstLargest(shares.slice(0, last));
  const system = roles.flatMap((role, turn) => (role === "system" ? [turn] : []));
  const own = first === last && last > 0 && !next;
  const [most = 0, then = 0] = [...shares].sort((a, b) => b - a);
  const even = names.length > 1 && most < CLEAR * then;
  // Among turns that are about equal the one with most for its length is named.
  const told = names.flatMap((_, turn) => (itemAt(lengths, turn) > 0 ? [turn] : []));
  const ratio = (turn: number): number => itemAt(shares, turn) / itemAt(lengths, turn);
  const dense = told[firstLargest(told.map(ratio))] ?? first;
  const named = even ? [dense] : own ? [last, other] : [first];
  const name = (turn: number) => <Name>{itemAt(names, turn)}</Name>;
  const part = (turn: number) => (
    <>
      <Share value={itemAt(shares, turn)} />
      {", with "}
      <Share value={itemAt(lengths, turn)} />
      {" of the tokens"}
    </>
  );
  const what = `of what ${next ? "would come next" : "is written"}`;
  return (
    <p class="aw-sentence" data-aw-part="turns-said">
      {aside && "Without the first token, on which heads rest: "}
      {even ? (
        <>
          {`${aside ? "no" : "No"} turn has a much larger part ${what} than another; `}
          {name(dense)}
          {" has most for its length: "}
          {part(dense)}
        </>
      ) : (
        <>
          {own && `${aside ? "the" : "The"} reply itself, `}
          {name(first)}
          {`${own ? "," : ""} has the largest part ${what}: `}
          {part(first)}
          {own && other >= 0 && (
            <>
              {"; then "}
              {name(other)}
              {": "}
              {part(other)}
            </>
          )}
        </>
      )}
      {system.map((turn) =>
        named.includes(turn) ? null : (
          <span key={turn}>
            {"; the system prompt: "}
            {part(turn)}
          </span>
        ),
      )}
      .
    </p>
  );
}
