/** The card of a pair at the pointer. */

import { ABSENT, formatOrdinal } from "../../../figures/format";
import { calledOf } from "../../../figures/quantities";
import { Figure } from "../../../ui/figure";
import { isWhole, percentOf } from "./arithmetic";
import { Ends, impossible, isImpossible, type Pair } from "./ends";

/** If the colors show scores, the score comes first. */
export function LinkCard({
  below = null,
  ...pair
}: Pair & {
  /** Names of what stands below the pictures, of a pair that is pinned. */
  readonly below?: string | null;
}) {
  const { matrix, row, column, link } = pair;
  const { errors } = link;
  const absent = link.pending ? "…" : ABSENT;
  const { length } = matrix.keys;
  const possible = matrix.allowed?.subarray(row * length, (row + 1) * length);
  const keys = possible?.reduce((sum, cell) => sum + Math.sign(cell), 0) ?? length;
  const rank = <span class="aw-muted">{` ${formatOrdinal(link.rank)} of ${keys}`}</span>;
  const weight = (
    <Figure key="weight" name={calledOf(matrix.quantity)} value={link.weight} error={errors.weight}>
      {isWhole(link) && rank}
    </Figure>
  );
  const share = !isWhole(link) && (
    <Figure
      key="share"
      name="share of row"
      value={link.share}
      error={errors.share}
      format={percentOf(link)}
    >
      {rank}
    </Figure>
  );
  const score = (
    <Figure
      key="score"
      name="scaled score"
      value={link.score}
      error={errors.score}
      absent={absent}
    />
  );
  return (
    <div class="aw-link-card" data-aw-part="link" data-aw-row={row} data-aw-column={column}>
      <Ends {...pair} />
      {isImpossible(pair) ? (
        <p class="aw-muted">{impossible(pair)}</p>
      ) : (
        <dl class="aw-figures">
          {matrix.scores === null ? [weight, share, score] : [score, weight, share]}
          <Figure name="q · k" value={link.product} error={errors.product} absent={absent} />
        </dl>
      )}
      {link.absent !== null && <p class="aw-muted aw-link-why">N/A: {link.absent}.</p>}
      {below !== null && <p class="aw-muted aw-link-why">{`Pinned. Below: ${below}.`}</p>}
    </div>
  );
}
