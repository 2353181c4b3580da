/** Turns in words: which one decides most, and what the system prompt has in it. */

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

/** Ratio of the first turn's share without the first token to the whole, below which a sentence says so. */
const RESTS = 2 / 3;

/**
 * `user decides most, 46% of each written token on the mean of 24; the system prompt carries 12%.` Where the reply decides
 * most itself, the strongest of the other turns follows. The share of the first turn without the first token
 * comes last, where it is much less.
 */
export function TurnsSentence({
  names,
  roles,
  written,
  means,
  meansWithoutFirst: without,
}: TurnContributions) {
  const last = names.length - 1;
  const first = firstLargest(means);
  const other = firstLargest(means.slice(0, last));
  const system = roles.flatMap((role, turn) => (role === "system" ? [turn] : []));
  const share = (turn: number) => <Share value={itemAt(means, turn)} />;
  const name = (turn: number) => <Name>{itemAt(names, turn)}</Name>;
  const ofSystem = system.reduce((sum, turn) => sum + itemAt(means, turn), 0);
  const one = written.length === 1;
  const own = first === last && last > 0;
  const named = own ? other : first;
  return (
    <p class="aw-sentence" data-aw-part="turns-said">
      {own ? (
        <>
          {"The reply itself, "}
          {name(last)}
          {", decides most of what is written: it carries "}
          {share(last)}
          {" of it, "}
          {name(other)} {share(other)}
        </>
      ) : (
        <>
          {name(first)}
          {" decides most of what is written: it carries "}
          {share(first)}
          {" of it"}
        </>
      )}
      {system.length > 0 && !system.includes(named) && (
        <>
          {", the system prompt "}
          <Share value={ofSystem} />
        </>
      )}
      {!one && `, on the mean of the ${formatCount(written.length)} written tokens`}.
      {without !== null && itemAt(without, 0) < RESTS * itemAt(means, 0) && (
        <>
          {" Without the first token, on which heads rest that find nothing to look at, "}
          {name(0)}
          {" carries "}
          <Share value={itemAt(without, 0)} />
          {firstLargest(without) !== first && (
            <>
              {", and "}
              {name(firstLargest(without))}
              {" most, "}
              <Share value={itemAt(without, firstLargest(without))} />
            </>
          )}
          .
        </>
      )}
    </p>
  );
}
