/** The whole text on one line: what a token's row, or all queries, give to each part; windows to drag, hits as ticks. */

import { binned, brushed, type Range } from "../../figures/long/levels";
import { fitCanvas } from "../canvas";
import { type Ramp, ramp } from "../color/ramp";
import { type Palette, palette } from "../color/theme";
import { consume, h } from "../dom";

const LANE = { height: 18, gap: 3, ticks: 5 } as const;
/** A window narrower than this on screen (px) is still drawn so wide. */
const MIN_PX = 4;
/** Palest color of a bar: one that is paler is lost on the ground. */
const PALEST = 40;
/** A press that moves less (px) is a click: the window's middle goes there. */
const SLACK = 3;

interface Lane {
  readonly name: string;
  readonly window: Range;
}

interface MinimapData {
  readonly size: number;
  /** One number a token; NaN has no color. */
  readonly values: ArrayLike<number>;
  readonly top: number;
  /** In gray behind them: what each token receives of all. */
  readonly base: ArrayLike<number>;
  /** Tokens where a part of the text begins. */
  readonly breaks: readonly number[];
  readonly hits: readonly number[];
  /** Token in focus; -1 for none. */
  readonly focus: number;
  readonly lanes: readonly Lane[];
}

interface MinimapEvents {
  /** A window of a lane was dragged. */
  moved(lane: number, window: Range): void;
  /** A new window was drawn. */
  brushed(window: Range): void;
}

interface Minimap {
  readonly element: HTMLElement;
  show(data: MinimapData): void;
  resize(width: number): void;
  recolor(): void;
}

/** Start of a lane's name of `room` px: left of the window, right of it, or in it; not on the line of the focus. */
export function labelPlace(
  [from, to]: Range,
  room: number,
  width: number,
  line: number | null,
): number {
  const places = [...(from > room ? [0] : []), ...(to + room < width ? [width - room] : []), from];
  const free = (at: number): boolean => line === null || line < at || line > at + room;
  return places.find(free) ?? (line ?? 0) + 2;
}

/** One lane: gray bars of what is received, colored bars of the values, and the window. */
function paintLane(
  context: CanvasRenderingContext2D,
  { name, window, top }: Lane & { readonly top: number },
  shown: MinimapData,
  {
    base,
    bars,
    width,
  }: { readonly base: Float32Array; readonly bars: Float32Array; readonly width: number },
  colors: Palette,
): void {
  const { css }: Ramp = ramp("weight", colors.mode);
  const x = (token: number): number => (token / shown.size) * width;
  const most = base.reduce((a, b) => Math.max(a, b), 0);
  context.fillStyle = colors.line;
  context.globalAlpha = 0.35;
  context.fillRect(0, top, width, LANE.height);
  context.globalAlpha = 1;
  context.fillStyle = colors.muted;
  context.globalAlpha = 0.3;
  base.forEach((value, at) => {
    const tall = most > 0 ? Math.sqrt(value / most) * LANE.height : 0;
    context.fillRect(at, top + LANE.height - tall, 1, tall);
  });
  context.globalAlpha = 1;
  if (shown.values !== shown.base)
    bars.forEach((value, at) => {
      if (!(value > 0) || !(shown.top > 0)) return;
      const share = Math.sqrt(Math.min(value / shown.top, 1));
      context.fillStyle = css[Math.max(PALEST, Math.round(share * 255))] ?? "";
      const tall = Math.max(1, share * LANE.height);
      context.fillRect(at, top + LANE.height - tall, 1, tall);
    });
  const [a, b] = [x(window[0]), Math.max(x(window[1]), x(window[0]) + MIN_PX)];
  context.fillStyle = colors.ground;
  context.globalAlpha = 0.55;
  context.fillRect(0, top, a, LANE.height);
  context.fillRect(b, top, width - b, LANE.height);
  context.globalAlpha = 1;
  context.strokeStyle = colors.ink;
  context.lineWidth = 1.5;
  context.strokeRect(a + 0.75, top + 0.75, Math.max(b - a - 1.5, 1), LANE.height - 1.5);
  context.font = `10px ${colors.font}`;
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.fillStyle = colors.ink;
  const room = context.measureText(name).width + 8;
  const at = labelPlace([a, b], room, width, shown.focus < 0 ? null : x(shown.focus + 0.5));
  context.fillText(name, at + 4, top + LANE.height / 2 + 0.5);
}

