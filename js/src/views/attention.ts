/** The selected head: heatmap and flow side by side, exact numbers for every link. */

import { largest, valueOfRank } from "../derive/matrix";
import { h, setAttributes } from "../draw/dom";
import { drawFlow, flowAt } from "../draw/flow";
import { formatNumber } from "../draw/format";
import { onResize } from "../draw/gauge";
import { type Cell, type Geometry, Heatmap, type Highlights, longestLabel } from "../draw/heatmap";
import { icon } from "../draw/icon";
import { onTheme, type Palette, palette } from "../draw/theme";
import type { Matrix, Stage } from "../matrix";
import { headName, schemeOf, spokenHead, unitLabel } from "../names";
import { createPairNumbers } from "../pairs";
import type { Drawn } from "../types";
import { linkCard, linkStrip } from "./link";
import { twinTable } from "./twin";

/** Heatmap and flow stand side by side from this width on (px). */
const WIDE = 640;
const FLOW = { least: 220, most: 340, gap: 24, top: 24 } as const;
const HEIGHT = { least: 240, most: 520 } as const;
/** Links drawn at first: about this many a query. */
const LINKS_PER_ROW = 2;
/** More lines than this are a carpet. */
const LINKS_MOST = 240;
const SLIDER_STEPS = 1000;
/** A slider position is the square root of a share of the maximum: small thresholds matter most. */
const toThreshold = (position: number, max: number): number => (position / SLIDER_STEPS) ** 2 * max;
const toPosition = (threshold: number, max: number): number =>
  max > 0 ? Math.round(Math.sqrt(threshold / max) * SLIDER_STEPS) : 0;

