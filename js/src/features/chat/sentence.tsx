/** Turns in words: which one has the largest part, and what the system prompt has in it. */

import { formatCount } from "../../figures/format";
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
 * `user has the largest part of what is written: 46%, the system prompt 12%, on the mean of the 24 written tokens.` Where that is
 * the reply itself, the strongest of the other turns follows. Where the first token has much of its turn's share, as heads rest on
 * it that find nothing to look at, the shares are those without it, and what the turn has with it comes last.
 */
export function TurnsSentence({
  names,
  roles,
  written,
  next,
  means,
  meansWithoutFirst: without,
}: TurnContributions) {
  const aside = without !== null && itemAt(without, 0) < RESTS * itemAt(means, 0);
  const shares = aside ? without : means;
  const last = names.length - 1;
  const first = firstLargest(shares);
  const other = firstLargest(shares.slice(0, last));
  const system = roles.flatMap((role, turn) => (role === "system" ? [turn] : []));
  const share = (turn: number) => <Share value={itemAt(shares, turn)} />;
  const name = (turn: number) => <Name>{itemAt(names, turn)}</Name>;
  const ofSystem = system.reduce((sum, turn) => sum + itemAt(shares, turn), 0);
  const own = first === last && last > 0 && !next;
  const [most = 0, then = 0] = [...shares].sort((a, b) => b - a);
  const even = names.length > 1 && most < CLEAR * then;
  const named = own && !even ? other : first;
  const what = `of what ${next ? "would come next" : "is written"}`;
  return (
    <p class="aw-sentence" data-aw-part="turns-said">
      {even ? (
        <>
          {`No turn has a much larger part ${what} than another; the largest has `}
          {name(first)}
          {": "}
          {share(first)}
        </>
      ) : own ? (
        <>
          {"The reply itself, "}
          {name(last)}
          {`, has the largest part ${what}: `}
          {share(last)}
          {", then "}
          {name(other)} {share(other)}
        </>
      ) : (
        <>
          {name(first)}
          {` has the largest part ${what}: `}
          {share(first)}
        </>
      )}
      {system.length > 0 && !system.includes(named) && (
        <>
          {", the system prompt "}
          <Share value={ofSystem} />
        </>
      )}
      {written.length > 1 && `, on the mean of the ${formatCount(written.length)} written tokens`}
      {aside && (
        <>
          {"; with the first token, on which heads rest that find nothing to look at, "}
          {name(0)}
          {" carries "}
          <Share value={itemAt(means, 0)} />
        </>
      )}
      .
    </p>
  );
}
