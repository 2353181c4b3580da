/** The selected matrix: heatmap and flow side by side, exact numbers for every link. */

import { penOf } from "../../draw/canvas";
import { onTheme, type Palette, palette } from "../../draw/color/theme";
import { consume, h } from "../../draw/dom";
import { drawFlow } from "../../draw/heatmap/flow";
import {
  type Cell,
  type Geometry,
  Heatmap,
  type Highlights,
  longestLabel,
} from "../../draw/heatmap/heatmap";
import type { HeatmapData } from "../../draw/heatmap/types";
import { onResize } from "../../draw/resize";
import { type Boundary, boundariesOf } from "../../figures/derive/boundaries";
import { valueOfRank } from "../../figures/derive/matrix";
import { beyondOf, type Matrix, topOf } from "../../figures/matrix";
import { schemeOf, spokenMatrix, unitLabel } from "../../figures/names";
import { createPairNumbers } from "../../figures/pairs";
import { laterParts, type ViewContext, type ViewHandle, withParts } from "../contract";
import { type Cells, cellsOf, highlightsOf, spokenCell } from "./cells";
import { attentionControls } from "./controls";
import { attentionTable, windowOf } from "./export";
import { factsOf } from "./facts";
import { attendedList } from "./group";
import { listenToMap } from "./keys";
import { askLanguage, type Language } from "./language";
import { flowWidth, layoutFlow, layoutPictures, placeCard } from "./layout";
import { linkCard, linkStrip, pairHint } from "./link";
import { twinTable } from "./matrix-table";
import { gatherCell, listenToFlow, pickCell } from "./pick";
import { writeSentence } from "./sentence";

/** Links drawn at first: about this many a query. */
const LINKS_PER_ROW = 2;
/** Beyond this many links the drawing is illegible. */
const LINKS_MOST = 240;

