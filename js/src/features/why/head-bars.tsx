/** The strongest heads as bars, each a button that chooses its head. */

import { type Mode, ramp } from "../../draw/color/ramp";
import { signedIndex } from "../../draw/color/scale";
import { formatSigned } from "../../figures/format";
import { headName } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import type { State } from "../../state/selection";
import { Button } from "../../ui/controls";
import { Num } from "../../ui/number";

export function HeadBars({
  values,
  listed,
  heads,
  state,
  mode,
}: {
  /** Values of all heads, layer by layer. */
  readonly values: Float32Array;
  /** Which to list, the largest first. */
  readonly listed: readonly number[];
  /** Heads of a layer. */
  readonly heads: number;
  readonly state: State;
  readonly mode: Mode;
}) {
  const most = Math.abs(values[listed[0] ?? 0] ?? 0);
  const { css } = ramp("signed", mode);
  return (
    <ol class="aw-why-heads">
      {listed.map((index) => {
        const [layer, head] = [Math.floor(index / heads), index % heads];
        const value = itemAt(values, index);
        const style = {
          inlineSize: `${most > 0 ? (100 * Math.abs(value)) / most : 0}%`,
          background: itemAt(css, signedIndex(value, most)),
        };
        return (
          <li key={index}>
            <Button
              class="aw-item aw-why-head"
              data-layer={layer}
              data-head={head}
              onClick={() => state.set({ layer, head })}
            >
              <span class="aw-number">{headName(layer, head)}</span>
              <span class="aw-why-track">
                <span class="aw-why-bar" aria-hidden="true" style={style} />
              </span>
              <Num value={value} text={formatSigned(value)} />
            </Button>
          </li>
        );
      })}
    </ol>
  );
}
