/** Parts of the page that are drawn in another way over a long text; their code comes with the lazy views. */

import { barsOf, markAxes, markRibbon } from "./draw/long/overlaps";
import { windowOf } from "./figures/long/windows";
import { fillingLine } from "./frame/long/filling";
import { longFocus } from "./frame/long/focus";
import { longRibbon } from "./frame/long/ribbon";
import { longAttention } from "./views/attention/long/view";
import type { LongParts, WindowParts } from "./views/contract";
import { longTree } from "./views/tree/long";

export const long: LongParts = {
  ribbon: longRibbon,
  focus: longFocus,
  filling: fillingLine,
  views: { attention: longAttention, tree: longTree },
};

export const windows: WindowParts = {
  name: windowOf,
  axes: markAxes,
  bars: barsOf,
  ribbon: markRibbon,
};