export function minimap(
  label: string,
  events: MinimapEvents,
  signal: AbortSignal,
  least = 16,
): Minimap {
  const canvas = h("canvas", { "aria-hidden": "true" });
  const element = h(
    "div",
    {
      class: "aw-minimap",
      tabindex: 0,
      role: "slider",
      "aria-label": label,
      "data-aw-part": "minimap",
      title: `${label}: drag a window, or draw a new one; arrows move it`,
    },
    canvas,
  );
  let data: MinimapData | null = null;
  let width = 0;
  let colors: Palette | null = null;
  const bins = new Map<ArrayLike<number>, Float32Array>();
  /** While a new window is drawn. */
  let drawing: Range | null = null;

  const tokenAt = (x: number): number =>
    data === null || width === 0 ? 0 : (Math.max(0, Math.min(width, x)) / width) * data.size;
  const laneAt = (y: number, shown: MinimapData): number =>
    Math.max(0, Math.min(shown.lanes.length - 1, Math.floor(y / (LANE.height + LANE.gap))));

  function draw(): void {
    if (data === null || width === 0) return;
    const shown = data;
    colors ??= palette(element);
    const { lanes, size } = shown;
    const height = lanes.length * (LANE.height + LANE.gap) + LANE.ticks;
    const context = fitCanvas(canvas, width, height);
    const x = (token: number): number => (token / size) * width;
    const barsOf = (values: ArrayLike<number>): Float32Array => {
      const cached = bins.get(values);
      if (cached?.length === Math.round(width)) return cached;
      if (bins.size > 3) bins.clear();
      const fresh = binned(values, Math.max(1, Math.round(width)));
      bins.set(values, fresh);
      return fresh;
    };
    const places = { base: barsOf(shown.base), bars: barsOf(shown.values), width };
    for (const [i, { name, window }] of lanes.entries()) {
      const top = i * (LANE.height + LANE.gap);
      paintLane(context, { name, window: drawing ?? window, top }, shown, places, colors);
    }
    const foot = height - LANE.ticks;
    context.fillStyle = colors.muted;
    context.globalAlpha = 0.6;
    for (const token of shown.breaks) context.fillRect(Math.round(x(token)), foot, 1, 2);
    context.globalAlpha = 1;
    context.fillStyle = colors.accent;
    for (const token of shown.hits)
      context.fillRect(Math.round(x(token)) - 0.5, foot, 2, LANE.ticks);
    if (shown.focus >= 0) {
      context.fillStyle = colors.ink;
      context.fillRect(Math.round(x(shown.focus + 0.5)) - 1, 0, 2, height);
    }
    const [from, to] = lanes[0]?.window ?? [0, size];
    element.setAttribute("aria-valuemin", "0");
    element.setAttribute("aria-valuemax", String(size));
    element.setAttribute("aria-valuenow", String(Math.round((from + to) / 2)));
    element.setAttribute(
      "aria-valuetext",
      `tokens ${Math.round(from)} to ${Math.round(to)} of ${size}`,
    );
  }

  let drag: { readonly lane: number; readonly offset: number | null; readonly x: number } | null =
    null;
  const place = (event: PointerEvent): readonly [number, number] => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  element.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button !== 0 || data === null) return;
      const [px, py] = place(event);
      const lane = laneAt(py, data);
      const [from, to] = data.lanes[lane]?.window ?? [0, data.size];
      const at = tokenAt(px);
      const whole = to - from >= data.size - 1;
      const slack = (SLACK / Math.max(width, 1)) * data.size;
      const inside = !whole && at >= from - slack && at <= to + slack;
      drag = { lane, offset: inside ? at - (from + to) / 2 : null, x: px };
      element.setPointerCapture(event.pointerId);
    },
    { signal },
  );
  element.addEventListener(
    "pointermove",
    (event) => {
      if (drag === null || data === null) return;
      const [px] = place(event);
      if (drag.offset === null) {
        if (Math.abs(px - drag.x) > SLACK) {
          drawing = brushed(tokenAt(drag.x), tokenAt(px), data.size, least);
          draw();
        }
        return;
      }
      move(drag.lane, tokenAt(px) - drag.offset);
    },
    { signal },
  );
  const lift = (): void => {
    if (drag === null || data === null) return;
    const { offset, lane, x: pressed } = drag;
    drag = null;
    if (offset !== null) return;
    if (drawing !== null) {
      const window = drawing;
      drawing = null;
      events.brushed(window);
      return;
    }
    data.lanes.forEach((_, i) => {
      if (i === lane || data?.lanes.length === 2) move(i, tokenAt(pressed));
    });
  };
  element.addEventListener("pointerup", lift, { signal });
  element.addEventListener("pointercancel", lift, { signal });

  function move(lane: number, middle: number): void {
    if (data === null) return;
    const [from, to] = data.lanes[lane]?.window ?? [0, data.size];
    const half = (to - from) / 2;
    events.moved(lane, brushed(middle - half, middle + half, data.size, to - from));
  }

  element.addEventListener(
    "keydown",
    (event) => {
      if (data === null || event.ctrlKey || event.metaKey || event.altKey) return;
      const [from, to] = data.lanes[0]?.window ?? [0, data.size];
      const wide = to - from;
      const step = {
        ArrowLeft: -wide / 4,
        ArrowRight: wide / 4,
        PageUp: -wide,
        PageDown: wide,
        Home: -data.size,
        End: data.size,
      }[event.key];
      if (step === undefined) return;
      data.lanes.forEach(({ window }, i) => {
        move(i, (window[0] + window[1]) / 2 + step);
      });
      consume(event);
    },
    { signal },
  );
  return {
    element,
    show(next) {
      data = next;
      draw();
    },
    resize(next) {
      width = next;
      draw();
    },
    recolor() {
      colors = null;
      draw();
    },
  };
}
