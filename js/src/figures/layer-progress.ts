/** Figures of all heads of a long text: they come layer by layer, into the arrays of the first paint. */

import { Task } from "../protocol/task";
import type { Source } from "../protocol/types";

/** Layers on their way into the arrays of the first paint. */
export type LayerProgress = Task<null>;

/** Starts asking for the layers that the first paint of `source` lacks; null where it has all. */
export function startLayerProgress(source: Source, until: AbortSignal): LayerProgress | null {
  const { computed, model } = source.meta;
  const total = model.n_layers;
  if (computed === undefined || computed.length >= total) return null;
  let done = computed.length;
  const layerProgress: LayerProgress = new Task(
    async ({ signal, progress }) => {
      progress(done, total);
      while (done < total) {
        const { data, arrays } = await source.ask({ kind: "heads", start: done }, { signal });
        const layers = data.layers as readonly number[];
        for (const [name, { data: part }] of arrays) {
          const whole = source.arrays.get(name)?.data;
          const size = part.length / layers.length;
          layers.forEach((layer, i) => {
            whole?.set(part.subarray(i * size, (i + 1) * size), layer * size);
          });
        }
        done += layers.length;
        progress(done, total);
      }
      return null;
    },
    until,
    { done, total },
  );
  void layerProgress.start();
  return layerProgress;
}

/** True if the thumbnail of the `index`-th head of all is here. */
export const isComputed = ({ arrays }: Source, index: number): boolean =>
  !Number.isNaN(arrays.get("head_max")?.data[index]);
