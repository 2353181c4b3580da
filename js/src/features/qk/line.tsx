/** The answer in a line. */

import { formatNumber, formatPercent } from "../../figures/format";
import { headName } from "../../figures/names";
import { Percent } from "../../ui/figure";
import { Num } from "../../ui/number";
import type { PinnedCell } from "../../views/contract";
import type { Found } from "./data";
import { type Names, SideToken } from "./names";

/** With what a score is compared. */
export const THAN = {
  others: "the mean of the other words",
  all: "the mean of all other tokens",
  rivals: "its rivals, each by its weight",
  sink: "the sink",
} as const;

/** `L1 · H3: his looks at man (41.6%): its score is 2.68 above the mean of the other words.` */
export function Line({
  found,
  cell,
  names,
  intact = null,
}: {
  readonly found: Found;
  readonly cell: PinnedCell;
  readonly names: Names;
  /** The weight with all heads on; null where they are, or it is unknown. */
  readonly intact?: number | null;
}) {
  const { against, contrast, constant, weight, capped, unreliable } = found;
  return (
    <p class="aw-qk-line" data-aw-part="qk-line">
      {`${headName(cell.layer, cell.head)}: `}
      <SideToken names={names} side="query" token={cell.query} />
      {" looks at "}
      <SideToken names={names} side="key" token={cell.key} />
      {" ("}
      <Percent value={weight} />
      {intact !== null && (
        <>
          {"; "}
          <Percent value={intact} />
          {" with all heads on"}
        </>
      )}
      {"): its score is "}
      <Num value={contrast} text={formatNumber(Math.abs(contrast))} />
      {contrast < 0 ? " below " : " above "}
      {typeof against === "number" ? (
        <SideToken names={names} side="key" token={against} />
      ) : (
        THAN[against]
      )}
      .
      {constant !== 0 && (
        <span class="aw-muted">
          {" Log-odds of this weight: "}
          <Num value={contrast + constant} />.
        </span>
      )}
      {capped !== null && <span class="aw-qk-mark">{`capped to ${formatPercent(capped)}`}</span>}
      {unreliable && <span class="aw-qk-mark">unreliable</span>}
    </p>
  );
}
