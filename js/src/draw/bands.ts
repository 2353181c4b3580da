/** Aligned strips of cells, one below the other, with one cursor through all of them. */

import { exact, shorten } from "../figures/format";
import { itemAt } from "../protocol/required";
import { type Mode, RAMP_SIZE, ramp } from "./color/ramp";
import { signedIndex } from "./color/scale";
import { consume, h, setAttributes, svg } from "./dom";

export interface Band {
  /** Largest error of a value. */
  readonly error?: (value: number, index: number) => number;
  /** Value of `data-tensor`. */
  readonly key: string;
  readonly label: string;
  /** A figure next to the label, with its meaning. */
  readonly aside: { readonly text: string; readonly value: number; readonly title: string } | null;
  /** Null where the model has no such tensor; NaN and infinities are cells that cannot be. */
  readonly values: ArrayLike<number> | null;
  /** Why there are none. */
  readonly missing: string | null;
  /** Signed values diverge from zero; weights begin there. */
  readonly ramp: "signed" | "weight";
  /** Upper end of the ramp. */
  readonly top: number;
  readonly highlighted: boolean;
  /** Begins a group of its own. */
  readonly apart: boolean;
}

interface BandsData {
  readonly bands: readonly Band[];
  readonly total: number;
  readonly window: readonly [number, number];
  readonly cursor: number;
  /** Colors by square root of the magnitude. */
  readonly root: boolean;
  /** Label of an index on the axis. */
  name(index: number): string;
  /** The numbers at an index, for screen readers. */
  spoken(index: number): string;
  readonly axis: string;
}

const LEFT = 92;
const RIGHT = 60;
const AXIS = 18;
const APART = 8;
const GAP = 3;
const TALL = { most: 22, least: 10, room: 190 } as const;
const CELL_MAX = 48;
/** Start of a reason, room for one of its characters, and its lines. */
const REASON = { left: LEFT + 16, character: 6, line: 13 } as const;
/** Room for a character of an axis label, and the most that one may take. */
const LABEL_ROOM = 7;
const LABEL_MAX = 7;
const LABEL_GAP = 6;
const STEPS = [1, 2, 4, 8, 16, 32, 64, 128, 256];

export class Bands {
  readonly element: HTMLElement;
  #svg = svg("svg", { class: "aw-bands-picture", "aria-hidden": "true" });
  #cursor = svg("path", { class: "aw-bands-cursor" });
  /** Top and bottom of each stretch of bands that have values: the cursor frames those alone. */
  #stretches: (readonly [top: number, bottom: number])[] = [];
  #data: BandsData | null = null;
  #width = 0;
  #tall: number = TALL.most;
  #mode: Mode = "light";

