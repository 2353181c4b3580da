/** A long text's matrix: levels of detail by tiles, a minimap to find one's way, links in view, what is found. */

import { untracked } from "@preact/signals-core";
import { render } from "preact";
import { onTheme } from "../../../draw/color/theme";
import { h } from "../../../draw/dom";
import type { Cell } from "../../../draw/heatmap/types";
import { onResize } from "../../../draw/resize";
import type { LongMatrix } from "../../../figures/long/store";
import { mount, onChange, watch } from "../../../ui/mount";
import type { ViewContext, ViewHandle } from "../../contract";
import { askLanguage, factsOf } from "../facts";
import { BlockCard, placeCard, strongestIn } from "./block";
import { LongHead, LongTools } from "./controls";
import { finder } from "./finder";
import { listenToLongMap } from "./keys";
import { Hits, Strongest } from "./lists";
import { LongModel } from "./model";
import { pairCard } from "./pair";
import { LongPictures } from "./pictures";
import { linkTable, partOf, RowSentence } from "./words";

/** The find box: what it finds is marked in the map, in the minimap and in the ribbon. */
function createFinder(model: LongModel, pictures: LongPictures) {
  const { context, store, choice } = model;
  function showHits(): void {
    const [hits, at] = [find.hits(), find.at()];
    const now = store.hits.peek();
    if (hits !== now.hits || at !== now.at) store.hits.value = { hits, at };
  }
  const find = finder(context, {
    found: showHits,
    go([from, to]) {
      showHits();
      context.state.set({ token: from });
      const middle = Math.floor((from + to) / 2);
      // Its own column too: other keys may be ones that its window or mask forbids.
      pictures.map.visit({ row: middle, column: middle });
    },
    weight(least) {
      choice.value = { ...choice.value, least };
    },
  });
  onChange(store.hits, () => pictures.map.redraw(), context.signal);
  return find;
}

