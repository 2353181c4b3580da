/** The grid where a quantity is of a layer: one wide cell a layer, in it what each token gives there. */

import { RAMP_SIZE, ramp } from "../../draw/color/ramp";
import { modeOf, palette } from "../../draw/color/theme";
import { maximum, received } from "../../figures/derive/matrix";
import { matrixRequest } from "../../figures/matrix";
import { hasHead, mixingOf } from "../../figures/quantities";
import { latest } from "../../protocol/asking";
import { keysOf } from "../../protocol/meta";
import { arrayOf, itemAt } from "../../protocol/required";
import type { Quantity } from "../../state/selection";
import type { ViewContext } from "../../views/contract";
import type { GridCells } from "./paint";

/** Up to here a kernel is asked for the matrices of all layers, and for value zeroing of all layers. */
const TOKENS_MAX = { quick: 256, slow: 32 } as const;

export function layerStrips(
  host: Element,
  { source, matrix, signal }: ViewContext,
  changed: () => void,
) {
  const n = source.meta.tokens.text.length;
  const { special, text } = keysOf(source.meta);
  const m = text.length;
  /** By quantity and layer. */
  const byQuantity = new Map<string, Float32Array>();
  const next = latest(signal);
  let shown: Quantity = "weights";

  /** Layers one after the other: the kernel answers other questions in between. */
  async function collect(quantity: Quantity, signal: AbortSignal): Promise<void> {
    const slow = mixingOf(quantity) === "value_zeroing";
    if (source.live && Math.max(n, m) > TOKENS_MAX[slow ? "slow" : "quick"]) return;
    for (let layer = 0; layer < source.meta.model.n_layers; layer++) {
      const key = `${quantity} ${layer}`;
      if (byQuantity.has(key)) continue;
      try {
        const slice = await source.ask(matrixRequest({ layer, head: "mean", quantity }), {
          signal,
        });
        if (signal.aborted) return;
        byQuantity.set(
          key,
          received(
            arrayOf(slice, "weights").data as Float32Array,
            n,
            m,
            slice.arrays.get("allowed")?.data,
          ),
        );
        changed();
      } catch {
        // The cell stays empty: a page may lack this layer.
        if (signal.aborted) return;
      }
    }
  }

  matrix.on(({ quantity }) => {
    if (quantity === shown) return;
    shown = quantity;
    const untilNext = next();
    if (!hasHead(shown)) void collect(shown, untilNext);
  }, signal);

  return {
    paint(context: CanvasRenderingContext2D, { layers, heads, cell, step, side }: GridCells) {
      const { css } = ramp("weight", modeOf(host));
      const length = heads * step - (step - cell);
      /** The strip of a layer from `from` to `to`, along the heads. */
      const strip = (layer: number, from: number, to: number) =>
        side
          ? ([layer * step, from, cell, to - from] as const)
          : ([from, layer * step, to - from, cell] as const);
      context.strokeStyle = palette(host).line;
      for (let layer = 0; layer < layers; layer++) {
        const values = byQuantity.get(`${shown} ${layer}`);
        if (values === undefined) {
          const [x, y, width, height] = strip(layer, 0, length);
          context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
          continue;
        }
        // As between words: a special token may pass the end of the ramp.
        const words = values.filter((_, i) => !special[i]);
        const most = maximum(words.length > 0 ? words : values) || 1;
        values.forEach((value, i) => {
          const [from, to] = [Math.round((i / m) * length), Math.round(((i + 1) / m) * length)];
          context.fillStyle = itemAt(css, Math.round(Math.min(1, value / most) * (RAMP_SIZE - 1)));
          context.fillRect(...strip(layer, from, to));
        });
      }
    },
  };
}

declare module "../../views/contract" {
  interface LazyCode {
    readonly layerStrips: typeof layerStrips;
  }
}
