/** The selected matrix: heatmap and flow side by side, exact numbers for every link. */

import { penOf } from "../../draw/canvas";
import { onTheme, type Palette, palette } from "../../draw/color/theme";
import { h } from "../../draw/dom";
import { drawFlow, flowAt } from "../../draw/heatmap/flow";
import {
  type Cell,
  type Geometry,
  Heatmap,
  type Highlights,
  longestLabel,
} from "../../draw/heatmap/heatmap";
import type { HeatmapData } from "../../draw/heatmap/types";
import { onResize } from "../../draw/resize";
import { byTouch, tapTwice } from "../../draw/touch";
import { type Boundary, boundariesOf } from "../../figures/derive/boundaries";
import { gathered } from "../../figures/derive/group";
import { magnitude, valueOfRank } from "../../figures/derive/matrix";
import { formatNumber } from "../../figures/format";
import { beyondOf, errorOf, type Matrix, topOf } from "../../figures/matrix";
import { schemeOf, spokenMatrix, unitLabel } from "../../figures/names";
import { createPairNumbers } from "../../figures/pairs";
import { itemAt, required } from "../../protocol/required";
import type { ViewContext, ViewHandle } from "../contract";
import { attentionControls } from "./controls";
import { attentionTable, attentionVector, windowOf } from "./export";
import { attendedList, groupStrip, membersOf } from "./group";
import { moveCell } from "./keys";
import { askLanguage, type Language } from "./language";
import { linkCard, linkStrip, type TokenFacts } from "./link";
import { twinTable } from "./matrix-table";
import { writeSentence } from "./sentence";

/** Heatmap and flow stand side by side from this width on (px). */
const WIDE = 640;
const FLOW = { least: 220, most: 340, gap: 24, top: 24 } as const;
const HEIGHT = { least: 240, most: 520 } as const;
/** Links drawn at first: about this many a query. */
const LINKS_PER_ROW = 2;
/** Beyond this many links the drawing is illegible. */
const LINKS_MOST = 240;

type Cells = Pick<HeatmapData, "values" | "allowed" | "ramp">;

/** Scores as a heatmap takes them: what is impossible is hatched and has no number. */
function scoreCells(
  scores: Float32Array,
  allowed: Uint8Array | null,
): Pick<Cells, "values" | "allowed"> {
  if (!scores.includes(-Infinity)) return { values: scores, allowed };
  return {
    values: scores.map((score) => (score === -Infinity ? 0 : score)),
    allowed: Uint8Array.from(scores, (score, i) =>
      score === -Infinity || allowed?.[i] === 0 ? 0 : 1,
    ),
  };
}

