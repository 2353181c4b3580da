/** Figures of all heads of a long text: they come layer by layer, into the arrays of the first paint. */

import { explain, isAbort } from "../protocol/failure";
import type { Filling, SliceRequest, Source } from "../protocol/types";
import { listen } from "../state/listen";

/** Starts asking for the layers that the first paint of `source` lacks; null where it has all. */
export function startFilling(source: Source, signal: AbortSignal): Filling | null {
  const { computed, model } = source.meta;
  if (computed === undefined || computed.length >= model.n_layers) return null;
  const listeners = new Set<() => void>();
  const filling = {
    done: computed.length,
    total: model.n_layers,
    state: "running" as Filling["state"],
    message: "",
    on: (listener: () => void, until?: AbortSignal) => listen(listeners, listener, until),
    toggle() {
      if (filling.state === "running") asking?.abort();
      else void ask();
    },
  };
  const notify = (): void => {
    for (const listener of listeners) listener();
  };
  let asking: AbortController | null = null;
  signal.addEventListener("abort", () => asking?.abort());

  async function ask(): Promise<void> {
    const mine = new AbortController();
    asking = mine;
    filling.state = "running";
    notify();
    try {
      while (filling.done < filling.total) {
        const request: SliceRequest = { kind: "heads", start: filling.done };
        const { data, arrays } = await source.slice(request, { signal: mine.signal });
        const layers = data.layers as readonly number[];
        for (const [name, { data: part }] of arrays) {
          const whole = source.arrays.get(name)?.data;
          const size = part.length / layers.length;
          layers.forEach((layer, i) => {
            whole?.set(part.subarray(i * size, (i + 1) * size), layer * size);
          });
        }
        filling.done += layers.length;
        notify();
      }
      filling.state = "done";
    } catch (error) {
      filling.state = "stopped";
      filling.message = isAbort(error) ? "" : explain(error).message;
    }
    if (!signal.aborted) notify();
  }
  void ask();
  return filling;
}

/** Whether the thumbnail of the `index`-th head of all is here. */
export const isFilled = ({ arrays }: Source, index: number): boolean =>
  !Number.isNaN(arrays.get("head_max")?.data[index]);
