/** Parts around the views that are drawn in another way over a long text; their code comes with the lazy views. */

import { barsOf, markAxes, markRibbon } from "./draw/long/overlaps";
import { longRows } from "./figures/long/row";
import { longStore } from "./figures/long/store";
import { windowOf } from "./figures/long/windows";
import { layerProgressLine } from "./frame/long/layer-progress";
import { overview } from "./frame/long/overview";
import type { RunContext } from "./views/contract";

export const long = {
  rows: ({ source, state, ...hosts }: RunContext) =>
    longRows(longStore(source, state, hosts), source, state, hosts.signal),
  overview,
  layerProgress: layerProgressLine,
};

/** Parts for a text that was read in windows. */
export const windows = {
  name: windowOf,
  axes: markAxes,
  bars: barsOf,
  ribbon: markRibbon,
};

declare module "./views/contract" {
  interface LazyCode {
    readonly long: typeof long;
    readonly windows: typeof windows;
  }
}
