/** A long text's matrix: levels of detail by tiles, a minimap to find one's way, links in view, what is found. */

import { onTheme, type Palette, palette } from "../../../draw/color/theme";
import { h } from "../../../draw/dom";
import type { Cell, Geometry } from "../../../draw/heatmap/types";
import { type AxisText, levelOfLabels, paintAxes, paintHits } from "../../../draw/long/axis-labels";
import { drawLongFlow, flowLinks } from "../../../draw/long/long-flow";
import { LongMap, type View } from "../../../draw/long/long-map";
import { minimap } from "../../../draw/long/minimap";
import { markAxes } from "../../../draw/long/overlaps";
import { type ColorsAt, TileImages } from "../../../draw/long/tile-images";
import { onResize } from "../../../draw/resize";
import { outlineOf } from "../../../figures/long/labels";
import { unitLabelOf } from "../../../figures/long/names";
import {
  keyOfLong,
  type LinkList,
  type LongMatrix,
  type LongRow,
  longStore,
  type Pooling,
  topOfLong,
} from "../../../figures/long/store";
import { spokenMatrix } from "../../../figures/names";
import { explain, isAbort } from "../../../protocol/failure";
import type { ViewContext, ViewHandle } from "../../contract";
import { factsOf } from "../facts";
import { askLanguage } from "../language";
import { flowWidth, layoutPictures } from "../layout";
import { blockUnder, colorsOf, strongestIn } from "./blocks";
import { type Block, blockCard, placeCard } from "./card";
import { longControls } from "./controls";
import { finder } from "./finder";
import { hitList } from "./hits";
import { listenToLongMap } from "./keys";
import { strongestList } from "./list";
import { pairCard } from "./pair";
import { linkTable, partOf, writeRow } from "./words";

/** Links of the whole head that the flow draws from; those of the focus come besides. */
const FLOW_LINKS = 400;

