/** The selected matrix: heatmap and flow side by side, exact numbers for every link. */

import { batch, signal, untracked } from "@preact/signals-core";
import { createRef, render } from "preact";
import { penOf } from "../../draw/canvas";
import { onTheme, type Palette, palette } from "../../draw/color/theme";
import { consume, h } from "../../draw/dom";
import { windowOf as inWindow, type Range } from "../../draw/heatmap/axis";
import { CellPainter } from "../../draw/heatmap/cells";
import {
  drawFlow,
  type FlowData,
  type FlowLink,
  flowAt,
  linksAbove,
} from "../../draw/heatmap/flow";
import { Heatmap } from "../../draw/heatmap/heatmap";
import { longestOf, textOf } from "../../draw/heatmap/labels";
import type { Longest } from "../../draw/heatmap/layout";
import type { Cell, Geometry, HeatmapData, Highlights } from "../../draw/heatmap/types";
import { onResize } from "../../draw/resize";
import { isSecondClick, tapTwice } from "../../draw/touch";
import { boundariesOf } from "../../figures/derive/boundaries";
import { valueOfRank } from "../../figures/derive/matrix";
import { isSquare, type Matrix, NO_OVERFLOW, overflowOf, topOf } from "../../figures/matrix";
import {
  type AxisLabels,
  axisLabels,
  axisNames,
  rowLabels,
  spokenMatrix,
  spokenQuery,
} from "../../figures/names";
import { createPairNumbers } from "../../figures/pairs";
import { keysOf } from "../../protocol/meta";
import { itemAt } from "../../protocol/required";
import { memo } from "../../ui/memo";
import { modeSignal, mount, selectionOf, watch } from "../../ui/mount";
import {
  lazyCode,
  showSettings,
  type ViewContext,
  type ViewHandle,
  withLazyCode,
} from "../contract";
import { type Cells, cellsOf, gatherCell, highlightsOf, pickCell, spokenCell } from "./cells";
import { Head, Tools } from "./controls";
import { restIn, windowOf } from "./export";
import { askLanguage, factsOf, type Language } from "./facts";
import { pressKey } from "./keys";
import {
  flowWidth,
  isNarrow,
  layoutFlow,
  layoutPictures,
  type Point,
  placeAtPointer,
  placeCard,
  WIDE,
} from "./layout";
import { PairHint, PinnedPair } from "./link";
import { MatrixTable } from "./matrix-table";
import { linksOfRow } from "./narrow";
import { createPairPlace } from "./pair-place";
import { Sentence } from "./sentence";

const NO_STARTS: HeatmapData["starts"] = { rows: new Map(), columns: new Map() };
const NO_BOUNDARIES: HeatmapData["boundaries"] = { rows: [], columns: [] };
/** Links drawn at first: about this many a query. */
const LINKS_PER_ROW = 2;
/** Beyond this many links the drawing is illegible. */
const LINKS_MAX = 240;
/** Room of first words next to the flow, and the thickness of its links as of rows so high (px). */
const SENTENCE_STARTS = { rows: 96, columns: 96 } as const;
const NARROW_ROW = 5;
const LINES = [
  ["sentence", "dashed: sentences"],
  ["segment", "solid: segments A and B"],
] as const;

const isEmpty = ({ queries, keys }: Matrix): boolean => queries.length * keys.length === 0;