export function attention(element: HTMLElement, stage: ViewContext): ViewHandle {
  const { source, state, signal } = stage;
  const scheme = schemeOf(source.meta.tokens);
  const numbers = createPairNumbers(source, signal);
  let matrix: Matrix | null = null;
  let cells: Cells | null = null;
  /** Where the ramp of scores ends; null while weights are shown. */
  let most: number | null = null;
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

  const facts: TokenFacts = {
    id: (token) => itemAt(source.meta.tokens.id, token),
    tags: (token) => language?.tags(token) ?? null,
  };
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
  const map = new Heatmap({ hover, pick, drawn: () => drawFlowPanel() }, signal);
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
    cells =
      next.scores === null
        ? { values: next.weights, allowed: next.allowed, ramp: "weight" }
        : {
            ...scoreCells(next.scores, next.allowed),
            ramp: "signed",
          };
    most = next.scores === null ? null : magnitude(next.scores);
    controls.legend(most, next.scoreError);
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
    map.light(lit(next));
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

  const mapData = (shown: Matrix, shownCells: Cells): HeatmapData => ({
    size: shown.size,
    ...shownCells,
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

  function lit(shown: Matrix): Highlights {
    const { token, pair, group: tokens } = state.get();
    const { unitOf } = shown;
    const cell = pair === null ? null : { row: unitOf(pair[0]), column: unitOf(pair[1]) };
    return {
      row: unitOf(token),
      pair: cell !== null && cell.row >= 0 && cell.column >= 0 ? cell : null,
      hover: cursor,
      group: membersOf(shown, tokens),
    };
  }

  function redraw(): void {
    if (matrix !== null && cells !== null) map.show(mapData(matrix, cells));
  }

  function rescale(): void {
    redraw();
    drawFlowPanel();
  }

  function mark(): void {
    if (matrix === null) return;
    map.highlight(lit(matrix));
    drawFlowPanel();
    say(matrix);
    showGroup();
    showPair();
    if (state.get().pair !== null) loadNumbers();
  }

  function showGroup(): void {
    if (matrix === null) return;
    const found = groupStrip(stage, matrix, labels);
    group.replaceChildren(...(found === null ? [] : [found]));
  }

  function showPair(): void {
    const { pair } = state.get();
    if (matrix === null) return;
    const [row, column] =
      pair === null ? [-1, -1] : [matrix.unitOf(pair[0]), matrix.unitOf(pair[1])];
    const hint =
      matrix.size === 0
        ? "Only special tokens, and these are hidden: switch them on below."
        : byTouch()
          ? "Tap a cell for numbers, and again to pin it and open its arithmetic; hold labels to add tokens up."
          : "Hover for numbers; click a cell to pin it and open its arithmetic; " +
            "Ctrl + click labels to add tokens up.";
    strip.classList.toggle("aw-has-pair", row >= 0 && column >= 0);
    strip.replaceChildren(
      row < 0 || column < 0
        ? h("p", { class: "aw-hint" }, hint)
        : linkStrip(
            element,
            matrix,
            row,
            column,
            labels,
            numbers.of(matrix, row, column),
            facts,
            () => state.set({ pair: null }),
          ),
    );
  }

  function setThreshold(value: number): void {
    threshold = value;
    controls.threshold(value, matrix?.max ?? 1);
  }

  /** Beside the heatmap its rows are the flow's; alone it needs no room for column labels. */
  function flowGeometry(): Geometry | null {
    const g = map.geometry;
    if (g === null || wide) return g;
    const shift = FLOW.top - g.top;
    return {
      ...g,
      top: FLOW.top,
      left: g.left + shift,
      rows: { ...g.rows, start: g.rows.start + shift },
      columns: { ...g.columns, start: g.columns.start + shift },
    };
  }

  const flowWidth = (geometry: Geometry): number =>
    wide
      ? Math.max(FLOW.least, Math.min(FLOW.most, width - geometry.left - geometry.side - FLOW.gap))
      : width;

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
    const drawn = drawFlow(flow, flowWidth(geometry), data, geometry, lit(matrix), colors);
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
    const box = required(map.boxOf(cursor), "The cell");
    const room = pictures.clientWidth;
    const [w, tall] = [tip.offsetWidth, tip.offsetHeight];
    const right = box.x + box.size + 12;
    const before = box.x - w - 12;
    // Where there is no room beside the cell the card stands above or below it, and not on it.
    const beside = right + w <= room || before >= 0;
    const above = box.y - tall - 20;
    const x = right + w <= room ? right : Math.max(0, beside ? before : (room - w) / 2);
    const y = beside
      ? Math.max(0, Math.min(box.y - 8, map.element.clientHeight - tall))
      : above >= 0
        ? above
        : box.y + box.size + 20;
    tip.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
  }

  function gather(shown: Matrix, unit: number): void {
    const { token } = itemAt(shown.units, unit);
    const change = gathered(state.get().group, token);
    state.set({ group: change });
    const count = `${change.length} ${change.length === 1 ? "token" : "tokens"}`;
    stage.announce(
      `${labels[unit]} ${change.includes(token) ? "added to" : "taken from"} the group: ${count}`,
    );
  }

  /** A cell pins its pair, a label makes its token the focus; with Ctrl or Cmd both join the group. */
  function pick({ row, column }: Cell, gathering = false): void {
    if (matrix === null) return;
    if (gathering) {
      gather(matrix, column >= 0 ? column : row);
      return;
    }
    const token = itemAt(matrix.units, row >= 0 ? row : column).token;
    if (row < 0 || column < 0) {
      state.set({ token: state.get().token === token ? null : token });
      return;
    }
    const { pair } = state.get();
    const key = itemAt(matrix.units, column).token;
    const same = pair !== null && pair[0] === token && pair[1] === key;
    state.set({ token, pair: same ? null : [token, key] });
  }

  const say = (shown: Matrix): void =>
    writeSentence(sentence, shown, shown.unitOf(state.get().token), labels);

  function speak(): void {
    if (matrix === null || cursor === null || cells === null) return;
    const { row, column } = cursor;
    const at = row * matrix.size + column;
    const value =
      cells.allowed?.[at] === 0
        ? "impossible, masked"
        : formatNumber(
            itemAt(cells.values, at),
            undefined,
            matrix.scores === null ? errorOf(matrix, itemAt(cells.values, at)) : matrix.scoreError,
          );
    stage.announce(`${labels[row]} to ${labels[column]}: ${value}`);
  }

  /** Let go of one thing after another; false when nothing is held. */
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
      event.preventDefault();
      event.stopPropagation();
    },
    { signal },
  );
  map.element.addEventListener(
    "keydown",
    (event) => {
      if (matrix === null || matrix.size === 0 || event.altKey) return;
      const { row, column } = cursor ?? {
        row: matrix.unitOf(state.get().token),
        column: 0,
      };
      const at = { row: Math.max(row, 0), column: Math.max(column, 0) };
      const control = event.ctrlKey || event.metaKey;
      if ((control && event.key === "Enter") || (event.shiftKey && event.key === " ")) {
        pick(at, true);
      } else if (control) return;
      else {
        const cell = moveCell(event.key, at, matrix, cursor === null);
        if (cell !== null) {
          hover(cell);
          map.reveal(cell);
          speak();
        } else if (event.key === "Enter" || event.key === " ") pick(at);
        else if (event.key === "+" || event.key === "=") map.zoomBy(1.6);
        else if (event.key === "-") map.zoomBy(1 / 1.6);
        else if (event.key === "0") map.resetZoom();
        else if (event.key !== "Escape" || !letGo()) return;
      }
      event.preventDefault();
      event.stopPropagation();
    },
    { signal },
  );
  map.element.addEventListener("blur", () => hover(null), { signal });
  const overFlow = (event: MouseEvent): Cell | null => {
    const box = flow.getBoundingClientRect();
    const geometry = flowGeometry();
    return (
      geometry && flowAt(geometry, box.width, event.clientX - box.left, event.clientY - box.top)
    );
  };
  const linkOf = (event: MouseEvent): string | null => {
    const cell = overFlow(event);
    return cell && `${cell.row} ${cell.column}`;
  };
  tapTwice(flow, linkOf, signal);
  flow.addEventListener("pointermove", (event) => hover(overFlow(event)), { signal });
  flow.addEventListener("pointerleave", () => hover(null), { signal });
  flow.addEventListener(
    "click",
    (event) => {
      const cell = overFlow(event);
      if (cell !== null) pick(cell, event.ctrlKey || event.metaKey);
    },
    { signal },
  );

  function layout(next: number): void {
    width = next;
    wide = width >= WIDE;
    element.classList.toggle("aw-wide", wide);
    const { height } = state.get();
    const tall =
      height ?? Math.max(HEIGHT.least, Math.min(HEIGHT.most, wide ? width * 0.75 : width * 1.1));
    map.resize(wide ? width - FLOW.least - FLOW.gap : width, tall);
  }

  const stops = [
    stage.matrix.on(show, "first"),
    state.on(["token", "pair", "group"], mark),
    state.on(["scale"], rescale),
    state.on(["height"], () => layout(width)),
  ];
  onResize(element, layout, signal);
  onTheme(
    element,
    () => {
      colors = null;
      map.recolor();
      if (most !== null) controls.legend(most, matrix?.scoreError);
      showPair();
    },
    signal,
  );
  askLanguage(source, signal, (found) => {
    language = found;
    findBoundaries();
    if (boundaries.length > 0) redraw();
    showPair();
    showTip();
  });
  return {
    dispose() {
      for (const stop of stops) stop();
      element.classList.remove("aw-wide");
      element.replaceChildren();
    },
    table: () => (matrix === null ? null : attentionTable(stage, matrix)),
    part: () => (map.geometry === null ? null : windowOf(map.geometry)),
    svg() {
      const geometry = map.geometry;
      if (matrix === null || cells === null || geometry === null || matrix.size === 0) return null;
      colors ??= palette(element);
      longest ??= longestLabel(penOf(flow), labels, colors.font);
      return attentionVector(
        mapData(matrix, cells),
        flowData(matrix, longest),
        { ...geometry, flowWidth: flowWidth(geometry), gap: wide ? FLOW.gap : 0 },
        lit(matrix),
        colors,
      );
    },
  };
}
