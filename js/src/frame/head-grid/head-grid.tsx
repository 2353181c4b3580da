/** Every head at once: thumbnails or shades on one canvas, real buttons on top. */

import { computed, type ReadonlySignal } from "@preact/signals-core";
import { render } from "preact";
import { ROOT_CLASS } from "../../draw/color/theme";
import { onResize } from "../../draw/resize";
import { scrollAcross } from "../../draw/scroll";
import { byTouch } from "../../draw/touch";
import { itemAt } from "../../protocol/required";
import type { State } from "../../state/selection";
import { Select } from "../../ui/controls";
import { memo } from "../../ui/memo";
import { signalOf, watch } from "../../ui/mount";
import { type ViewContext, withLazyCode } from "../../views/contract";
import { Foot } from "./foot";
import { Grid } from "./grid";
import { createGridInput } from "./input";
import { createGridModel, GAP, type GridModel } from "./model";
import { shadings } from "./shadings";

const AXIS = 26;
/** For a finger a cell has at least 24 px, and the grid scrolls where there is no room. */
const CELL = { least: 9, touch: 24, most: 28 } as const;
/** Height of all layers, px, above which cells are smaller: more is far taller than most views, and the list below out of sight. */
const TALL = 540;
/** Width of the widget, px: below, it is one column. */
const PHONE = 480;

/** Width over which layers fade. */
const FADE = "24px";

/** Size of the cells of grids that are shown, which the next run's grid most likely has. */
const sizes = new WeakMap<HTMLElement, number>();

type ChoiceProps = Pick<GridModel, "layered"> & {
  readonly options: ReadonlySignal<ReturnType<typeof shadings>>;
  readonly metric: ReadonlySignal<string>;
  readonly state: State;
};

const Choice = memo(({ options, metric, layered, state }: ChoiceProps) => (
  <div class="aw-panel-head">
    <h3 class="aw-title">Heads</h3>
    <Select
      label="Figure that shades the heads"
      part="metric"
      options={options.value}
      value={metric.value}
      choose={(next) => state.set({ metric: next })}
      disabled={layered.value}
    />
  </div>
));

/** Draws the heads of a run, over those of the run before where they are still there: most of a hundred elements stay as they are. */
export function headGrid(host: HTMLElement, context: ViewContext): () => void {
  const { state, signal: until } = context;
  const model = createGridModel(host, context);
  const { side, columns, rows, about, shade, selection, layered, cell, parts, redraw } = model;
  const input = createGridInput(context, model);
  const pinned = signalOf(
    () => state.get().pair !== null,
    (changed) => state.on(["pair"], changed, until),
  );
  const options = computed(() => shadings(context, pinned.value));
  const metric = computed(() => selection.value.metric);
  cell.value = sizes.get(host) ?? 0;
  render(
    <>
      <Choice {...{ options, metric, layered, state }} />
      <Grid model={model} input={input} />
      <Foot model={model} input={input} />
    </>,
    host,
  );
  /** Layers out of sight on either side fade instead of being cut. */
  function fade(): void {
    if (!side || parts.grid === undefined) return;
    const { scrollLeft, scrollWidth, clientWidth, style } = parts.grid;
    style.setProperty("--aw-before", scrollLeft > 1 ? FADE : "0px");
    style.setProperty("--aw-after", scrollLeft + clientWidth < scrollWidth - 1 ? FADE : "0px");
  }
  onResize(
    host,
    (width) => {
      const room = Math.min((width - AXIS) / columns, TALL / rows) - GAP;
      const whole = host.closest<HTMLElement>(`.${ROOT_CLASS}`)?.clientWidth ?? Infinity;
      const least = byTouch() || whole < PHONE ? CELL.touch : CELL.least;
      cell.value = Math.max(least, Math.min(CELL.most, Math.floor(room)));
      sizes.set(host, cell.value);
      fade();
    },
    until,
  );
  // A grid that scrolls sideways follows the chosen head.
  watch(() => {
    const { layer, head } = selection.value;
    if (cell.value === 0) return;
    const column = side ? layer : head === "mean" ? 0 : head;
    const from = column * (cell.value + GAP);
    requestAnimationFrame(() => {
      if (parts.grid) scrollAcross(parts.grid, from, AXIS + from + 2 * (cell.value + GAP));
      fade();
    });
  }, until);
  parts.grid?.addEventListener("scroll", fade, { passive: true, signal: until });
  let drawn = false;
  withLazyCode(({ headLens, layerStrips, long }) => {
    headLens(
      host,
      context,
      (index) => itemAt(about.peek(), index).title,
      () => shade.peek().figures === null && shade.peek().roles === null && !layered.peek(),
    );
    parts.strips = layerStrips(host, context, redraw);
    if (parts.grid === undefined) return;
    long.layerProgress(context, parts.grid, (layer) => {
      model.filled.value++;
      model.paint(layer);
    });
    if (drawn) redraw();
  }, until);
  watch(redraw, until);
  drawn = true;
  model.open();
  return () => {
    sizes.delete(host);
    render(null, host);
  };
}
