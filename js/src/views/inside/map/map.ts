/** The whole model as a map: every box a stage, every row of the column a layer. */

import { consume, setAttributes } from "../../../draw/dom";
import { svg } from "../../../draw/strip";
import { argmax } from "../../../figures/derive/dimensions";
import type { StageBox, StageId, Zone } from "../../../figures/derive/stages";
import { exact, formatNumber } from "../../../figures/format";
import { itemAt } from "../../../protocol/required";
import {
  AROUND,
  CHARACTER,
  type Layout,
  layoutMap,
  type Placed,
  type Rect,
  sizesOf,
  type Wire,
} from "./layout";

/** Residual bars of the focus token, by layer, and the change to the next layer. */
export interface Bars {
  readonly attention: readonly number[];
  readonly ffn: readonly number[];
  readonly change: readonly number[];
}

export interface MapData {
  readonly stages: readonly StageBox[];
  readonly layers: number;
  readonly layer: number;
  readonly open: StageId;
  /** Names of the zones. */
  readonly headings: Readonly<Record<Zone | "layers", string>>;
  /** Null while unknown. */
  readonly bars: Bars | null;
}

export interface MapEvents {
  open(id: StageId): void;
  layer(layer: number): void;
  /** The pointer or the focus is on a box or a layer, or on none. */
  point(at: StageBox | number | null): void;
}

/** A sentence about numbers that the bars show, for screen readers. */
function spokenLayer(layer: number, bars: Bars | null): string {
  if (bars === null) return `L${layer}`;
  const change = bars.change[layer];
  return (
    `L${layer}: residual of attention ${formatNumber(itemAt(bars.attention, layer))}, ` +
    `of FFN ${formatNumber(itemAt(bars.ffn, layer))}` +
    (change === undefined ? "" : `; attention changes by ${formatNumber(change)} to the next layer`)
  );
}

const HEADS: Record<Wire["head"]["to"], string> = {
  right: "l-5 -3v6z",
  down: "l-3 -5h6z",
  up: "l-3 5h6z",
};

function wire({ kind, d, head }: Wire): SVGElement {
  const group = svg("g", { class: `aw-wire aw-wire-${kind}` });
  group.append(
    svg("path", { class: "aw-wire-line", d }),
    svg("path", { class: "aw-wire-head", d: `M${head.x} ${head.y}${HEADS[head.to]}` }),
  );
  return group;
}

function write(x: number, y: number, name: string, text: string): SVGElement {
  const element = svg("text", { x, y, class: name });
  element.textContent = text;
  return element;
}

function box({ stage, x, y, w, h }: Placed, open: boolean): SVGElement {
  const absent = stage.missing !== null;
  const element = svg("g", {
    class: `aw-stage${absent ? " is-absent" : ""}${open ? " is-open" : ""}`,
    role: "button",
    tabindex: -1,
    "data-aw-part": "stage",
    "data-stage": stage.id,
    "aria-pressed": String(open),
  });
  const fits = (text: string, per: number): boolean => text.length * per <= w - AROUND;
  const title = fits(stage.title, CHARACTER.title) ? stage.title : stage.short;
  // Text that does not fit a narrow box goes to the line below the map.
  const size = sizesOf(stage).find((text) => fits(text, CHARACTER.size)) ?? "";
  element.append(
    svg("rect", {
      class: "aw-stage-box",
      x: x + 0.5,
      y: y + 0.5,
      width: w - 1,
      height: h - 1,
      rx: 4,
    }),
    write(x + w / 2, y + 15, "aw-stage-title", title),
    write(x + w / 2, y + 29, "aw-stage-size", absent ? "–" : size),
  );
  return element;
}

/** Shares of the column: name of the layer, residual bars, change to the next layer. */
const COLUMN = { label: 28, change: 0.24, gap: 8, value: 34 } as const;
/** A column narrower than this has a mark where the wider one has the number. */
const NUMBERED = 160;
const MARK = 12;

