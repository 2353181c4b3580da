/** The bar of a ramp. */

import type { ComponentChildren } from "preact";
import { type Mode, rampImage } from "../draw/color/ramp";

/** Color stops of a CSS gradient: enough that no eye sees them. */
const STOPS = 18;

/** A bar of the ramp's colors, and what stands at its middle. */
export const RampTrack = ({
  mode,
  signed = false,
  stops = STOPS,
  children,
}: {
  readonly mode: Mode;
  readonly signed?: boolean;
  /** Color stops of the gradient. */
  readonly stops?: number;
  readonly children: ComponentChildren;
}) => (
  <span class="aw-ramp-track">
    <span
      class="aw-ramp-bar"
      aria-hidden="true"
      style={{ background: rampImage(signed ? "signed" : "weight", mode, stops) }}
    />
    <span class="aw-number aw-ramp-middle">{children}</span>
  </span>
);
