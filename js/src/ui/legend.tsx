/** Legends: a ramp with its scale, and the marks of a drawing. */

import type { Mode } from "../draw/color/ramp";
import { rampValue } from "../draw/color/scale";
import { formatNumber } from "../figures/format";
import type { Scale } from "../state/selection";
import { Num } from "./number";
import { RampTrack } from "./ramp-track";

/** The ramp of weights from 0 to `max`, which may be off by `error`; of signed numbers from `-max` to `max`. */
export function RampLegend({
  max,
  mode,
  scale = "head",
  error = 0,
  signed = false,
  hidden = false,
  overflow = "",
}: {
  readonly max: number;
  readonly mode: Mode;
  readonly scale?: Scale;
  readonly error?: number;
  readonly signed?: boolean;
  readonly hidden?: boolean;
  /** Text for the cells that pass the end of the ramp. */
  readonly overflow?: string;
}) {
  const top = rampValue(1, max, scale);
  const off = scale === "unit" ? 0 : error;
  const [low, high] = [signed ? formatNumber(-top) : "0", formatNumber({ value: top, error: off })];
  const rooted = scale === "sqrt";
  return (
    <div
      class="aw-ramp aw-own-legend"
      role="img"
      aria-label={`Colors: ${low} to ${high}${rooted ? ", by square root" : ""}`}
      data-aw-part={signed ? undefined : "weight-legend"}
      hidden={hidden}
    >
      <span class="aw-number">{low}</span>
      <RampTrack mode={mode} signed={signed}>
        {rooted && formatNumber({ value: rampValue(0.5, max, scale), error: off })}
      </RampTrack>
      <Num
        value={top}
        error={off}
        text={overflow === "" ? high : `${high}, hatched: ${overflow}`}
      />
    </div>
  );
}

/** A mark of a drawing, `aw-mark-KIND`, and what it stands for. */
export const Mark = ({ kind, text }: { readonly kind: string; readonly text: string }) => (
  <span class="aw-mark">
    <i class={`aw-mark-${kind}`} aria-hidden="true" />
    {text}
  </span>
);
