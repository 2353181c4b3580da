/** A long matrix in tiles, its minimap, and its links in view. */

import { type Palette, palette } from "../../../draw/color/theme";
import { h } from "../../../draw/dom";
import { windowsOf } from "../../../draw/heatmap/axis";
import { drawFlow } from "../../../draw/heatmap/flow";
import { Heatmap } from "../../../draw/heatmap/heatmap";
import { type Cell, type Geometry, NO_HIGHLIGHTS } from "../../../draw/heatmap/types";
import { paintHits } from "../../../draw/long/axis-labels";
import { layoutLong } from "../../../draw/long/layout";
import { flowLinks, linksInView } from "../../../draw/long/long-flow";
import { minimap } from "../../../draw/long/minimap";
import { markAxes } from "../../../draw/long/overlaps";
import { levelOf, pooledRows, TileImages } from "../../../draw/long/tile-images";
import { keyOfLong, type LongMatrix, topOfLong } from "../../../figures/long/store";
import { spokenMatrix } from "../../../figures/names";
import { flowWidth, layoutPictures } from "../layout";
import { type Block, blockUnder, colorsOf } from "./block";
import type { LongModel } from "./model";

/** Room for a label of the flow (px). */
const FLOW_LABEL = 96;
const LEAST_HEIGHT = 380;

export class LongPictures {
  readonly map: Heatmap;
  readonly overview;
  readonly tiles = new TileImages();
  readonly flow = h("canvas", { class: "aw-flow", role: "img", "data-aw-part": "flow" });
  readonly element: HTMLElement;
  #colors: Palette | null = null;
  #width = 0;
  #wide = true;

  constructor(
    readonly root: HTMLElement,
    readonly model: LongModel,
    events: { hover(cell: Cell | null): void; pick(cell: Cell): void },
  ) {
    const { store, context } = model;
    this.map = new Heatmap(
      {
        ...events,
        drawn: (geometry) => this.#drawn(geometry),
        marks(pen, geometry, found) {
          const { hits, at } = store.hits.peek();
          paintHits(pen, geometry, found, hits, at);
        },
      },
      context.signal,
      "aw-map aw-long-map",
    );
    this.overview = minimap(
      "Window of the text",
      {
        moved: (lane, window) => {
          if (this.map.geometry === null) return;
          const { rows, columns } = windowsOf(this.map.geometry);
          if (lane === 0) this.map.look(window, columns);
          else this.map.look(rows, window);
        },
        brushed: (window) => this.map.look(window, window),
      },
      context.signal,
    );
    this.element = h("div", { class: "aw-pictures" }, this.map.element, this.flow);
  }

