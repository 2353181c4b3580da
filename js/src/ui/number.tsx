/** Numbers with all their digits behind them. */

import { exact, formatNumber } from "../figures/format";

/** A number in text or in a cell of a table: as many digits as `text` has, and all that hold behind them. */
export const Num = ({
  value,
  error = 0,
  text = formatNumber({ value, error }),
  tag: Tag = "span",
  part,
}: {
  readonly value: number;
  /** Largest error of the value. */
  readonly error?: number;
  readonly text?: string;
  readonly tag?: "span" | "strong" | "td";
  readonly part?: string;
}) => (
  <Tag
    class="aw-number"
    data-aw-part={part}
    data-aw-value={exact({ value, error })}
    title={exact({ value, error })}
  >
    {text}
  </Tag>
);