  constructor(
    /** The cursor moved; the owner shows the window that holds it. */
    readonly move: (index: number) => void,
    signal: AbortSignal,
  ) {
    this.element = h("div", {
      class: "aw-bands",
      role: "slider",
      tabindex: 0,
      "aria-orientation": "horizontal",
      "data-aw-part": "strips",
    });
    this.element.append(this.#svg);
    const at = (event: Event): void => {
      const index = this.#indexAt((event as PointerEvent).clientX);
      if (index !== null && index !== this.#data?.cursor) this.move(index);
    };
    this.element.addEventListener("pointermove", at, { signal });
    this.element.addEventListener("pointerdown", at, { signal });
    this.element.addEventListener("keydown", (event) => this.#key(event), { signal });
  }

  /** Left end and width of the cells: what stands above may align with them. */
  get cells(): { left: number; width: number } {
    return { left: LEFT, width: this.#cell * this.#count };
  }

  get #count(): number {
    const [start, stop] = this.#data?.window ?? [0, 1];
    return Math.max(1, stop - start);
  }

  get #cell(): number {
    return Math.min((this.#width - LEFT - RIGHT) / this.#count, CELL_MAX);
  }

  show(data: BandsData, mode: Mode): void {
    this.#data = data;
    this.#mode = mode;
    this.#draw();
  }

  resize(width: number): void {
    this.#width = width;
    this.#draw();
  }

  /** Another cursor in the same window. */
  point(cursor: number): void {
    if (this.#data === null) return;
    this.#data = { ...this.#data, cursor };
    this.#place();
  }

  #draw(): void {
    const data = this.#data;
    if (data === null || this.#width === 0) return;
    const { bands } = data;
    this.#tall = Math.max(TALL.least, Math.min(TALL.most, TALL.room / bands.length - GAP));
    const gaps = bands.filter(({ apart }) => apart).length * APART;
    const talls = bands.map((band) =>
      Math.max(this.#tall, band.values === null ? this.#reason(band).length * REASON.line : 0),
    );
    const height = talls.reduce((sum, tall) => sum + tall + GAP, gaps + AXIS);
    setAttributes(this.#svg, {
      width: this.#width,
      height,
      viewBox: `0 0 ${this.#width} ${height}`,
    });
    let y = 2;
    let top: number | null = null;
    this.#stretches = [];
    const close = (): void => {
      if (top !== null) this.#stretches.push([top - 2, y - GAP + 2]);
      top = null;
    };
    const drawn = bands.map((band, i) => {
      const tall = itemAt(talls, i);
      if (band.values === null) close();
      if (band.apart) y += APART;
      if (band.values !== null) top ??= y;
      const element = this.#band(band, data, y, tall);
      y += tall + GAP;
      return element;
    });
    close();
    this.#svg.replaceChildren(...drawn, this.#axis(data, y), this.#cursor);
    this.#place();
  }

  /** Why a band has no values, in lines that fit. */
  #reason({ missing }: Band): string[] {
    const most = Math.max(12, Math.floor((this.#width - REASON.left) / REASON.character));
    const lines = [""];
    for (const word of (missing ?? "not in this model").split(" ")) {
      const line = `${lines.at(-1)} ${word}`.trim();
      if (line.length <= most) lines[lines.length - 1] = line;
      else lines.push(word);
    }
    return lines;
  }

  #band(
    band: Band,
    { window: [start, stop], root }: BandsData,
    y: number,
    tall: number,
  ): SVGElement {
    const group = svg("g", {
      class: `aw-band${band.highlighted ? " is-highlighted" : ""}`,
      "data-aw-part": "strip",
      "data-tensor": band.key,
    });
    const write = (x: number, name: string, text: string, anchor: string, down = 0): SVGElement => {
      const at = y + tall / 2 + 4 + down;
      const element = svg("text", { x, y: at, class: name, "text-anchor": anchor });
      element.textContent = text;
      return element;
    };
    group.append(write(LEFT - 8, "aw-band-label", band.label, "end"));
    if (band.values === null) {
      const line = svg("path", { class: "aw-band-absent", d: `M${LEFT} ${y + tall / 2}h10` });
      const lines = this.#reason(band);
      const first = (-REASON.line * (lines.length - 1)) / 2;
      group.append(
        line,
        ...lines.map((text, i) =>
          write(REASON.left, "aw-band-reason", text, "start", first + i * REASON.line),
        ),
      );
      return group;
    }
    const { css } = ramp(band.ramp, this.#mode);
    const cell = this.#cell;
    const gap = cell >= 5 ? 1 : 0;
    const cells = svg("g", {});
    for (let i = start; i < Math.min(stop, band.values.length); i++) {
      const value = itemAt(band.values, i);
      const x = LEFT + (i - start) * cell;
      if (!Number.isFinite(value)) {
        cells.append(
          svg("path", {
            class: "aw-band-masked",
            d: `M${x + 1} ${y + tall}L${x + cell - 1} ${y}`,
            "data-dimension": i,
          }),
        );
        continue;
      }
      const share = band.top > 0 ? Math.min(Math.abs(value) / band.top, 1) : 0;
      const shown = Math.sign(value) * (root ? Math.sqrt(share) : share);
      const index =
        band.ramp === "signed" ? signedIndex(shown, 1) : Math.round(shown * (RAMP_SIZE - 1));
      cells.append(
        svg("rect", {
          x: +x.toFixed(2),
          y,
          width: +(cell - gap).toFixed(2),
          height: tall,
          fill: itemAt(css, index),
          "data-dimension": i,
          "data-aw-value": exact({ value, error: band.error?.(value, i) ?? 0 }),
        }),
      );
    }
    const outline = svg("rect", {
      class: "aw-band-outline",
      x: LEFT - 0.5,
      y: y - 0.5,
      width: +(cell * Math.max(0, Math.min(stop, band.values.length) - start) - gap + 1).toFixed(2),
      height: tall + 1,
    });
    group.append(cells, outline);
    if (band.aside !== null) {
      const text = write(
        LEFT + cell * (stop - start) + 6,
        "aw-band-aside",
        band.aside.text,
        "start",
      );
      text.setAttribute("data-aw-value", exact(band.aside.value));
      const title = svg("title", {});
      title.textContent = band.aside.title;
      text.append(title);
      group.append(text);
    }
    return group;
  }

  #axis({ window: [start, stop], name }: BandsData, y: number): SVGElement {
    const group = svg("g", { class: "aw-bands-axis" });
    const cell = this.#cell;
    const widest = Math.min(
      LABEL_MAX,
      Math.max(...Array.from({ length: stop - start }, (_, i) => name(start + i).length)),
    );
    const every = STEPS.find((step) => step * cell >= widest * LABEL_ROOM + LABEL_GAP) ?? stop;
    const room = Math.max(1, Math.floor((every * cell - 2) / LABEL_ROOM));
    for (let i = start; i < stop; i++) {
      if (i % every !== 0) continue;
      const label = svg("text", {
        x: +(LEFT + (i - start + 0.5) * cell).toFixed(2),
        y: y + 13,
        "text-anchor": "middle",
      });
      label.textContent = shorten(name(i), room);
      group.append(label);
    }
    if (this.#data?.bands.some(({ aside }) => aside !== null)) {
      const label = svg("text", { x: +(LEFT + (stop - start) * cell + 6).toFixed(2), y: y + 13 });
      label.textContent = "length";
      group.append(label);
    }
    return group;
  }

  #place(): void {
    const data = this.#data;
    if (data === null) return;
    const {
      cursor,
      window: [start, stop],
      total,
    } = data;
    const inside = cursor >= start && cursor < stop;
    const cell = this.#cell;
    const x = +(LEFT + (cursor - start) * cell - 1).toFixed(2);
    const wide = +Math.max(cell + (cell >= 5 ? 1 : 2), 3).toFixed(2);
    setAttributes(this.#cursor, {
      d: this.#stretches.map(([top, end]) => `M${x} ${top}h${wide}V${end}h${-wide}z`).join(""),
      visibility: inside ? "visible" : "hidden",
    });
    setAttributes(this.element, {
      "aria-label": data.axis,
      "aria-valuemin": 0,
      "aria-valuemax": total - 1,
      "aria-valuenow": cursor,
      "aria-valuetext": data.spoken(cursor),
    });
  }

  #indexAt(clientX: number): number | null {
    const data = this.#data;
    if (data === null) return null;
    const x = clientX - this.#svg.getBoundingClientRect().left - LEFT;
    const index = data.window[0] + Math.floor(x / this.#cell);
    return x >= 0 && index < data.window[1] ? index : null;
  }

  #key(event: KeyboardEvent): void {
    const data = this.#data;
    if (data === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const { cursor, total } = data;
    const moves: Record<string, number> = {
      ArrowLeft: cursor - 1,
      ArrowDown: cursor - 1,
      ArrowRight: cursor + 1,
      ArrowUp: cursor + 1,
      PageUp: cursor + this.#count,
      PageDown: cursor - this.#count,
      Home: 0,
      End: total - 1,
    };
    const next = moves[event.key];
    if (next === undefined) return;
    this.move(Math.min(Math.max(next, 0), total - 1));
    consume(event);
  }
}
