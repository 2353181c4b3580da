/** The grid where a quantity is of a layer: one wide cell a layer, in it what each token gives there. */

import { RAMP_SIZE, ramp } from "../../draw/color/ramp";
import { modeOf, palette } from "../../draw/color/theme";
import { maximum, received } from "../../figures/derive/matrix";
import { matrixRequest } from "../../figures/matrix";
import { hasHead, mixingOf } from "../../figures/quantities";
import { arrayOf, itemAt } from "../../protocol/required";
import type { Quantity } from "../../state/selection";
import type { GridCells, LayerStrips, ViewContext } from "../../views/contract";

/** Up to here a kernel is asked for the matrices of all layers, and for value zeroing of all layers. */
const TOKENS_MOST = { quick: 256, slow: 32 } as const;

export function layerStrips(
  host: Element,
  { source, matrix, signal }: ViewContext,
  changed: () => void,
): LayerStrips {
  const { special, text } = source.meta.tokens;
  const n = text.length;
  /** By quantity and layer. */
  const known = new Map<string, Float32Array>();
  let asking: AbortController | null = null;
  let shown: Quantity = "weights";

  /** Layers one after the other: the kernel answers other questions in between. */
  async function gather(quantity: Quantity, mine: AbortSignal): Promise<void> {
    const slow = mixingOf(quantity) === "value_zeroing";
    if (source.live && n > TOKENS_MOST[slow ? "slow" : "quick"]) return;
    for (let layer = 0; layer < source.meta.model.n_layers; layer++) {
      const key = `${quantity} ${layer}`;
      if (known.has(key)) continue;
      try {
        const request = matrixRequest({ layer, head: "mean", quantity });
        const slice = await source.slice(request, { signal: mine });
        if (mine.aborted) return;
        known.set(key, received(arrayOf(slice, "weights").data as Float32Array, n, n));
        changed();
      } catch {
        // The cell stays empty: a page may lack this layer.
        if (mine.aborted) return;
      }
    }
  }

  matrix.on((next) => {
    if (next.quantity === shown) return;
    shown = next.quantity;
    asking?.abort();
    if (hasHead(shown)) return;
    asking = new AbortController();
    void gather(shown, AbortSignal.any([asking.signal, signal]));
  }, signal);

  return {
    paint(context, { layers, heads, cell, step }: GridCells) {
      const { css } = ramp("weight", modeOf(host));
      const width = heads * step - (step - cell);
      context.strokeStyle = palette(host).line;
      for (let layer = 0; layer < layers; layer++) {
        const y = layer * step;
        const values = known.get(`${shown} ${layer}`);
        if (values === undefined) {
          context.strokeRect(0.5, y + 0.5, width - 1, cell - 1);
          continue;
        }
        // As between words: a special token may pass the end of the ramp.
        const words = values.filter((_, i) => !special[i]);
        const most = maximum(words.length > 0 ? words : values) || 1;
        values.forEach((value, i) => {
          const [from, to] = [Math.round((i / n) * width), Math.round(((i + 1) / n) * width)];
          context.fillStyle = itemAt(css, Math.round(Math.min(1, value / most) * (RAMP_SIZE - 1)));
          context.fillRect(from, y, to - from, cell);
        });
      }
    },
  };
}