export function longAttention(element: HTMLElement, stage: ViewContext): ViewHandle {
  const { source, state, signal } = stage;
  const { tokens } = source.meta;
  const size = tokens.text.length;
  const store = longStore(source, state, { ...stage, signal: stage.runSignal ?? signal });
  const name = unitLabelOf(tokens);
  let text: AxisText = { tokens, outline: outlineOf(tokens), token: name };
  let matrix: LongMatrix | null = null;
  let pooling: Pooling = "max";
  let tileColors: ColorsAt | null = null;
  let row: LongRow | null = null;
  let links: LinkList | null = null;
  let cursor: Cell | null = null;
  let colors: Palette | null = null;
  let width = 0;
  let wide = true;

  const tiles = new TileImages();
  const map = new LongMap(
    {
      hover,
      pick: (cell) => void pick(cell),
      drawn: (view, geometry) => drawn(view, geometry),
      labels(context, geometry, found, view) {
        paintAxes(context, geometry, found, view, text, {
          rows: [state.get().token ?? -1, cursor?.row ?? -1],
          columns: [state.get().pair?.[1] ?? -1, cursor?.column ?? -1],
        });
        const { hits, at } = store.hits.get();
        paintHits(context, geometry, found, view, hits, at);
      },
    },
    tiles,
    signal,
  );
  const controls = longControls(element, stage, {
    zoom: (factor) => (factor === null ? map.resetZoom() : map.zoomBy(factor, cursor)),
    pool(next) {
      pooling = next;
      if (matrix !== null) showMatrix(matrix);
    },
    pooling: () => pooling,
  });
  const find = finder(stage, {
    found: () => store.hits.set(find.hits(), find.at()),
    go([from, to]) {
      store.hits.set(find.hits(), find.at());
      state.set({ token: from });
      const middle = Math.floor((from + to) / 2);
      // Its own column too: other keys may be ones that its window or mask forbids.
      map.reveal({ row: middle, column: middle }, true);
    },
    weight: (least) => list.from(least),
  });
  const hits = hitList(tokens, (index) => find.go(index), signal);
  const overview = minimap(
    "Window of the text",
    {
      moved(lane, window) {
        const view = map.view;
        if (view === null) return;
        if (lane === 0) map.look(window, view.columns);
        else map.look(view.rows, window);
      },
      brushed: (window) => map.look(window, window),
    },
    signal,
  );
  const list = strongestList(stage, name, { changed: askLinks, go: goTo, error: store.error });
  const facts = factsOf(source, () => null);
  const pair = pairCard(element, stage, store, () => state.set({ pair: null }));
  const tip = h("div", { class: "aw-tip", role: "presentation", hidden: true });
  const flow = h("canvas", { class: "aw-flow", role: "img", "data-aw-part": "flow" });
  const sentence = h("p", { class: "aw-sentence", "data-aw-part": "sentence" });
  map.element.append(tip);
  const pictures = h("div", { class: "aw-pictures" }, map.element, flow);
  element.classList.add("aw-long");
  element.append(
    controls.head,
    h("div", { class: "aw-long-find" }, find.element),
    sentence,
    overview.element,
    controls.tools,
    pictures,
    h("div", { class: "aw-below" }, pair.element, hits.element, list.element),
  );

  function showMatrix(next: LongMatrix): void {
    const started = performance.now();
    const first = matrix === null;
    const other = next !== matrix;
    matrix = next;
    colors ??= palette(element);
    tileColors = colorsOf(next, pooling, state.get().scale, colors.mode);
    tiles.reset(
      {
        ask: (place, until) => store.tile(next, place, pooling, until),
        arrived: () => map.redraw(),
        failed: fail,
      },
      tileColors,
    );
    controls.show(next);
    map.element.setAttribute(
      "aria-label",
      `Attention of ${spokenMatrix(keyOfLong(next))}, ${size} by ${size}. Arrow keys move over cells, ` +
        "plus and minus zoom, Enter pins a cell, s goes to the strongest link of the focus token.",
    );
    flow.setAttribute("aria-label", `Links of ${spokenMatrix(keyOfLong(next))} in view, as lines`);
    if (other) {
      row = null;
      links = null;
    }
    draw();
    if (other) {
      askRow();
      askLinks();
    }
    performance.mark("aw:drawn", {
      detail: { ms: performance.now() - started, size, first, layer: next.layer, head: next.head },
    });
  }

  function draw(): void {
    if (matrix === null || tileColors === null) return;
    map.show({
      size,
      coarsest: matrix.coarsest,
      top: matrix.top[pooling],
      colors: tileColors,
      received: matrix.received,
      breaks: text.outline.paragraphs.map(({ from }) => from),
    });
  }

  function fail(error: unknown): void {
    if (isAbort(error)) return;
    const { message, hint } = explain(error);
    stage.report(message, hint);
  }

  function askRow(): void {
    const shown = matrix;
    const { token } = state.get();
    if (shown === null || token === null) {
      row = null;
      mark();
      return;
    }
    store
      .row(shown, token, signal)
      .then((found) => {
        if (matrix !== shown || state.get().token !== token) return;
        row = found;
        mark();
      })
      .catch(fail);
  }

  function askLinks(): void {
    const shown = matrix;
    if (shown === null) return;
    const { least, ...choice } = list.choice();
    list.wait();
    store
      .links(shown, { count: FLOW_LINKS, least, ...choice }, signal)
      .then((found) => {
        if (matrix !== shown) return;
        links = found;
        list.show(found);
        map.redraw();
      })
      .catch((error: unknown) => {
        if (!isAbort(error)) list.fail(explain(error).message);
      });
  }

  function drawn(view: View, geometry: Geometry): void {
    if (matrix === null) return;
    const labels = levelOfLabels(text, view.pixels);
    controls.level(matrix, view.level, labels);
    markAxes(map, source.meta);
    const { token, scale, pair: pinned } = state.get();
    overview.show({
      size,
      values: row?.values ?? matrix.received,
      base: matrix.received,
      top: matrix.wordMax,
      breaks: text.outline.paragraphs.map(({ from }) => from),
      hits: store.hits.get().hits.map(([from]) => from),
      focus: token ?? -1,
      lanes: [
        { name: "queries", window: view.rows },
        { name: "keys", window: view.columns },
      ],
    });
    flow.hidden = !wide;
    if (!wide || matrix.quantity === "scores") return;
    colors ??= palette(element);
    const { drawn: count, leaving } = drawLongFlow(
      flow,
      flowWidth(geometry, width, true),
      {
        links: flowLinks(row, links),
        focus: token ?? -1,
        pair: pinned,
        top: topOfLong(matrix, scale),
        scale,
      },
      geometry,
      view,
      text,
      colors,
    );
    controls.links(count, leaving);
  }

  function mark(): void {
    const { token, pair: pinned } = state.get();
    map.highlight({
      row: token ?? -1,
      pair: pinned === null ? null : { row: pinned[0], column: pinned[1] },
    });
    map.redraw();
    list.mark(pinned);
    if (matrix !== null) pair.show(matrix, row);
    say();
  }

  function say(): void {
    const { quantity } = matrix ?? {};
    writeRow(sentence, quantity === "scores" ? null : row, tokens, name, store);
  }

  function hover(cell: Cell | null): void {
    if (cell?.row === cursor?.row && cell?.column === cursor?.column) return;
    cursor = cell;
    map.highlight({ hover: cell });
    showTip();
  }

  const blockAt = (cell: Cell): Block | null => {
    const view = map.view;
    if (matrix === null || view === null) return null;
    return blockUnder(cell, view.level, ({ level, ...place }) =>
      level === matrix?.coarsest ? matrix.top[pooling] : tiles.get({ level, ...place }),
    );
  };

  function showTip(): void {
    const block = cursor === null || cursor.row < 0 || cursor.column < 0 ? null : blockAt(cursor);
    tip.hidden = block === null;
    if (block === null || cursor === null || matrix === null) return;
    tip.replaceChildren(
      blockCard(block, size, pooling, matrix, name, store.error(block.value ?? 0), facts.window),
    );
    placeCard(tip, map.boxOf(cursor), map.element.clientWidth);
  }

  /** A cell pins its pair; of a block, its strongest link. A label makes its token the focus. */
  async function pick(cell: Cell): Promise<void> {
    const { token, pair: pinned } = state.get();
    if (cell.row < 0 || cell.column < 0) {
      const chosen = cell.row >= 0 ? cell.row : cell.column;
      state.set({ token: token === chosen ? null : chosen });
      return;
    }
    const block = blockAt(cell);
    if (block === null || matrix === null || Number.isNaN(block.value)) return;
    const [query, key] =
      block.level === 0
        ? [cell.row, cell.column]
        : await strongestIn(store, matrix, block, signal).catch((error: unknown) => {
            fail(error);
            return [block.query, block.key] as const;
          });
    const same = pinned !== null && pinned[0] === query && pinned[1] === key;
    state.set({ token: query, pair: same ? null : [query, key] });
  }

  function goTo(query: number, key: number): void {
    state.set({ token: query, pair: [query, key] });
    map.reveal({ row: query, column: key }, true);
  }

  listenToLongMap(element, map, {
    matrix: () => matrix,
    row: () => row,
    cursor: () => cursor,
    hover,
    pick: (cell) => void pick(cell),
    goTo,
    find: () => find.focus(),
    stage,
    name,
    value: (cell) => blockAt(cell)?.value ?? null,
  });

  function layout(next: number): void {
    width = next;
    const room = layoutPictures(width, state.get().height);
    wide = room.wide;
    element.classList.toggle("aw-wide", wide);
    overview.resize(width);
    map.resize(room.width, Math.max(room.height, 380));
  }

  store.on(showMatrix, signal);
  store.hits.on(() => {
    const { hits: found, at } = store.hits.get();
    hits.show(found, at);
    map.redraw();
  }, signal);
  state.on(["token"], askRow, signal);
  state.on(["pair"], mark, signal);
  state.on(["scale"], () => matrix !== null && showMatrix(matrix), signal);
  state.on(["height"], () => layout(width), signal);
  onResize(element, layout, signal);
  onTheme(
    element,
    () => {
      colors = null;
      map.recolor();
      overview.recolor();
      if (matrix !== null) showMatrix(matrix);
    },
    signal,
  );
  askLanguage(source, signal, ({ sentence: column }) => {
    text = { ...text, outline: outlineOf(tokens, column) };
    draw();
  });
  return {
    dispose() {
      tiles.stop();
      element.replaceChildren();
    },
    table: () => (links === null ? null : linkTable(links, name)),
    part: () => (map.view === null ? null : partOf(map.view, size)),
  };
}