/** The cell under the cursor: its card, and what a click on it chooses. */
function createCursor(model: LongModel, pictures: LongPictures) {
  const { context, store, pooling, name, keyName } = model;
  const { state, source, signal: until } = context;
  const { map } = pictures;
  const facts = factsOf(source, () => null);
  const tip = h("div", { class: "aw-tip", role: "presentation", hidden: true });
  let cursor: Cell | null = null;
  map.element.append(tip);

  function showTip(): void {
    const block =
      cursor === null || cursor.row < 0 || cursor.column < 0 ? null : pictures.blockAt(cursor);
    const matrix = model.matrix.value;
    tip.hidden = block === null;
    if (block === null || cursor === null || matrix === null) return;
    const error = store.error(block.value ?? 0);
    render(
      <BlockCard
        {...{ block, pooling: pooling.value, matrix, name, keyName, error }}
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

  return {
    now: () => cursor,
    hover(cell: Cell | null): void {
      if (cell?.row === cursor?.row && cell?.column === cursor?.column) return;
      cursor = cell;
      map.highlight({ hover: cell });
      showTip();
    },
    /** A cell pins its pair; of a block, its strongest link. A label makes its token the focus. */
    async pick(cell: Cell): Promise<void> {
      const { token, pair: pinned } = state.get();
      if (cell.row < 0 || cell.column < 0) {
        const chosen = cell.row >= 0 ? cell.row : cell.column;
        state.set({ token: token === chosen ? null : chosen });
        return;
      }
      const block = pictures.blockAt(cell);
      const matrix = model.matrix.value;
      if (block === null || matrix === null || Number.isNaN(block.value)) return;
      const [query, key] =
        block.level === 0
          ? [cell.row, cell.column]
          : await strongestIn(store, matrix, block, until).catch((error: unknown) => {
              model.fail(error);
              return [block.query, block.key] as const;
            });
      const same = pinned !== null && pinned[0] === query && pinned[1] === key;
      state.set({ token: query, pair: same ? null : [query, key] });
    },
    goTo(query: number, key: number): void {
      state.set({ token: query, pair: [query, key] });
      map.visit({ row: query, column: key });
    },
  };
}

/** Above and below the pictures. */
function drawParts(
  model: LongModel,
  find: ReturnType<typeof createFinder>,
  { map }: LongPictures,
  { goTo }: ReturnType<typeof createCursor>,
) {
  const { context, matrix, selection, mode, pooling, level, labels, leaving } = model;
  const { tokens, store, choice, name } = model;
  const { signal: until, source } = context;
  const [head, tools, lists] = [h("div"), h("div"), h("div")];
  const zoom = (factor: number | null): void =>
    factor === null ? map.resetZoom() : map.zoomBy(factor);
  mount(
    head,
    () => (
      <LongHead
        context={context}
        matrix={matrix.value}
        selection={selection.value}
        explained={model.explained}
      />
    ),
    until,
  );
  const values = { matrix, selection, mode, pooling, level, labels, leaving, zoom };
  mount(tools, () => <LongTools {...values} links={model.drawnLinks} />, until);
  mount(
    lists,
    () => (
      <>
        <Hits tokens={tokens} {...store.hits.value} go={find.go} />
        <Strongest
          {...{ meta: source.meta, choice, name, error: store.error, go: goTo }}
          links={model.listed.value}
          status={model.status.value}
          pair={selection.value.pair}
        />
      </>
    ),
    until,
  );
  return { head, tools, lists };
}

function writeSentence(place: HTMLElement, { matrix, row, tokens, name, store }: LongModel): void {
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
    place,
  );
}

/** Draws again what changes with the matrix, the selection and the element; `mark` follows another row or pair. */
function follow(
  model: LongModel,
  pictures: LongPictures,
  element: HTMLElement,
  mark: () => void,
): void {
  const { context, matrix, store } = model;
  const { source, state, signal: until } = context;
  const askRow = (): void => model.askRow(mark);
  const askLinks = (): void => model.askLinks(() => pictures.map.redraw());

  function show(next: LongMatrix): void {
    const started = performance.now();
    const first = matrix.value === null;
    const other = next !== matrix.value;
    matrix.value = next;
    model.explained.value = false;
    pictures.show(next);
    if (other) model.row = model.links = null;
    pictures.draw();
    if (other) {
      askRow();
      askLinks();
    }
    const { rows: size, layer, head } = next;
    performance.mark("aw:drawn", {
      detail: { ms: performance.now() - started, size, first, layer, head },
    });
  }
  const again = (): void => {
    if (matrix.value !== null) show(matrix.value);
  };

  // Effects follow later: the canvas is drawn before any element changes.
  watch(() => {
    const next = store.matrix.value;
    if (next !== null) untracked(() => show(next));
  }, until);
  watch(() => {
    model.pooling.value;
    untracked(again);
  }, until);
  watch(() => {
    model.choice.value;
    untracked(askLinks);
  }, until);
  state.on(["token"], askRow, until);
  state.on(["pair"], mark, until);
  state.on(["scale"], again, until);
  state.on(["height"], () => pictures.layout(), until);
  onResize(element, (width) => pictures.layout(width), until);
  const recolor = (): void => {
    pictures.recolor();
    again();
  };
  onTheme(element, recolor, until);
  askLanguage(source, until, ({ sentence, keySentence }) => {
    model.learn(sentence, keySentence);
    pictures.draw();
  });
}

export function longAttention(element: HTMLElement, context: ViewContext): ViewHandle {
  const model = new LongModel(context, element);
  const { matrix, name, keyName } = model;
  const pictures: LongPictures = new LongPictures(element, model, {
    hover: (cell) => cursor.hover(cell),
    pick: (cell) => void cursor.pick(cell),
  });
  const { map } = pictures;
  const cursor = createCursor(model, pictures);
  const find = createFinder(model, pictures);
  const pair = pairCard(element, context, model.store);
  const { head, tools, lists } = drawParts(model, find, pictures, cursor);
  const sentence = h("div");
  element.classList.add("aw-long");
  element.append(
    head,
    h("div", { class: "aw-long-find" }, find.element),
    sentence,
    pictures.overview.element,
    tools,
    pictures.element,
    h("div", { class: "aw-below" }, pair.element, lists),
  );
  listenToLongMap(element, map, {
    matrix: () => matrix.value,
    row: () => model.row,
    cursor: cursor.now,
    hover: cursor.hover,
    pick: (cell) => void cursor.pick(cell),
    goTo: cursor.goTo,
    find: () => find.focus(),
    context,
    name,
    keyName,
    value: (cell) => pictures.blockAt(cell)?.value ?? null,
  });
  follow(model, pictures, element, () => {
    pictures.mark();
    if (matrix.value !== null) pair.show(matrix.value, model.row);
    writeSentence(sentence, model);
  });
  return {
    dispose() {
      pictures.tiles.stop();
      element.replaceChildren();
    },
    table: () =>
      model.links === null ? null : linkTable(model.links, name, matrix.value?.rest ?? null),
    part: () => map.geometry && partOf(map.geometry, model.tokens.text.length),
  };
}