  get #palette(): Palette {
    this.#colors ??= palette(this.root);
    return this.#colors;
  }

  show(next: LongMatrix): void {
    const { model, map } = this;
    const pooling = model.pooling.value;
    this.tiles.reset(
      { ...next, top: next.top[pooling] },
      {
        ask: (place, until) => model.store.tile(next, place, pooling, until),
        arrived: () => map.redraw(),
        failed: model.fail,
      },
      colorsOf(next, pooling, model.context.state.get().scale, this.#palette.mode),
    );
    const named = spokenMatrix(keyOfLong(next));
    map.element.setAttribute(
      "aria-label",
      `Attention of ${named}, ${next.rows} by ${next.columns}. Arrow keys move over cells, ` +
        "plus and minus zoom, Enter pins a cell, s goes to the strongest link of the focus token.",
    );
    this.flow.setAttribute("aria-label", `Links of ${named} in view, as lines`);
  }

  draw(): void {
    const { matrix, context, text, pooling } = this.model;
    const shown = matrix.value;
    if (shown === null) return;
    const { rows, columns, rest, received } = shown;
    const { scale } = context.state.get();
    this.map.show({
      rows,
      columns,
      layout: (_, room) => layoutLong(shown, rest !== null, room),
      paint: (pen, geometry, found) => this.tiles.paint(pen, geometry, found),
      text,
      axes: null,
      marginal: received,
      marginalName: "received",
      marginalTop: "sight",
      rest:
        rest &&
        ((g) => {
          const level = levelOf(g, shown.coarsest);
          const values = pooledRows(rest, level, pooling.value);
          const track = { ...g.rows, size: g.rows.size * 2 ** level, count: values.length };
          return { values, max: topOfLong(shown, scale), scale, rows: track };
        }),
      boundaries: { rows: [], columns: [] },
    });
  }

  /** The parts around the map follow its window. */
  #drawn(geometry: Geometry): void {
    const { matrix, level, labels, text, row, store, tokens, context } = this.model;
    const shown = matrix.value;
    if (shown === null) return;
    const view = windowsOf(geometry);
    level.value = levelOf(geometry, shown.coarsest);
    labels.value = text.rows.level(Math.min(geometry.rows.size, geometry.columns.size));
    markAxes(this.map, context.source.meta);
    this.overview.show({
      size: tokens.text.length,
      values: row?.values ?? shown.received,
      base: shown.received,
      top: shown.wordMax,
      breaks: text.breaks,
      hits: store.hits.peek().hits.map(([from]) => from),
      focus: context.state.get().token ?? -1,
      lanes: [
        { name: "queries", window: view.rows },
        { name: "keys", window: view.columns },
      ],
    });
    this.flow.hidden = !this.#wide;
    if (this.#wide && shown.quantity !== "scores") this.#drawFlow(shown, geometry);
  }

  #drawFlow(shown: LongMatrix, geometry: Geometry): void {
    const { row, links, text, drawnLinks, leaving, context } = this.model;
    const { token, scale, pair } = context.state.get();
    const focus = token ?? -1;
    const view = windowsOf(geometry);
    const { inside, leaving: beyond } = linksInView(flowLinks(row, links), view, focus);
    const best = focus < 0 ? [] : inside.filter(({ query }) => query === focus);
    drawFlow(
      this.flow,
      flowWidth(geometry, this.#width, true),
      {
        links: inside,
        leaving: beyond,
        max: topOfLong(shown, scale),
        scale,
        text,
        axes: { rows: "query", columns: "key" },
        longest: { rows: FLOW_LABEL, columns: FLOW_LABEL, names: 0 },
        rowLeast: 3,
        faint: 0.08,
      },
      geometry,
      {
        ...NO_HIGHLIGHTS,
        row: focus,
        pair: pair && { row: pair[0], column: pair[1] },
        group: { rows: [], columns: best.map(({ key }) => key).reverse() },
      },
      this.#palette,
    );
    drawnLinks.value = inside.length;
    leaving.value = beyond.length;
  }

  /** Another focus token or pair. */
  mark(): void {
    const { token, pair } = this.model.context.state.get();
    this.map.highlight({
      row: token ?? -1,
      pair: pair === null ? null : { row: pair[0], column: pair[1] },
    });
    this.map.redraw();
  }

  /** The block of a cell on the level that is drawn. */
  blockAt(cell: Cell): Block | null {
    const { matrix, pooling } = this.model;
    const shown = matrix.value;
    if (shown === null || this.map.geometry === null) return null;
    return blockUnder(cell, levelOf(this.map.geometry, shown.coarsest), ({ level, ...place }) =>
      level === shown.coarsest ? shown.top[pooling.value] : this.tiles.get({ level, ...place }),
    );
  }

  layout(width = this.#width): void {
    const room = layoutPictures(width, this.model.context.state.get().height);
    this.#width = width;
    this.#wide = room.wide;
    this.root.classList.toggle("aw-wide", room.wide);
    this.overview.resize(width);
    this.map.resize(room.width, Math.max(room.height, LEAST_HEIGHT));
  }

  recolor(): void {
    this.#colors = null;
    this.overview.recolor();
    this.map.recolor();
  }
}
