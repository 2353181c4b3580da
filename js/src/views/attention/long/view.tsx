/** A long text's matrix: levels of detail by tiles, a minimap to find one's way, links in view, what is found. */

import { signal, untracked } from "@preact/signals-core";
import { render } from "preact";
import { onTheme, type Palette, palette } from "../../../draw/color/theme";
import { h } from "../../../draw/dom";
import { windowsOf } from "../../../draw/heatmap/axis";
import { drawFlow } from "../../../draw/heatmap/flow";
import { Heatmap } from "../../../draw/heatmap/heatmap";
import { type Cell, type Geometry, NO_HIGHLIGHTS } from "../../../draw/heatmap/types";
import { outlineText, paintHits } from "../../../draw/long/axis-labels";
import { layoutLong } from "../../../draw/long/layout";
import { flowLinks, linksInView } from "../../../draw/long/long-flow";
import { minimap } from "../../../draw/long/minimap";
import { markAxes } from "../../../draw/long/overlaps";
import { type ColorsAt, levelOf, pooledRows, TileImages } from "../../../draw/long/tile-images";
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
import { keysOf } from "../../../protocol/meta";
import { modeSignal, mount, onChange, selectionOf, watch } from "../../../ui/mount";
import type { ViewContext, ViewHandle } from "../../contract";
import { askLanguage, factsOf } from "../facts";
import { flowWidth, layoutPictures } from "../layout";
import { type Block, BlockCard, blockUnder, colorsOf, placeCard, strongestIn } from "./block";
import { LongHead, LongTools } from "./controls";
import { finder } from "./finder";
import { listenToLongMap } from "./keys";
import { Hits, type LinkChoice, Strongest } from "./lists";
import { pairCard } from "./pair";
import { linkTable, partOf, RowSentence } from "./words";

/** Links of the whole head that the flow draws from; those of the focus come besides. */
const FLOW_LINKS = 400;
/** Room for a label of the flow (px). */
const FLOW_LABEL = 96;

