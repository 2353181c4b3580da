/** Attention's part of the Display popover: from which weight links are drawn, boundaries, and the zoom. */

import type { Signal } from "@preact/signals-core";
import { formatNumber } from "../../../figures/format";
import { setter } from "../../../ui/mount";
import { Toggle } from "../../../ui/toggle";
import { ZoomButtons } from "./zoom";

const SLIDER_STEPS = 1000;
/** A slider position is the square root of a share of the maximum: small thresholds matter most. */
const toThreshold = (position: number, max: number): number => (position / SLIDER_STEPS) ** 2 * max;
const toPosition = (threshold: number, max: number): number =>
  max > 0 ? Math.round(Math.sqrt(threshold / max) * SLIDER_STEPS) : 0;

export function AttentionDisplay({
  max,
  boundaries,
  lines,
  threshold,
  drawn,
  setThreshold,
  zoom,
}: {
  /** Largest weight of the matrix. */
  readonly max: number;
  /** Boundaries in the text, in words; null without any. */
  readonly boundaries: string | null;
  /** True if lines are drawn at the boundaries. */
  readonly lines: Signal<boolean>;
  /** Links are drawn from this weight on. */
  readonly threshold: number;
  readonly drawn: number;
  readonly setThreshold: (value: number) => void;
  /** The factor; null shows all. */
  readonly zoom: (factor: number | null) => void;
}) {
  const least = formatNumber(threshold);
  return (
    <>
      {boundaries !== null && (
        <Toggle
          text="boundaries"
          part="lines"
          title={`Lines over the matrix (${boundaries})`}
          on={lines.value}
          set={setter(lines)}
        />
      )}
      <label class="aw-display-row aw-cluster">
        links from
        <input
          type="range"
          class="aw-slider"
          min={0}
          max={SLIDER_STEPS}
          step={1}
          value={toPosition(threshold, max)}
          aria-label="Draw links of at least this weight"
          aria-valuetext={`${least}, ${drawn} links`}
          data-aw-part="threshold"
          onInput={({ currentTarget: { value } }) => setThreshold(toThreshold(Number(value), max))}
        />
        <output class="aw-number">{least}</output>
      </label>
      <div class="aw-display-row aw-cluster">
        zoom
        <ZoomButtons zoom={zoom} />
      </div>
    </>
  );
}

declare module "../../contract" {
  interface LazyCode {
    readonly AttentionDisplay: typeof AttentionDisplay;
  }
}
