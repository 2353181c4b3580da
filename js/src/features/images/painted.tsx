/** Words below a picture that has the numbers of a view, such as contributions to a class. */

import type { ReadonlySignal } from "@preact/signals-core";
import type { ComponentChildren } from "preact";
import type { Mode } from "../../draw/color/ramp";
import { formatNumber, formatSigned } from "../../figures/format";
import { memo } from "../../ui/memo";
import { Num } from "../../ui/number";
import type { ImageModel } from "./model";
import { overlayImage } from "./paint";

/** Between the title and the legend stands what is given. */
export const createPaintedWords = (
  { painted, pointed, top, nameOf }: ImageModel,
  mode: ReadonlySignal<Mode>,
) =>
  memo(function PaintedWords({ children }: { readonly children: ComponentChildren }) {
    const [most, token] = [top.value, pointed.value];
    const { values, verb } = painted.value ?? { values: [], verb: "" };
    const value = token === null ? undefined : values[token];
    return (
      <>
        <p class="aw-picture-title" data-aw-part="picture-title">
          What each patch {verb}
        </p>
        {children}
        <div
          class="aw-picture-legend aw-tiny"
          role="img"
          aria-label={`Colors: ${formatNumber(-most)} to ${formatSigned(most)}`}
          data-aw-part="picture-legend"
        >
          <span class="aw-number">{formatNumber(-most)}</span>
          <span
            class="aw-picture-ramp"
            style={{ background: overlayImage({ mode: mode.value, signed: true }) }}
          />
          <Num value={most} text={formatSigned(most)} />
        </div>
        <p class="aw-picture-readout aw-tiny" data-aw-part="picture-readout">
          {token !== null && value !== undefined && (
            <>
              <bdi>{nameOf(token)}</bdi> {verb} <Num value={value} text={formatSigned(value)} />
            </>
          )}
        </p>
      </>
    );
  });
