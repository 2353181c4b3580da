/** Overlays of every head: a thumbnail each, on one canvas below real buttons. */

import { computed, type ReadonlySignal } from "@preact/signals-core";
import { fitCanvas } from "../../draw/canvas";
import { formatPercent } from "../../figures/format";
import { spokenHead } from "../../figures/names";
import { navigateGrid } from "../../marks/navigate";
import { Button } from "../../ui/controls";
import { memo } from "../../ui/memo";
import { watch } from "../../ui/mount";
import { rowOfHead } from "./data";
import { AXIS, thumbLayout, thumbsSize } from "./layout";
import { groundSignal, type ImageModel } from "./model";
import { areaOf, paintThumbs, thumbPlace } from "./paint";
import { shareOfPatches, topOfPatches } from "./values";

export function createThumbs(
  host: HTMLElement,
  model: ImageModel,
  width: ReadonlySignal<number>,
  until: AbortSignal,
) {
  const { grid, picture, rows, selection, peeked, source } = model;
  const { n_layers: layers, n_heads: heads } = source.meta.model;
  const layout = computed(() => {
    const found = picture.answer.value;
    const [, , across, down] =
      found === null ? [0, 0, grid.columns, grid.rows] : areaOf(grid, found);
    return thumbLayout(width.value, { layers, heads, ratio: across / down });
  });
  const ground = groundSignal(host, model, until);
  let canvas: HTMLCanvasElement | null = null;

  const navigation = navigateGrid({
    attributes: ["layer", "head"],
    extent: () => [layers, heads],
    pick: ({ row, column }) => model.pickHead([row, column]),
  });
  watch(() => {
    const { layer, head } = selection.value;
    navigation.entry.value = { row: layer, column: head === "mean" ? 0 : head };
  }, until);
  watch(() => {
    const at = navigation.pointed.value;
    peeked.value = at === null || rows.answer.value === null ? null : [at.row, at.column];
  }, until);

  const Buttons = memo(function Buttons() {
    const { layer: chosen, head: at } = selection.value;
    const { row, column } = navigation.entry.value;
    const sizes = layout.value;
    const found = rows.answer.value;
    return (
      <>
        {Array.from({ length: layers * heads }, (_, i) => {
          const [layer, head] = [Math.floor(i / heads), i % heads];
          const [x, y] = thumbPlace(sizes, i);
          const share = found && shareOfPatches(rowOfHead(found, layer, head), grid);
          return (
            <Button
              key={i}
              class="aw-thumb"
              part="thumb"
              data-layer={layer}
              data-head={head}
              tabIndex={layer === row && head === column ? 0 : -1}
              aria-pressed={layer === chosen && (at === head || at === "mean")}
              label={`${spokenHead(layer, head)}${share === null ? "" : `: patches get ${formatPercent(share, 2)}`}`}
              style={{
                left: `${x}px`,
                top: `${y}px`,
                width: `${sizes.width}px`,
                height: `${sizes.height}px`,
              }}
            />
          );
        })}
      </>
    );
  });

  const Numbers = memo(function Numbers() {
    const sizes = layout.value;
    const { columns, rows: down } = thumbsSize(sizes);
    const label = (i: number, side: boolean) => {
      const shift = i * ((side ? sizes.height : sizes.width) + sizes.gap);
      const isLayer = side !== sizes.side;
      return (
        <span
          key={`${side}${i}`}
          class={`aw-thumbs-number aw-number ${side ? "is-row" : "is-column"}`}
          style={
            side
              ? { top: `${shift}px`, height: `${sizes.height}px` }
              : { left: `${shift}px`, width: `${sizes.width}px` }
          }
        >
          {isLayer ? "L" : "H"}
          {i}
        </span>
      );
    };
    return (
      <div aria-hidden="true">
        {Array.from({ length: columns }, (_, i) => label(i, false))}
        {Array.from({ length: down }, (_, i) => label(i, true))}
      </div>
    );
  });

  const Thumbs = memo(function Thumbs() {
    const size = thumbsSize(layout.value);
    return (
      <div class="aw-thumbs-scroll">
        <div
          class="aw-thumbs"
          role="group"
          aria-label="What every head gives the patches"
          aria-busy={rows.busy.value ? "true" : undefined}
          data-aw-part="thumbs"
          style={{
            width: `${size.width}px`,
            height: `${size.height}px`,
            marginLeft: `${AXIS}px`,
          }}
          {...navigation.props}
        >
          <canvas
            class="aw-thumbs-canvas"
            aria-hidden="true"
            ref={(element) => {
              canvas = element;
            }}
          />
          <Buttons />
          <Numbers />
        </div>
      </div>
    );
  });

  /** Called once the canvas is in the page. */
  function paint(): void {
    const [found, at] = [picture.answer.value, rows.answer.value];
    const [sizes, scale] = [layout.value, model.scale.value];
    if (canvas === null || found === null || at === null) return;
    const under = ground.value;
    if (under === null) return;
    const { width: wide, height: high } = thumbsSize(sizes);
    const pen = fitCanvas(canvas, wide, high);
    paintThumbs(
      pen,
      sizes,
      grid,
      found,
      under.ground,
      (index) => rowOfHead(at, Math.floor(index / heads), index % heads),
      (values) => topOfPatches(values, grid),
      { scale, mode: under.mode, signed: false },
    );
  }
  return { Thumbs, follow: () => watch(paint, until) };
}
