/** Figures of two runs: their table, the cells of a figure, and the legend of the difference. */

import type { ComponentChildren } from "preact";
import { type Mode, rampImage } from "../../draw/color/ramp";
import { formatNumber, formatSigned } from "../../figures/format";
import { Num } from "../../ui/number";
import { Change } from "../../ui/signs";
import { Headings } from "../../ui/table";

/** Color stops of a CSS gradient: enough that no eye sees them. */
const STOPS = 17;

/** The cells of a figure: in A, in B, and its change. */
export const Both = ({
  a,
  b,
  top,
  format = formatNumber,
  change = b - a,
}: {
  readonly a: number;
  readonly b: number;
  readonly top: number;
  readonly format?: (value: number) => string;
  readonly change?: number;
}) => (
  <>
    <Num tag="td" value={a} text={format(a)} />
    <Num tag="td" value={b} text={format(b)} />
    <Change value={change} top={top} />
  </>
);

/** The two colors from `-top` to `top`, and their meaning in words. */
export const ChangeLegend = ({
  top,
  mode,
  less = "less in B",
  more = "more in B",
}: {
  readonly top: number;
  readonly mode: Mode;
  readonly less?: string;
  readonly more?: string;
}) => (
  <p class="aw-ramp aw-change-legend">
    <span>
      <span class="aw-number">{formatNumber(-top)}</span>
      {` ${less}`}
    </span>
    <span class="aw-ramp-bar" style={{ background: rampImage("signed", mode, STOPS) }} />
    <span>
      <span class="aw-number">{formatSigned(top)}</span>
      {` ${more}`}
    </span>
  </p>
);

/** A table of a comparison. */
export const Table = ({
  label,
  columns,
  children,
}: {
  readonly label: string;
  readonly columns: readonly string[];
  readonly children: ComponentChildren;
}) => (
  <table class="aw-compare-table" aria-label={label}>
    <Headings of={columns} />
    <tbody>{children}</tbody>
  </table>
);