function column({ column: at, frame }: Layout, data: MapData): SVGElement[] {
  const { bars, layer: chosen } = data;
  const change = Math.round((at.w - COLUMN.label) * COLUMN.change);
  const numbered = at.w >= NUMBERED;
  const barWidth = at.w - COLUMN.label - (numbered ? COLUMN.value : MARK) - change - COLUMN.gap;
  const changeX = at.w - change - 8;
  const thick = Math.max(3, Math.min(8, Math.floor((at.pitch - 6) / 2)));
  const most = bars === null ? 1 : Math.max(...bars.attention, ...bars.ffn) || 1;
  const mostChange = bars === null ? 1 : Math.max(...bars.change, 0) || 1;
  const top = bars === null ? -1 : argmax([...bars.attention, ...bars.ffn]);
  const largest = bars === null ? -1 : argmax(bars.change);
  // Where rows are low, every fourth is named.
  const every = at.pitch >= 14 ? 1 : 4;

  /** Beside the largest bar; the buttons' names say all of them. */
  const marks: SVGElement[] = [];
  const row = (layer: number): SVGElement => {
    const y = at.y + layer * at.pitch;
    const element = svg("g", {
      class: `aw-layer${layer === chosen ? " is-chosen" : ""}`,
      role: "button",
      tabindex: -1,
      "data-aw-part": "residuals",
      "data-layer": layer,
      "aria-pressed": String(layer === chosen),
      "aria-label": spokenLayer(layer, bars),
    });
    element.append(
      svg("rect", {
        class: "aw-layer-box",
        x: 0.5,
        y: y + 0.5,
        width: at.w - 1,
        height: at.pitch - 1,
        rx: 3,
      }),
    );
    const free = every === 1 || Math.abs(layer - chosen) > 1;
    if (layer === chosen || (layer % every === 0 && free)) {
      element.append(write(6, y + at.pitch / 2 + 4, "aw-layer-name", `L${layer}`));
    }
    if (bars !== null) {
      (["attention", "ffn"] as const).forEach((half, i) => {
        const value = itemAt(bars[half], layer);
        const isTop = top === layer + i * data.layers;
        const barY = y + at.pitch / 2 + (i === 0 ? -thick - 0.5 : 0.5);
        const bar = svg("rect", {
          class: `aw-residual aw-residual-${half}`,
          x: COLUMN.label,
          y: barY,
          width: Number.isNaN(value) ? 0 : Math.max(1, (barWidth * value) / most),
          height: thick,
          "data-half": half,
          "data-aw-value": exact(value),
        });
        element.append(bar);
        if (isTop) {
          marks.push(
            write(
              COLUMN.label + barWidth + 4,
              barY + thick / 2 + 4,
              "aw-layer-most",
              numbered ? formatNumber(value) : "◂",
            ),
          );
        }
      });
    }
    return element;
  };

  const between = (value: number, layer: number): SVGElement => {
    const y = at.y + (layer + 1) * at.pitch;
    const group = svg("g", {
      class: `aw-change${layer === largest ? " is-largest" : ""}`,
      "aria-hidden": "true",
      "data-aw-part": "change",
      "data-layer": layer,
      "data-aw-value": exact(value),
    });
    const width = (change * value) / mostChange;
    group.append(
      svg("path", { class: "aw-change-line", d: `M${changeX} ${y}h${width}` }),
      svg("path", { class: "aw-change-dot", d: `M${changeX + width} ${y - 3}l3 3l-3 3l-3 -3z` }),
    );
    return group;
  };

  const y = at.y + chosen * at.pitch;
  const wedge = svg("path", {
    class: "aw-wedge",
    d: `M${at.w} ${y + 0.5}L${frame.x} ${frame.y + 4}V${frame.y + frame.h - 4}L${at.w} ${y + at.pitch - 0.5}z`,
  });
  const layers = Array.from({ length: data.layers }, (_, layer) => row(layer));
  const changes = bars === null ? [] : bars.change.map(between);
  const stack = svg("rect", {
    class: "aw-layer-stack",
    x: 0.5,
    y: at.y + 0.5,
    width: at.w - 1,
    height: at.h - 1,
    rx: 4,
  });
  for (const mark of marks) mark.setAttribute("aria-hidden", "true");
  return [wedge, ...layers, ...changes, ...marks, stack];
}

const frameOf = ({ x, y, w, h }: Rect): SVGElement =>
  svg("rect", {
    class: "aw-layer-frame",
    x: x + 0.5,
    y: y + 0.5,
    width: w - 1,
    height: h - 1,
    rx: 6,
  });

/** The map and its keys; `show` draws it anew, with the focus where it was. */
export class InsideMap {
  readonly element: SVGSVGElement;
  #data: MapData | null = null;
  #width = 0;
  /** The box that Tab reaches. */
  #roving: StageId | null = null;