export function longAttention(element: HTMLElement, context: ViewContext): ViewHandle {
  const { source, state, signal: until } = context;
  const { tokens } = source.meta;
  const size = tokens.text.length;
  const store = longStore(source, state, { ...context, signal: context.runSignal ?? until });
  const keys = keysOf(source.meta);
  const name = unitLabelOf(tokens);
  const keyName = keys === tokens ? name : unitLabelOf(keys);
  type Sentences = Parameters<typeof outlineOf>[1];
  const textsOf = (sentence?: Sentences, keySentence?: Sentences) => {
    const outline = outlineOf(tokens, sentence);
    const rows = outlineText(tokens, outline, name);
    const columns =
      keys === tokens ? rows : outlineText(keys, outlineOf(keys, keySentence), keyName);
    return { rows, columns, breaks: outline.paragraphs.map(({ from }) => from) };
  };
  let text = textsOf();
  const matrix = signal<LongMatrix | null>(null);
  const selection = selectionOf(state, ["quantity", "head", "scale", "pair"], until);
  const mode = modeSignal(element, until);
  const pooling = signal<Pooling>("max");
  const level = signal(0);
  const labels = signal("");
  const drawnLinks = signal(0);
  const leaving = signal(0);
  const explained = signal(false);
  let tileColors: ColorsAt | null = null;
  let row: LongRow | null = null;
  let links: LinkList | null = null;
  let cursor: Cell | null = null;
  let colors: Palette | null = null;
  let width = 0;
  let wide = true;

  const tiles = new TileImages();
  const map = new Heatmap(
    {
      hover,
      pick: (cell) => void pick(cell),
      drawn,
      marks(context, geometry, found) {
        const { hits, at } = store.hits.peek();
        paintHits(context, geometry, found, hits, at);
      },
    },
    until,
    "aw-map aw-long-map",
  );
  const head = h("div");
  const tools = h("div");
  const zoom = (factor: number | null): void =>
    factor === null ? map.resetZoom() : map.zoomBy(factor);
  function showHits(): void {
    const [hits, at] = [find.hits(), find.at()];
    const now = store.hits.peek();
    if (hits !== now.hits || at !== now.at) store.hits.value = { hits, at };
  }
  const find = finder(context, {
    found: showHits,
    go([from, to]) {
      showHits();
      state.set({ token: from });
      const middle = Math.floor((from + to) / 2);
      // Its own column too: other keys may be ones that its window or mask forbids.
      map.visit({ row: middle, column: middle });
    },
    weight(least) {
      choice.value = { ...choice.value, least };
    },
  });
  /** Links that are listed; those of another head stay until its own are here. */
  const listed = signal<LinkList | null>(null);
  const status = signal("");
  const choice = signal<LinkChoice>({
    special: false,
    neighbors: false,
    itself: false,
    least: null,
  });
  const lists = h("div");
  const overview = minimap(
    "Window of the text",
    {
      moved(lane, window) {
        if (map.geometry === null) return;
        const { rows, columns } = windowsOf(map.geometry);
        if (lane === 0) map.look(window, columns);
        else map.look(rows, window);
      },
      brushed: (window) => map.look(window, window),
    },
    until,
  );
  const facts = factsOf(source, () => null);
  const pair = pairCard(element, context, store);
  const tip = h("div", { class: "aw-tip", role: "presentation", hidden: true });
  const flow = h("canvas", { class: "aw-flow", role: "img", "data-aw-part": "flow" });
  const sentence = h("div");
  map.element.append(tip);
  const pictures = h("div", { class: "aw-pictures" }, map.element, flow);
  element.classList.add("aw-long");
  element.append(
    head,
    h("div", { class: "aw-long-find" }, find.element),
    sentence,
    overview.element,
    tools,
    pictures,
    h("div", { class: "aw-below" }, pair.element, lists),
  );

  mount(
    head,
    () => (
      <LongHead
        context={context}
        matrix={matrix.value}
        selection={selection.value}
        explained={explained}
      />
    ),
    until,
  );
  const values = { matrix, selection, mode, pooling, level, labels, leaving, zoom };
  mount(tools, () => <LongTools {...values} links={drawnLinks} />, until);

  mount(
    lists,
    () => (
      <>
        <Hits tokens={tokens} {...store.hits.value} go={find.go} />
        <Strongest
          {...{ meta: source.meta, choice, name, error: store.error, go: goTo }}
          links={listed.value}
          status={status.value}
          pair={selection.value.pair}
        />
      </>
    ),
    until,
  );

  function showMatrix(next: LongMatrix): void {
    const started = performance.now();
    const first = matrix.value === null;
    const other = next !== matrix.value;
    matrix.value = next;
    explained.value = false;
    colors ??= palette(element);
    tileColors = colorsOf(next, pooling.value, state.get().scale, colors.mode);
    tiles.reset(
      { ...next, top: next.top[pooling.value] },
      {
        ask: (place, until) => store.tile(next, place, pooling.value, until),
        arrived: () => map.redraw(),
        failed: fail,
      },
      tileColors,
    );
    map.element.setAttribute(
      "aria-label",
      `Attention of ${spokenMatrix(keyOfLong(next))}, ${next.rows} by ${next.columns}. Arrow keys move over cells, ` +
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
      detail: {
        ms: performance.now() - started,
        size: next.rows,
        first,
        layer: next.layer,
        head: next.head,
      },
    });
  }

  function draw(): void {
    const shown = matrix.value;
    if (shown === null) return;
    const { rows, columns, rest, received } = shown;
    const { scale } = state.get();
    map.show({
      rows,
      columns,
      layout: (_, room) => layoutLong(shown, rest !== null, room),
      paint: (context, geometry, found) => tiles.paint(context, geometry, found),
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

  function fail(error: unknown): void {
    if (isAbort(error)) return;
    context.report(error);
  }

  function askRow(): void {
    const shown = matrix.value;
    const { token } = state.get();
    if (shown === null || token === null) {
      row = null;
      mark();
      return;
    }
    store
      .row(shown, token, until)
      .then((found) => {
        if (matrix.value !== shown || state.get().token !== token) return;
        row = found;
        mark();
      })
      .catch(fail);
  }

  function askLinks(): void {
    const shown = matrix.value;
    if (shown === null) return;
    status.value = "looking …";
    store
      .links(shown, { count: FLOW_LINKS, ...choice.value }, until)
      .then((found) => {
        if (matrix.value !== shown) return;
        links = found;
        listed.value = found;
        status.value = "";
        map.redraw();
      })
      .catch((error: unknown) => {
        if (isAbort(error)) return;
        listed.value = null;
        status.value = explain(error).message;
      });
  }

  function drawn(geometry: Geometry): void {
    if (matrix.value === null) return;
    const view = windowsOf(geometry);
    level.value = levelOf(geometry, matrix.value.coarsest);
    labels.value = text.rows.level(Math.min(geometry.rows.size, geometry.columns.size));
    markAxes(map, source.meta);
    const { token, scale, pair: pinned } = state.get();
    overview.show({
      size,
      values: row?.values ?? matrix.value.received,
      base: matrix.value.received,
      top: matrix.value.wordMax,
      breaks: text.breaks,
      hits: store.hits.peek().hits.map(([from]) => from),
      focus: token ?? -1,
      lanes: [
        { name: "queries", window: view.rows },
        { name: "keys", window: view.columns },
      ],
    });
    flow.hidden = !wide;
    if (!wide || matrix.value.quantity === "scores") return;
    colors ??= palette(element);
    const focus = token ?? -1;
    const { inside, leaving: beyond } = linksInView(flowLinks(row, links), view, focus);
    const best = focus < 0 ? [] : inside.filter(({ query }) => query === focus);
    drawFlow(
      flow,
      flowWidth(geometry, width, true),
      {
        links: inside,
        leaving: beyond,
        max: topOfLong(matrix.value, scale),
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
        pair: pinned && { row: pinned[0], column: pinned[1] },
        group: { rows: [], columns: best.map(({ key }) => key).reverse() },
      },
      colors,
    );
    drawnLinks.value = inside.length;
    leaving.value = beyond.length;
  }

  function mark(): void {
    const { token, pair: pinned } = state.get();
    map.highlight({
      row: token ?? -1,
      pair: pinned === null ? null : { row: pinned[0], column: pinned[1] },
    });
    map.redraw();
    if (matrix.value !== null) pair.show(matrix.value, row);
    updateSentence();
  }

  function updateSentence(): void {
    const { quantity } = matrix.value ?? {};
    render(
      <RowSentence
        row={quantity === "scores" ? null : row}
        rest={row && (matrix.value?.rest?.[row.token] ?? null)}
        tokens={tokens}
        name={name}
        error={store.error}
        shares={quantity === "weights"}
      />,
      sentence,
    );
  }

  function hover(cell: Cell | null): void {
    if (cell?.row === cursor?.row && cell?.column === cursor?.column) return;
    cursor = cell;
    map.highlight({ hover: cell });
    showTip();
  }

  const blockAt = (cell: Cell): Block | null => {
    if (matrix.value === null || map.geometry === null) return null;
    return blockUnder(cell, levelOf(map.geometry, matrix.value.coarsest), ({ level, ...place }) =>
      level === matrix.value?.coarsest
        ? matrix.value.top[pooling.value]
        : tiles.get({ level, ...place }),
    );
  };

  function showTip(): void {
    const block = cursor === null || cursor.row < 0 || cursor.column < 0 ? null : blockAt(cursor);
    tip.hidden = block === null;
    if (block === null || cursor === null || matrix.value === null) return;
    const error = store.error(block.value ?? 0);
    render(
      <BlockCard
        {...{ block, pooling: pooling.value, matrix: matrix.value, name, keyName, error }}
        window={facts.window}
      />,
      tip,
    );
    const cell = map.boxOf(cursor);
    if (cell === null) return;
    const card = { width: tip.offsetWidth, height: tip.offsetHeight };
    const { x, y } = placeCard(cell, card, map.element.clientWidth);
    tip.style.transform = `translate(${x}px, ${y}px)`;
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
    if (block === null || matrix.value === null || Number.isNaN(block.value)) return;
    const [query, key] =
      block.level === 0
        ? [cell.row, cell.column]
        : await strongestIn(store, matrix.value, block, until).catch((error: unknown) => {
            fail(error);
            return [block.query, block.key] as const;
          });
    const same = pinned !== null && pinned[0] === query && pinned[1] === key;
    state.set({ token: query, pair: same ? null : [query, key] });
  }

  function goTo(query: number, key: number): void {
    state.set({ token: query, pair: [query, key] });
    map.visit({ row: query, column: key });
  }

  listenToLongMap(element, map, {
    matrix: () => matrix.value,
    row: () => row,
    cursor: () => cursor,
    hover,
    pick: (cell) => void pick(cell),
    goTo,
    find: () => find.focus(),
    context,
    name,
    keyName,
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

  // Effects follow later: the canvas is drawn before any element changes.
  watch(() => {
    const next = store.matrix.value;
    if (next !== null) untracked(() => showMatrix(next));
  }, until);
  watch(() => {
    pooling.value;
    untracked(() => matrix.value !== null && showMatrix(matrix.value));
  }, until);
  watch(() => {
    choice.value;
    untracked(askLinks);
  }, until);
  onChange(store.hits, () => map.redraw(), until);
  state.on(["token"], askRow, until);
  state.on(["pair"], mark, until);
  state.on(["scale"], () => matrix.value !== null && showMatrix(matrix.value), until);
  state.on(["height"], () => layout(width), until);
  onResize(element, layout, until);
  onTheme(
    element,
    () => {
      colors = null;
      overview.recolor();
      map.recolor();
      if (matrix.value !== null) showMatrix(matrix.value);
    },
    until,
  );
  askLanguage(source, until, ({ sentence: column, keySentence: keyColumn }) => {
    text = textsOf(column, keyColumn);
    draw();
  });
  return {
    dispose() {
      tiles.stop();
      element.replaceChildren();
    },
    table: () => (links === null ? null : linkTable(links, name, matrix.value?.rest ?? null)),
    part: () => map.geometry && partOf(map.geometry, size),
  };
}