export function attention(element: HTMLElement, stage: ViewContext): ViewHandle {
  const { source, state, signal } = stage;
  const scheme = schemeOf(source.meta.tokens);
  const numbers = createPairNumbers(source, signal);
  let matrix: Matrix | null = null;
  let cells: Cells | null = null;
  let named: Matrix["units"] | null = null;
  let labels: string[] = [];
  let longest: number | null = null;
  let language: Language | null = null;
  let boundaries: readonly Boundary[] = [];
  let linesOn = true;
  let width = 0;
  let wide = true;
  let threshold = 0;
  /** Chosen by hand: kept as a share of the maximum when the head changes. */
  let share: number | null = null;
  let cursor: Cell | null = null;
  let colors: Palette | null = null;

  const facts = factsOf(source, () => language);
  const controls = attentionControls(element, stage, {
    zoom: (factor) => (factor === null ? map.resetZoom() : map.zoomBy(factor)),
    threshold(value) {
      threshold = value;
      share = matrix !== null && matrix.max > 0 ? threshold / matrix.max : null;
      drawFlowPanel();
    },
    picture(name) {
      element.dataset.awPicture = name;
      drawFlowPanel();
    },
    lines(on) {
      linesOn = on;
      redraw();
    },
  });
  const tip = h("div", { class: "aw-tip", role: "presentation", hidden: true });
  const flow = h("canvas", { class: "aw-flow", role: "img", "data-aw-part": "flow" });
  const sentence = h("p", { class: "aw-sentence", "data-aw-part": "sentence" });
  const attended = attendedList(stage);
  const group = h("div", { "data-aw-part": "group" });
  const strip = h("div", { class: "aw-link-strip", "data-aw-part": "pair" });
  const twin = twinTable(
    stage,
    () => matrix,
    () => labels,
  );
  const map = new Heatmap({ hover, pick, drawn }, signal);
  map.element.append(tip);
  const pictures = h("div", { class: "aw-pictures" }, map.element, flow);
  element.dataset.awPicture = "matrix";
  element.append(
    controls.head,
    sentence,
    controls.tools,
    pictures,
    attended.element,
    group,
    h("div", { class: "aw-below" }, strip, twin.element),
  );

  function show(next: Matrix): void {
    const first = matrix === null;
    const started = performance.now();
    matrix = next;
    if (next.units !== named) {
      named = next.units;
      labels = next.units.map((unit) => unitLabel(unit, scheme));
      longest = null;
      findBoundaries();
    }
    cells = cellsOf(next);
    controls.legend(cells.most, next.scoreError);
    cursor = cursor !== null && cursor.row < next.size && cursor.column < next.size ? cursor : null;
    setThreshold(
      share === null
        ? valueOfRank(next.weights, Math.min(LINKS_PER_ROW * next.size, LINKS_MOST), next.max)
        : share * next.max,
    );
    controls.show(next);
    map.element.setAttribute(
      "aria-label",
      `${next.scores === null ? "Attention" : "Scores"} of ${spokenMatrix(next)}, ` +
        `${next.size} by ${next.size}. Arrow keys move over cells, Enter pins one.`,
    );
    flow.setAttribute("aria-label", `Links of ${spokenMatrix(next)} as lines`);
    pictures.hidden = next.size === 0;
    attended.show(next, labels);
    say(next);
    map.light(highlights(next));
    map.show(mapData(next, cells));
    showGroup();
    showPair();
    twin.refresh();
    performance.mark("aw:drawn", {
      detail: {
        ms: performance.now() - started,
        size: next.size,
        first,
        layer: next.layer,
        head: next.head,
      },
    });
    if (cursor !== null || state.get().pair !== null) loadNumbers();
  }

  /** Scores, queries and keys are requested for a pair under inspection, not for every head on the way. */
  function loadNumbers(): void {
    const asked = matrix;
    if (asked === null) return;
    void numbers.load(asked).then(() => {
      if (matrix !== asked || signal.aborted) return;
      showPair();
      showTip();
    });
  }

  const mapData = (shown: Matrix, { most, ...values }: Cells): HeatmapData => ({
    size: shown.size,
    ...values,
    max: most ?? topOf(shown, state.get().scale),
    scale: state.get().scale,
    beyond: most === null ? beyondOf(shown, state.get().scale) : [],
    labels,
    marginal: shown.received,
    marginalName: "received",
    boundaries: linesOn ? boundaries : [],
  });

  function findBoundaries(): void {
    if (matrix === null) return;
    boundaries = boundariesOf(matrix.units, language?.sentence ?? null);
    controls.offerLines(
      boundaries.some(({ kind }) => kind === "sentence"),
      boundaries.some(({ kind }) => kind === "segment"),
    );
  }

  const highlights = (shown: Matrix): Highlights => highlightsOf(shown, state.get(), cursor);

  function redraw(): void {
    if (matrix !== null && cells !== null) map.show(mapData(matrix, cells));
  }

  function rescale(): void {
    redraw();
    drawFlowPanel();
  }

  function mark(): void {
    if (matrix === null) return;
    map.highlight(highlights(matrix));
    drawFlowPanel();
    say(matrix);
    showGroup();
    showPair();
    if (state.get().pair !== null) loadNumbers();
  }

  function showGroup(): void {
    if (matrix === null) return;
    const strip = laterParts()?.groupStrip(stage, matrix, labels) ?? null;
    group.replaceChildren(...(strip === null ? [] : [strip]));
  }

  function showPair(): void {
    const { pair } = state.get();
    if (matrix === null) return;
    const [row, column] =
      pair === null ? [-1, -1] : [matrix.unitOf(pair[0]), matrix.unitOf(pair[1])];
    strip.classList.toggle("aw-has-pair", row >= 0 && column >= 0);
    strip.replaceChildren(
      row < 0 || column < 0
        ? pairHint(matrix.size)
        : linkStrip(
            element,
            matrix,
            row,
            column,
            labels,
            numbers.of(matrix, row, column),
            facts,
            () => state.set({ pair: null }),
            laterParts()?.carriedSum(stage, matrix, row, column),
          ),
    );
  }

  function drawn(): void {
    drawFlowPanel();
    if (matrix !== null) laterParts()?.windows.axes(map, source.meta, matrix.units);
  }

  function setThreshold(value: number): void {
    threshold = value;
    controls.threshold(value, matrix?.max ?? 1);
  }

  const flowGeometry = (): Geometry | null => map.geometry && layoutFlow(map.geometry, wide);

  const flowData = (shown: Matrix, widest: number) => ({
    size: shown.size,
    values: shown.weights,
    max: topOf(shown, state.get().scale),
    scale: state.get().scale,
    labels,
    longest: widest,
    received: shown.received,
    threshold,
  });

  function drawFlowPanel(): void {
    const geometry = flowGeometry();
    if (matrix === null || geometry === null || width === 0) return;
    if (!wide && element.dataset.awPicture === "matrix") return;
    colors ??= palette(element);
    longest ??= longestLabel(penOf(flow), labels, colors.font);
    const data = flowData(matrix, longest);
    const drawn = drawFlow(
      flow,
      flowWidth(geometry, width, wide),
      data,
      geometry,
      highlights(matrix),
      colors,
    );
    controls.links(threshold, drawn);
  }

  function hover(cell: Cell | null): void {
    if (cell?.row === cursor?.row && cell?.column === cursor?.column) return;
    cursor = cell;
    map.highlight({ hover: cell });
    drawFlowPanel();
    showTip();
    if (cell !== null && cell.row >= 0 && cell.column >= 0) loadNumbers();
  }

  function showTip(): void {
    if (matrix === null || cursor === null || cursor.column < 0 || cursor.row < 0) {
      tip.hidden = true;
      return;
    }
    const { row, column } = cursor;
    const link = numbers.of(matrix, row, column);
    tip.replaceChildren(linkCard(matrix, row, column, labels, link, facts));
    tip.hidden = false;
    const cell = map.boxOf(cursor);
    if (cell === null) return;
    const card = { width: tip.offsetWidth, height: tip.offsetHeight };
    const room = { width: pictures.clientWidth, height: map.element.clientHeight };
    const { x, y } = placeCard(cell, card, room);
    tip.style.transform = `translate(${x}px, ${y}px)`;
  }

  /** With Ctrl or Cmd a cell joins the group. */
  function pick(cell: Cell, gathering = false): void {
    if (matrix === null) return;
    if (gathering) gatherCell(stage, matrix, labels, cell);
    else pickCell(stage, matrix, cell);
  }

  const say = (shown: Matrix): void =>
    writeSentence(sentence, shown, shown.unitOf(state.get().token), labels, facts);

  function speak(): void {
    if (matrix === null || cursor === null || cells === null) return;
    const { row, column } = cursor;
    const value = spokenCell(matrix, cells, row * matrix.size + column);
    stage.announce(`${labels[row]} to ${labels[column]}: ${value}`);
  }

  /** Release selections one by one; false if there is none. */
  function letGo(): boolean {
    const { pair, group: tokens } = state.get();
    if (cursor !== null) hover(null);
    else if (pair !== null) state.set({ pair: null });
    else if (tokens.length > 0) state.set({ group: [] });
    else return false;
    return true;
  }

  element.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Escape" || event.target === map.element || !letGo()) return;
      consume(event);
    },
    { signal },
  );
  listenToMap(
    map,
    {
      matrix: () => matrix,
      cursor: () => cursor,
      focused: (shown) => shown.unitOf(state.get().token),
      hover,
      pick,
      letGo,
      speak,
    },
    signal,
  );
  listenToFlow(flow, { geometry: flowGeometry, hover, pick }, signal);

  function layout(next: number): void {
    width = next;
    const pictures = layoutPictures(width, state.get().height);
    wide = pictures.wide;
    element.classList.toggle("aw-wide", wide);
    map.resize(pictures.width, pictures.height);
  }

  stage.matrix.on(show, signal, "first");
  state.on(["token", "pair", "group"], mark, signal);
  state.on(["scale"], rescale, signal);
  state.on(["height"], () => layout(width), signal);
  onResize(element, layout, signal);
  onTheme(
    element,
    () => {
      colors = null;
      map.recolor();
      if (cells !== null && cells.most !== null) controls.legend(cells.most, matrix?.scoreError);
      showPair();
    },
    signal,
  );
  withParts(redraw, signal);
  withParts(mark, signal);
  askLanguage(source, signal, (found) => {
    language = found;
    findBoundaries();
    if (boundaries.length > 0) redraw();
    showPair();
    showTip();
  });
  return {
    dispose() {
      element.classList.remove("aw-wide");
      element.replaceChildren();
    },
    table: () => (matrix === null ? null : attentionTable(stage, matrix)),
    part(of) {
      const shown = map.geometry === null ? null : windowOf(map.geometry);
      const bars = of === "svg" ? laterParts()?.windows.bars(source.meta) : null;
      return [shown, bars].filter(Boolean).join(" ") || null;
    },
    svg() {
      const geometry = map.geometry;
      if (matrix === null || cells === null || geometry === null || matrix.size === 0) return null;
      colors ??= palette(element);
      longest ??= longestLabel(penOf(flow), labels, colors.font);
      const parts = { data: mapData(matrix, cells), links: flowData(matrix, longest), geometry };
      const lit = { highlights: highlights(matrix), units: matrix.units };
      const drawing = { ...parts, ...lit, width, wide };
      return laterParts()?.attentionVector(drawing, source.meta, colors) ?? null;
    },
  };
}