  constructor(
    readonly events: MapEvents,
    describedBy: string,
    signal: AbortSignal,
  ) {
    this.element = svg("svg", {
      class: "aw-inside-map",
      role: "group",
      "aria-label": "The model, stage by stage",
      "aria-describedby": describedBy,
      "data-aw-part": "inside-map",
    }) as SVGSVGElement;
    this.#listen(signal);
  }

  show(data: MapData): void {
    if (data.open !== this.#data?.open) this.#roving = data.open;
    this.#data = data;
    this.#draw();
  }

  resize(width: number): void {
    this.#width = width;
    this.#draw();
  }

  #draw(): void {
    const data = this.#data;
    if (data === null || this.#width === 0) return;
    const layout = layoutMap(data.stages, data.layers, this.#width);
    const held = this.element.contains(document.activeElement);
    setAttributes(this.element, {
      width: layout.width,
      height: layout.height,
      viewBox: `0 0 ${layout.width} ${layout.height}`,
    });
    this.element.replaceChildren(
      frameOf(layout.frame),
      ...column(layout, data),
      ...layout.wires.map(wire),
      ...layout.signs.map(({ x, y, text }) => write(x, y + 5, "aw-map-sign", text)),
      ...layout.headings.map(({ x, y, zone }) =>
        write(x, y, "aw-map-heading", data.headings[zone]),
      ),
      ...layout.boxes.map((placed) => box(placed, placed.stage.id === data.open)),
    );
    this.#rove(this.#roving ?? data.open, held);
  }

  #stage(id: string): SVGElement | null {
    return this.element.querySelector<SVGElement>(`[data-stage="${id}"]`);
  }

  #rove(id: StageId, focus: boolean): void {
    this.element.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
    const stage = this.#stage(id) ?? this.element.querySelector<SVGElement>("[data-stage]");
    this.#roving = id;
    stage?.setAttribute("tabindex", "0");
    if (focus) stage?.focus({ preventScroll: true });
  }

  #at(target: EventTarget | null): { stage: StageBox } | { layer: number } | null {
    const data = this.#data;
    const element = (target as Element | null)?.closest?.("[data-stage], .aw-layer") ?? null;
    if (data === null || element === null) return null;
    const id = element.getAttribute("data-stage");
    const stage = data.stages.find((stage) => stage.id === id);
    if (stage !== undefined) return { stage };
    return { layer: Number(element.getAttribute("data-layer")) };
  }

  #listen(signal: AbortSignal): void {
    const { element, events } = this;
    const take = (target: EventTarget | null): void => {
      const at = this.#at(target);
      if (at === null) return;
      if ("stage" in at) {
        this.#rove(at.stage.id, true);
        events.open(at.stage.id);
      } else events.layer(at.layer);
    };
    const point = (event: Event): void => {
      const at = this.#at(event.target);
      events.point(at === null ? null : "stage" in at ? at.stage : at.layer);
    };
    element.addEventListener("click", (event) => take(event.target), { signal });
    element.addEventListener("pointerover", point, { signal });
    element.addEventListener("pointerleave", () => events.point(null), { signal });
    element.addEventListener("focusin", point, { signal });
    element.addEventListener("focusout", () => events.point(null), { signal });
    element.addEventListener("keydown", (event) => this.#key(event, take), { signal });
  }

  #key(event: KeyboardEvent, take: (target: EventTarget | null) => void): void {
    const data = this.#data;
    if (data === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const ids = data.stages.map(({ id }) => id);
    const at = this.#at(event.target);
    const from = at !== null && "stage" in at ? at.stage.id : (this.#roving ?? data.open);
    const index = ids.indexOf(from);
    const moves: Record<string, number> = {
      ArrowLeft: index - 1,
      ArrowRight: index + 1,
      Home: 0,
      End: ids.length - 1,
    };
    const layers: Record<string, number> = { ArrowUp: -1, ArrowDown: 1 };
    const next = moves[event.key];
    const shift = layers[event.key];
    if (next !== undefined)
      this.#rove(itemAt(ids, Math.min(Math.max(next, 0), ids.length - 1)), true);
    else if (shift !== undefined) this.events.layer(data.layer + shift);
    else if (event.key === "Enter" || event.key === " ") take(event.target);
    else return;
    consume(event);
  }
}