export function attention(element: HTMLElement, context: ViewContext): ViewHandle {
  const { source, state, signal: until } = context;
  const { meta } = source;
  const axes = axisNames(meta);
  const numbers = createPairNumbers(source, until);
  const matrix = signal<Matrix | null>(null);
  const selection = selectionOf(
    state,
    ["quantity", "head", "words", "token", "pair", "group"],
    until,
  );
  const mode = modeSignal(element, until);
  const language = signal<Language | null>(null);
  const boundaries = signal<HeatmapData["boundaries"]>(NO_BOUNDARIES);
  const lines = signal(true);
  const picture = signal<"matrix" | "flow">("matrix");
  const threshold = signal(0);
  /** Links in the flow. */
  const links = signal(0);
  const zoomed = signal(false);
  /** Counts what has come for the pair under inspection, and the code of later parts. */
  const arrivals = signal(0);
  let cells: Cells | null = null;
  let units: Pick<Matrix, "queries" | "keys"> | null = null;
  let labels: AxisLabels = { queries: [], keys: [], written: null };
  /** Labels of the rows, with what is written there. */
  let named: readonly string[] = [];
  let longest: Longest | null = null;
  let width = 0;
  let wide = true;
  let narrow = false;
  let starts: HeatmapData["starts"];
  /** True if the reader has chosen from which weight on links are drawn. */
  const chosen = signal(false);
  /** Chosen by hand: kept as a share of the maximum when the head changes. */
  let share: number | null = null;
  let cursor: Cell | null = null;
  /** The pointer in the flow, whose card is there. */
  let pointer: Point | null = null;
  let colors: Palette | null = null;

  const facts = factsOf(source, () => language.value);
  const tip = h("div", { class: "aw-tip", role: "presentation", hidden: true });
  const map = new Heatmap({ hover, pick, drawn }, until);
  const painter = new CellPainter();
  const pictures = createRef<HTMLDivElement>();
  const flow = createRef<HTMLCanvasElement>();

  /** Row and column of the pinned pair, -1 where it is not shown. */
  const pinned = (shown: Matrix): readonly [row: number, column: number] => {
    const { pair } = selection.value;
    return pair === null ? [-1, -1] : [shown.queryOf(pair[0]), shown.keyOf(pair[1])];
  };
  const place = createPairPlace(context);
  watch(() => {
    if (matrix.value === null) return;
    const [row, column] = pinned(matrix.value);
    place.show({ matrix: matrix.value, row, column });
  }, until);

  const Below = memo(function Below({ shown }: { readonly shown: Matrix }) {
    const { token } = selection.value;
    arrivals.value;
    const [row, column] = pinned(shown);
    const link = row >= 0 && column >= 0 && numbers.of(shown, row, column);
    return (
      <div class="aw-below">
        <div class={`aw-link-strip${link ? " aw-has-pair" : ""}`} data-aw-part="pair">
          {link ? (
            <PinnedPair
              {...{ matrix: shown, row, column, labels, link, facts, context }}
              mode={mode.value}
              hold={place.hold}
            />
          ) : (
            <PairHint empty={isEmpty(shown)} />
          )}
        </div>
        <MatrixTable
          matrix={shown}
          labels={labels}
          focus={shown.queryOf(token)}
          rest={shown.scores === null ? restIn(shown, meta) : null}
        />
      </div>
    );
  });

  function View() {
    const shown = matrix.value;
    const { token } = selection.value;
    arrivals.value;
    const { GroupStrip } = lazyCode.value ?? {};
    return (
      <>
        <Head context={context} matrix={shown} selection={selection.value} />
        <div class="aw-attention-lead">
          {shown ? (
            <Sentence
              matrix={shown}
              focus={shown.queryOf(token)}
              tokens={keysOf(meta)}
              choose={(token) => state.set({ token })}
              {...{ labels, facts }}
            />
          ) : (
            <p class="aw-sentence" />
          )}
          <Tools
            {...{ matrix, mode, picture, threshold, zoomed }}
            drawn={links}
            showAll={() => zoom(null)}
          />
        </div>
        <div class="aw-pictures" hidden={shown !== null && isEmpty(shown)} ref={pictures}>
          <canvas
            class="aw-flow"
            role="img"
            aria-label={shown ? `Links of ${spokenMatrix(shown)} as lines` : undefined}
            data-aw-part="flow"
            ref={flow}
            onPointerMove={(event) => hover(flowCell(event), pointIn(event))}
            onPointerLeave={() => hover(null)}
            onClick={(event) => {
              const cell = flowCell(event);
              if (cell !== null && !isSecondClick(event))
                pick(cell, event.ctrlKey || event.metaKey);
            }}
          />
        </div>
        <div data-aw-part="group">
          {shown && GroupStrip && <GroupStrip context={context} matrix={shown} labels={labels} />}
        </div>
        {shown ? <Below shown={shown} /> : <div class="aw-below" />}
      </>
    );
  }
  mount(element, View, until);
  pictures.current?.prepend(map.element);
  pictures.current?.append(tip);
  showSettings(context, {
    View: Settings,
    changed: () => [
      ...(chosen.value ? ["links from"] : []),
      ...(lines.value ? [] : ["boundaries"]),
    ],
  });

  function zoom(factor: number | null): void {
    if (factor === null) map.resetZoom();
    else map.zoomBy(factor);
  }

  function setThreshold(value: number): void {
    const { max = 0 } = matrix.value ?? {};
    threshold.value = value;
    chosen.value = true;
    share = max > 0 ? value / max : null;
    drawFlowPanel();
  }

  function Settings() {
    const { AttentionDisplay } = lazyCode.value ?? {};
    const kinds = LINES.filter(([kind]) =>
      [...boundaries.value.rows, ...boundaries.value.columns].some((line) => line.kind === kind),
    );
    return (
      AttentionDisplay && (
        <AttentionDisplay
          max={matrix.value?.max ?? 1}
          boundaries={kinds.length > 0 ? kinds.map(([, text]) => text).join("; ") : null}
          threshold={threshold.value}
          drawn={links.value}
          {...{ lines, setThreshold, zoom }}
        />
      )
    );
  }

  function show(next: Matrix): void {
    const first = matrix.value === null;
    const started = performance.now();
    matrix.value = next;
    cells = cellsOf(next);
    const [rows, columns] = [next.queries.length, next.keys.length];
    if (next.queries !== units?.queries) {
      units = next;
      labels = axisLabels(next, meta);
      named = rowLabels(labels);
      longest = null;
      boundaries.value = boundariesOfAxes(next);
      const shape = isNarrow({ rows, columns });
      if (shape !== narrow) {
        narrow = shape;
        layout(width);
      }
      nameStarts(next);
    }
    cursor = cursor !== null && cursor.row < rows && cursor.column < columns ? cursor : null;
    threshold.value =
      share === null
        ? valueOfRank(next.weights, Math.min(LINKS_PER_ROW * rows, LINKS_MAX), next.max)
        : share * next.max;
    map.element.setAttribute(
      "aria-label",
      `${next.scores === null ? "Attention" : "Scores"} of ${spokenMatrix(next)}, ` +
        `${rows} by ${columns}. Arrow keys move over cells, Enter pins one.`,
    );
    map.setHighlights(highlights(next));
    showMap(next, cells);
    performance.mark("aw:drawn", {
      detail: {
        ms: performance.now() - started,
        size: rows,
        first,
        layer: next.layer,
        head: next.head,
      },
    });
    if (cursor !== null || state.get().pair !== null) loadNumbers();
  }

  /** Scores, queries and keys are requested for a pair under inspection, not for every head on the way. */
  function loadNumbers(): void {
    const asked = matrix.value;
    if (asked === null) return;
    void numbers.load(asked).then(() => {
      if (matrix.value !== asked || until.aborted) return;
      arrivals.value++;
      showTip();
    });
  }

  const axisData = () => ({
    rowLabels: named,
    columnLabels: labels.keys,
    axes,
    ...(starts === undefined ? {} : { starts }),
  });

  function nameStarts(axes: Pick<Matrix, "queries" | "keys">): void {
    const of = lazyCode.peek()?.startsOfAxes;
    starts = narrow
      ? (of?.(axes, meta.tokens, keysOf(meta), boundaries.value) ?? NO_STARTS)
      : undefined;
  }

  const mapData = (shown: Matrix, { most, ...values }: Cells): HeatmapData => ({
    rows: shown.queries.length,
    columns: shown.keys.length,
    ...values,
    max: most ?? topOf(shown, state.get().scale),
    scale: state.get().scale,
    overflow: most === null ? overflowOf(shown, state.get().scale) : NO_OVERFLOW,
    ...axisData(),
    marginal: shown.received,
    marginalName: "received",
    rest: most === null ? restIn(shown, meta) : null,
    boundaries: lines.value ? boundaries.value : NO_BOUNDARIES,
  });

  const widest = (pen: CanvasRenderingContext2D, font: string): Longest =>
    (longest ??= longestOf(pen, axisData(), font));

  const showMap = (shown: Matrix, values: Cells): void =>
    map.show(painter.map(mapData(shown, values), widest));

  const boundariesOfAxes = (axes: Pick<Matrix, "queries" | "keys">): HeatmapData["boundaries"] => {
    const rows = boundariesOf(axes.queries, language.value?.sentence ?? null);
    if (isSquare(axes)) return { rows, columns: rows };
    return { rows, columns: boundariesOf(axes.keys, language.value?.keySentence ?? null) };
  };

  const highlights = (shown: Matrix): Highlights =>
    highlightsOf(shown, state.get(), cursor, (row) =>
      narrow && cells !== null ? linksOfRow(shown, cells, row, state.get().scale) : [],
    );

  function redraw(): void {
    const shown = matrix.peek();
    if (shown !== null && cells !== null) showMap(shown, cells);
  }

  function rescale(): void {
    redraw();
    drawFlowPanel();
  }

  function mark(): void {
    if (matrix.value === null) return;
    map.highlight(highlights(matrix.value));
    drawFlowPanel();
    if (state.get().pair !== null) loadNumbers();
  }

  function drawn(): void {
    zoomed.value = map.geometry?.zoomed ?? false;
    drawFlowPanel();
    if (matrix.value !== null)
      lazyCode.peek()?.windows.axes(map, source.meta, matrix.value.queries);
  }

  const flowGeometry = (): Geometry | null => map.geometry && layoutFlow(map.geometry, wide);

  let drawnFlow: FlowData | null = null;
  /** The links of the map as they were last asked for: moving the pointer changes none. */
  let above: {
    readonly by: string;
    readonly of: Matrix;
    readonly links: FlowData["links"];
  } | null = null;
  function linksFrom(shown: Matrix, windows: readonly [Range, Range]): FlowData["links"] {
    const by = JSON.stringify([threshold.value, windows]);
    if (above?.by !== by || above.of !== shown) {
      const data = { columns: shown.keys.length, values: shown.weights };
      above = { by, of: shown, links: linksAbove(data, threshold.value, ...windows) };
    }
    return above.links;
  }

  function flowData(shown: Matrix, { rows, columns, ...g }: Geometry, longest: Longest): FlowData {
    const [width, height] = [shown.keys.length, shown.queries.length];
    const data = { rows: height, columns: width, marginal: shown.received };
    const windows = [
      inWindow(rows, g.top, g.top + g.height),
      inWindow(columns, g.left, g.left + g.width),
    ] as const;
    const links = linksFrom(shown, windows);
    // Links of the row in question are drawn, whatever their weight.
    const own = highlights(shown).links.flatMap(({ row, column }): FlowLink[] => {
      const weight = itemAt(shown.weights, row * width + column);
      return weight < threshold.value ? [{ query: row, key: column, weight }] : [];
    });
    return {
      links: own.length === 0 ? links : [...links, ...own],
      leaving: null,
      max: topOf(shown, state.get().scale),
      scale: state.get().scale,
      text: textOf({ ...data, ...axisData() }),
      axes,
      longest: starts === undefined ? longest : { ...longest, ...SENTENCE_STARTS },
      rowLeast: narrow ? NARROW_ROW : 0,
      faint: 0.12,
    };
  }

  function drawFlowPanel(): void {
    const geometry = flowGeometry();
    const [shown, canvas] = [matrix.peek(), flow.current];
    if (shown === null || canvas === null || geometry === null || width === 0) return;
    if (!wide && picture.value === "matrix") return;
    colors ??= palette(element);
    const data = flowData(shown, geometry, widest(penOf(canvas), colors.font));
    const room = flowWidth(geometry, width, wide);
    drawFlow(canvas, room, data, geometry, highlights(shown), colors);
    drawnFlow = data;
    links.value = above?.links.length ?? 0;
  }

  function flowCell({ clientX, clientY }: MouseEvent): Cell | null {
    const box = flow.current?.getBoundingClientRect();
    const at = flowGeometry();
    if (!at || !box || drawnFlow === null) return null;
    const [x, y] = [clientX - box.left, clientY - box.top];
    const link = lazyCode.peek()?.linkAt(drawnFlow, at, box.width, x, y);
    return link ?? flowAt(at, box.width, x, y);
  }

  function pointIn({ clientX, clientY }: MouseEvent): Point | null {
    const box = pictures.current?.getBoundingClientRect();
    return box === undefined ? null : { x: clientX - box.left, y: clientY - box.top };
  }

  function hover(cell: Cell | null, at: Point | null = null): void {
    if (cell?.row === cursor?.row && cell?.column === cursor?.column) return;
    cursor = cell;
    pointer = at;
    if (matrix.value !== null) map.highlight(highlights(matrix.value));
    drawFlowPanel();
    showTip();
    if (cell !== null && cell.row >= 0 && cell.column >= 0) loadNumbers();
  }

  function showTip(): void {
    const shown = matrix.value;
    const { row, column } = cursor ?? { row: -1, column: -1 };
    const isLink = row >= 0 && column >= 0;
    const { LabelCard, LinkCard } = lazyCode.peek() ?? {};
    if (shown === null || cursor === null || !LabelCard || !LinkCard) {
      tip.hidden = true;
      return;
    }
    const of = { matrix: shown, row, column, labels };
    const card = isLink ? (
      <LinkCard {...of} {...{ link: numbers.of(shown, row, column), facts }} />
    ) : (
      <LabelCard {...of} />
    );
    render(card, tip);
    tip.hidden = false;
    const size = { width: tip.offsetWidth, height: tip.offsetHeight };
    const room = {
      width: pictures.current?.clientWidth ?? width,
      height: pictures.current?.clientHeight ?? 0,
    };
    const cell = map.boxOf(cursor);
    if (cell === null) return;
    const { x, y } =
      pointer === null ? placeCard(cell, size, room) : placeAtPointer(pointer, size, room);
    tip.style.transform = `translate(${x}px, ${y}px)`;
  }

  /** With Ctrl or Cmd a cell joins the group. */
  function pick(cell: Cell, gathering = false): void {
    if (matrix.value === null) return;
    if (gathering) gatherCell(context, matrix.value, labels, cell);
    else pickCell(context, matrix.value, labels, cell);
  }

  function announceCell(): void {
    const shown = matrix.value;
    if (shown === null || cursor === null || cells === null) return;
    const { row, column } = cursor;
    const value = spokenCell(shown, cells, row * shown.keys.length + column);
    context.announce(`${spokenQuery(labels, row)} to ${labels.keys[column]}: ${value}`);
  }

  /** Release selections one by one; false if there is none. */
  function release(): boolean {
    const { pair, group: tokens } = state.get();
    if (cursor !== null) hover(null);
    else if (pair !== null) state.set({ pair: null });
    else if (tokens.length > 0) state.set({ group: [] });
    else return false;
    return true;
  }

  function press(event: KeyboardEvent): boolean {
    if (event.target !== map.element) return event.key === "Escape" && release();
    const shown = matrix.value;
    if (shown === null || isEmpty(shown) || event.altKey) return false;
    const focused = shown.queryOf(state.get().token);
    return pressKey(event, {
      map,
      matrix: shown,
      cursor,
      focused,
      hover,
      pick,
      release,
      announceCell,
    });
  }

  element.addEventListener("keydown", (event) => press(event) && consume(event), { signal: until });
  if (flow.current !== null) {
    const linkOf = (event: MouseEvent): string | null => {
      const cell = flowCell(event);
      return cell && `${cell.row} ${cell.column}`;
    };
    tapTwice(flow.current, linkOf, until);
  }

  function layout(next: number): void {
    width = next;
    const pictures = layoutPictures(width, state.get().height, narrow);
    wide = pictures.wide;
    element.classList.toggle("aw-wide", wide);
    element.classList.toggle("aw-roomy", width >= WIDE);
    map.resize(pictures.width, pictures.height);
  }

  watch(() => {
    element.dataset.awPicture = picture.value;
    untracked(drawFlowPanel);
  }, until);
  watch(() => {
    lines.value;
    untracked(redraw);
  }, until);
  // Within a batch the canvas is drawn before any element changes.
  context.matrix.on((next) => batch(() => show(next)), until, "first");
  state.on(["token", "pair", "group"], mark, until);
  state.on(["scale"], rescale, until);
  state.on(["height"], () => layout(width), until);
  onResize(element, layout, until);
  onTheme(
    element,
    () => {
      colors = null;
      map.recolor();
    },
    until,
  );
  withLazyCode(() => {
    if (units !== null) nameStarts(units);
    arrivals.value++;
    redraw();
    mark();
    showTip();
  }, until);
  askLanguage(source, until, (found) => {
    language.value = found;
    if (units !== null) {
      boundaries.value = boundariesOfAxes(units);
      nameStarts(units);
    }
    if (boundaries.value.rows.length + boundaries.value.columns.length > 0) redraw();
    arrivals.value++;
    showTip();
  });
  return {
    dispose() {
      element.classList.remove("aw-wide", "aw-roomy");
      render(null, element);
    },
    table: () => matrix.value && (lazyCode.peek()?.attentionTable(context, matrix.value) ?? null),
    part(of) {
      const shown = map.geometry === null ? null : windowOf(map.geometry);
      const bars = of === "svg" ? lazyCode.peek()?.windows.bars(source.meta) : null;
      return [shown, bars].filter(Boolean).join(" ") || null;
    },
    svg() {
      const geometry = map.geometry;
      const [shown, canvas] = [matrix.value, flow.current];
      if (
        shown === null ||
        canvas === null ||
        cells === null ||
        geometry === null ||
        isEmpty(shown)
      )
        return null;
      colors ??= palette(element);
      const links = flowData(shown, geometry, widest(penOf(canvas), colors.font));
      const parts = { data: mapData(shown, cells), links, geometry };
      const marked = { highlights: highlights(shown), units: shown.queries };
      const drawing = { ...parts, ...marked, width, wide };
      return lazyCode.peek()?.attentionVector(drawing, source.meta, colors) ?? null;
    },
  };
}
