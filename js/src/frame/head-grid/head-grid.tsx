/** Every head at once: thumbnails or shades on one canvas, real buttons on top. */

import { computed } from "@preact/signals-core";
import { render } from "preact";
import { ROOT_CLASS } from "../../draw/color/theme";
import { onResize } from "../../draw/resize";
import { byTouch } from "../../draw/touch";
import { Select } from "../../ui/controls";
import { memo } from "../../ui/memo";
import { watch } from "../../ui/mount";
import { type ViewContext, withLazyCode } from "../../views/contract";
import { Foot } from "./foot";
import { Grid } from "./grid";
import { createGridInput } from "./input";
import { createGridModel, GAP } from "./model";
import { shadings } from "./shadings";

const AXIS = 26;
/** For a finger a cell has at least 24 px, and the grid scrolls where there is no room. */
const CELL = { least: 9, touch: 24, most: 28 } as const;
/** Height of all layers, px, above which cells are smaller: more is far taller than most views, and the list below out of sight. */
const TALL = 540;
/** Width of the widget, px: below, it is one column. */
const PHONE = 480;

export function headGrid(host: HTMLElement, context: ViewContext): () => void {
  const { state, signal: until } = context;
  const model = createGridModel(host, context);
  const { layers, heads, selection, layered, cell, parts, redraw } = model;
  const input = createGridInput(context, model);
  const options = shadings(context);
  const metric = computed(() => selection.value.metric);
  const Choice = memo(() => (
    <div class="aw-panel-head">
      <h3 class="aw-title">Heads</h3>
      <Select
        label="Figure that shades the heads"
        part="metric"
        options={options}
        value={metric.value}
        choose={(next) => state.set({ metric: next })}
        disabled={layered.value}
      />
    </div>
  ));
  render(
    <>
      <Choice />
      <Grid model={model} input={input} />
      <Foot model={model} input={input} />
    </>,
    host,
  );
  watch(redraw, until);
  onResize(
    host,
    (width) => {
      const room = Math.min((width - AXIS) / heads, TALL / layers) - GAP;
      const whole = host.closest<HTMLElement>(`.${ROOT_CLASS}`)?.clientWidth ?? Infinity;
      const least = byTouch() || whole < PHONE ? CELL.touch : CELL.least;
      cell.value = Math.max(least, Math.min(CELL.most, Math.floor(room)));
    },
    until,
  );
  withLazyCode(({ layerStrips, long }) => {
    parts.strips = layerStrips(host, context, redraw);
    if (parts.grid === undefined) return;
    long.layerProgress(context, parts.grid, (layer) => {
      model.filled.value++;
      model.paint(layer);
    });
    redraw();
  }, until);
  model.open();
  return () => render(null, host);
}