export function attention(element: HTMLElement, stage: Stage): Drawn {
  const { source, state, signal } = stage;
  const scheme = schemeOf(source.meta.tokens);
  const numbers = createPairNumbers(source, signal);
  let matrix: Matrix | null = null;
  let named: Matrix["units"] | null = null;
  let labels: string[] = [];
  let longest: number | null = null;
  let width = 0;
  let wide = true;
  let threshold = 0;
  /** Chosen by hand: kept as a share of the maximum when the head changes. */
  let share: number | null = null;
  let cursor: Cell | null = null;
  let colors: Palette | null = null;

  const button = (label: string, face: string | SVGElement, act: () => void): HTMLButtonElement => {
    const made = h(
      "button",
      { type: "button", class: "aw-button", "aria-label": label, title: label },
      face,
    );
    made.addEventListener("click", act, { signal });
    return made;
  };
  const title = h("h3", { class: "aw-title", "data-aw-part": "head-name" });
  const subtitle = h("span", { class: "aw-muted" });
  const slider = h("input", {
    type: "range",
    class: "aw-slider",
    min: 0,
    max: SLIDER_STEPS,
    step: 1,
    "aria-label": "Draw links from this weight on",
    "data-aw-part": "threshold",
  });
  const sliderText = h("output", { class: "aw-number aw-slider-text", "data-aw-part": "links" });
  const which = h(
    "div",
    { class: "aw-segmented", role: "group", "aria-label": "Picture" },
    ...(["Matrix", "Flow"] as const).map((name) => {
      const option = h(
        "button",
        { type: "button", "aria-pressed": String(name === "Matrix") },
        name,
      );
      option.addEventListener(
        "click",
        () => {
          element.dataset.awPicture = name.toLowerCase();
          for (const other of which.children) {
            other.setAttribute("aria-pressed", String(other === option));
          }
          drawFlowPanel();
        },
        { signal },
      );
      return option;
    }),
  );
  const zoomControls = h(
    "div",
    { class: "aw-zoom" },
    button("Zoom out", "−", () => map.zoomBy(1 / 1.6)),
    button("Zoom in", "+", () => map.zoomBy(1.6)),
    button("Show all", icon("fit"), () => map.resetZoom()),
  );
  const flowControls = h("label", { class: "aw-flow-controls" }, "links from", slider, sliderText);
  const tip = h("div", { class: "aw-tip", role: "presentation", hidden: true });
  const flow = h("canvas", { class: "aw-flow", role: "img", "data-aw-part": "flow" });
  const strip = h("div", { class: "aw-link-strip", "data-aw-part": "pair" });
  const twin = twinTable(
    stage,
    () => matrix,
    () => labels,
  );

  const map = new Heatmap(
    {
      hover: (cell) => hover(cell),
      pick: (cell) => pick(cell),
      drawn: () => drawFlowPanel(),
    },
    signal,
  );
  map.element.append(tip);
  const pictures = h("div", { class: "aw-pictures" }, map.element, flow);
  element.dataset.awPicture = "matrix";
  element.append(
    h("div", { class: "aw-panel-head" }, title, subtitle, which, zoomControls, flowControls),
    pictures,
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
    }
    cursor = cursor !== null && cursor.row < next.size && cursor.column < next.size ? cursor : null;
    setThreshold(
      share === null
        ? valueOfRank(next.weights, Math.min(LINKS_PER_ROW * next.size, LINKS_MOST), next.max)
        : share * next.max,
    );
    title.textContent = headName(next.layer, next.head);
    subtitle.textContent = `${next.size} × ${next.size}, largest ${formatNumber(next.max)}`;
    map.element.setAttribute(
      "aria-label",
      `Attention of ${spokenHead(next.layer, next.head)}, ${next.size} by ${next.size}. ` +
        "Arrow keys move over cells, Enter pins one.",
    );
    flow.setAttribute("aria-label", `Links of ${spokenHead(next.layer, next.head)} as lines`);
    pictures.hidden = next.size === 0;
    map.light(lit(next));
    map.show(mapData(next));
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
    void numbers.load(next).then(() => {
      if (matrix !== next || signal.aborted) return;
      showPair();
      showTip();
    });
  }

  const mapData = (shown: Matrix) => ({
    size: shown.size,
    values: shown.weights,
    allowed: shown.allowed,
    max: shown.max,
    scale: state.get().scale,
    labels,
    marginal: shown.received,
    marginalName: "received",
  });

  function lit({ unitOf }: Matrix): Highlights {
    const { token, pair } = state.get();
    const cell = pair === null ? null : { row: unitOf(pair[0]), column: unitOf(pair[1]) };
    return {
      row: unitOf(token),
      pair: cell !== null && cell.row >= 0 && cell.column >= 0 ? cell : null,
      hover: cursor,
    };
  }

  function mark(): void {
    if (matrix === null) return;
    map.highlight(lit(matrix));
    drawFlowPanel();
    showPair();
  }

  function showPair(): void {
    const { pair } = state.get();
    if (matrix === null) return;
    const [row, column] =
      pair === null ? [-1, -1] : [matrix.unitOf(pair[0]), matrix.unitOf(pair[1])];
    strip.replaceChildren(
      row < 0 || column < 0
        ? h(
            "p",
            { class: "aw-hint" },
            matrix.size === 0
              ? "Only special tokens, and these are hidden: switch them on below."
              : "Hover for numbers; click a cell to pin it and open its arithmetic.",
          )
        : linkStrip(matrix, row, column, labels, numbers.of(matrix, row, column), () =>
            state.set({ pair: null }),
          ),
    );
  }

  function setThreshold(value: number): void {
    threshold = value;
    slider.value = String(toPosition(value, matrix?.max ?? 1));
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

  function drawFlowPanel(): void {
    const geometry = flowGeometry();
    if (matrix === null || geometry === null || width === 0) return;
    const room = wide ? width - geometry.left - geometry.side - FLOW.gap : width;
    const flowWidth = Math.max(FLOW.least, Math.min(FLOW.most, room));
    colors ??= palette(element);
    longest ??= longestLabel(flow.getContext("2d")!, labels, colors.font);
    const { scale } = state.get();
    const drawn = drawFlow(
      flow,
      wide ? flowWidth : width,
      {
        size: matrix.size,
        values: matrix.weights,
        max: matrix.max,
        scale,
        labels,
        longest,
        received: matrix.received,
        threshold,
      },
      geometry,
      lit(matrix),
      colors,
    );
    sliderText.textContent = `${formatNumber(threshold)} · ${drawn} links`;
    setAttributes(sliderText, { "data-aw-value": drawn, title: `${drawn} links are drawn` });
    slider.setAttribute("aria-valuetext", `${formatNumber(threshold)}, ${drawn} links`);
  }

  function hover(cell: Cell | null): void {
    if (cell?.row === cursor?.row && cell?.column === cursor?.column) return;
    cursor = cell;
    map.highlight({ hover: cell });
    drawFlowPanel();
    showTip();
  }

  function showTip(): void {
    if (matrix === null || cursor === null || cursor.column < 0 || cursor.row < 0) {
      tip.hidden = true;
      return;
    }
    tip.replaceChildren(
      linkCard(
        matrix,
        cursor.row,
        cursor.column,
        labels,
        numbers.of(matrix, cursor.row, cursor.column),
      ),
    );
    tip.hidden = false;
    const box = map.boxOf(cursor)!;
    const room = map.element.parentElement!.clientWidth;
    const [w, tall] = [tip.offsetWidth, tip.offsetHeight];
    const right = box.x + box.size + 12;
    const x = right + w <= room ? right : Math.max(0, box.x - w - 12);
    const y = Math.max(0, Math.min(box.y - 8, map.element.clientHeight - tall));
    tip.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
  }

  function pick({ row, column }: Cell): void {
    if (matrix === null || row < 0) return;
    const token = matrix.units[row]!.token;
    if (column < 0) {
      state.set({ token: state.get().token === token ? null : token });
      return;
    }
    const { pair } = state.get();
    const key = matrix.units[column]!.token;
    const same = pair !== null && pair[0] === token && pair[1] === key;
    state.set({ token, pair: same ? null : [token, key] });
  }

  function say(): void {
    if (matrix === null || cursor === null) return;
    const { row, column } = cursor;
    const weight = matrix.weights[row * matrix.size + column]!;
    const impossible = matrix.allowed !== null && matrix.allowed[row * matrix.size + column] === 0;
    stage.announce(
      `${labels[row]} to ${labels[column]}: ${impossible ? "impossible, masked" : formatNumber(weight)}`,
    );
  }

  map.element.addEventListener(
    "keydown",
    (event) => {
      if (matrix === null || event.ctrlKey || event.metaKey || event.altKey) return;
      const last = matrix.size - 1;
      const { row, column } = cursor ?? {
        row: Math.max(0, matrix.unitOf(state.get().token)),
        column: 0,
      };
      const at = { row: Math.max(row, 0), column: Math.max(column, 0) };
      const page = Math.max(1, Math.round(last / 10));
      const moves: Record<string, () => Cell> = {
        ArrowLeft: () => ({ ...at, column: at.column - 1 }),
        ArrowRight: () => ({ ...at, column: at.column + (cursor === null ? 0 : 1) }),
        ArrowUp: () => ({ ...at, row: at.row - 1 }),
        ArrowDown: () => ({ ...at, row: at.row + 1 }),
        PageUp: () => ({ ...at, row: at.row - page }),
        PageDown: () => ({ ...at, row: at.row + page }),
        Home: () => ({ ...at, column: 0 }),
        End: () => ({ ...at, column: last }),
        // The strongest key of this row.
        m: () => ({
          ...at,
          column: largest(
            matrix!.weights.subarray(at.row * matrix!.size, (at.row + 1) * matrix!.size),
            1,
          )[0]!,
        }),
      };
      const move = moves[event.key];
      if (move !== undefined) {
        const next = move();
        const cell = {
          row: Math.min(Math.max(next.row, 0), last),
          column: Math.min(Math.max(next.column, 0), last),
        };
        hover(cell);
        map.reveal(cell);
        say();
      } else if (event.key === "Enter" || event.key === " ") pick(at);
      else if (event.key === "+" || event.key === "=") map.zoomBy(1.6);
      else if (event.key === "-") map.zoomBy(1 / 1.6);
      else if (event.key === "0") map.resetZoom();
      else if (event.key === "Escape" && (cursor !== null || state.get().pair !== null)) {
        if (cursor !== null) hover(null);
        else state.set({ pair: null });
      } else return;
      event.preventDefault();
      event.stopPropagation();
    },
    { signal },
  );
  map.element.addEventListener("blur", () => hover(null), { signal });
  slider.addEventListener(
    "input",
    () => {
      threshold = toThreshold(Number(slider.value), matrix?.max ?? 1);
      share = matrix !== null && matrix.max > 0 ? threshold / matrix.max : null;
      drawFlowPanel();
    },
    { signal },
  );
  const overFlow = (event: PointerEvent | MouseEvent): Cell | null => {
    const box = flow.getBoundingClientRect();
    const geometry = flowGeometry();
    return (
      geometry && flowAt(geometry, box.width, event.clientX - box.left, event.clientY - box.top)
    );
  };
  flow.addEventListener("pointermove", (event) => hover(overFlow(event)), { signal });
  flow.addEventListener("pointerleave", () => hover(null), { signal });
  flow.addEventListener(
    "click",
    (event) => {
      const cell = overFlow(event);
      if (cell !== null && cell.row >= 0) pick(cell);
    },
    { signal },
  );

  function layout(next: number): void {
    width = next;
    wide = width >= WIDE;
    element.classList.toggle("aw-wide", wide);
    const { height } = state.get();
    const most =
      height ?? Math.max(HEIGHT.least, Math.min(HEIGHT.most, wide ? width * 0.75 : width * 1.1));
    map.resize(wide ? width - FLOW.least - FLOW.gap : width, most);
  }

  const stops = [
    stage.matrix.on(show),
    state.on(["token", "pair"], mark),
    state.on(["scale"], () => {
      if (matrix !== null) map.show(mapData(matrix));
      mark();
    }),
    state.on(["height"], () => layout(width)),
  ];
  onResize(element, layout, signal);
  onTheme(
    element,
    () => {
      colors = null;
      map.recolor();
    },
    signal,
  );
  return {
    dispose() {
      for (const stop of stops) stop();
      element.classList.remove("aw-wide");
      element.replaceChildren();
    },
    table: () => null,
  };
}
