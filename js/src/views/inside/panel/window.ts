/** Which dimensions are on screen: an overview to drag in, steps, sizes, and a number to go to. */

import { h, setAttributes } from "../../../draw/dom";
import { svg } from "../../../draw/strip";
import { envelope } from "../../../figures/derive/dimensions";
import { formatCount } from "../../../figures/format";

export interface WindowData {
  readonly rows: readonly ArrayLike<number>[];
  /** Available range, and the size of the whole. */
  readonly have: number;
  readonly size: number;
  readonly window: readonly [number, number];
  /** Sizes offered besides the first one. */
  readonly first: number;
  readonly plural: string;
  readonly one: string;
}

export interface WindowEvents {
  /** Show the window that begins here. */
  start(index: number): void;
  size(size: number): void;
  goTo(index: number): void;
}

const SIZES = [32, 64, 96, 128, 256] as const;
const BINS = 256;
const HEIGHT = 16;

export class WindowControl {
  readonly element: HTMLElement;
  #overview = svg("svg", {
    class: "aw-window-overview",
    preserveAspectRatio: "none",
    viewBox: `0 0 ${BINS} ${HEIGHT}`,
    "aria-hidden": "true",
  });
  #previous = h("button", { class: "aw-button" }, "‹");
  #next = h("button", { class: "aw-button" }, "›");
  #text = h("span", { class: "aw-number aw-window-text" });
  #sizes = h("select", { class: "aw-select" });
  #field = h("input", {
    type: "number",
    class: "aw-window-field",
    min: 0,
    step: 1,
    inputmode: "numeric",
  });
  #data: WindowData | null = null;

  constructor(
    readonly events: WindowEvents,
    signal: AbortSignal,
  ) {
    this.element = h(
      "div",
      { class: "aw-window", "data-aw-part": "window", role: "group" },
      h("div", { class: "aw-window-track" }, this.#overview),
      h(
        "div",
        { class: "aw-window-controls" },
        this.#previous,
        this.#text,
        this.#next,
        h("label", { class: "aw-window-label" }, "show ", this.#sizes),
        h("label", { class: "aw-window-label" }, "go to ", this.#field),
      ),
    );
    const listen = <K extends keyof HTMLElementEventMap>(
      element: Element,
      type: K,
      call: (event: HTMLElementEventMap[K]) => void,
    ): void => element.addEventListener(type, call as EventListener, { signal });
    listen(this.#previous, "click", () => this.#shift(-1));
    listen(this.#next, "click", () => this.#shift(1));
    listen(this.#sizes, "change", () => events.size(Number(this.#sizes.value)));
    listen(this.#field, "change", () => this.#jump());
    listen(this.#field, "keydown", (event) => {
      if (event.key === "Enter") this.#jump();
      // Arrows change the number; a notebook must not hear them.
      event.stopPropagation();
    });
    const drag = (event: PointerEvent): void => {
      const data = this.#data;
      if (data === null) return;
      const box = this.#overview.getBoundingClientRect();
      const share = (event.clientX - box.left) / box.width;
      const [start, stop] = data.window;
      events.start(Math.round(share * data.have - (stop - start) / 2));
    };
    listen(this.#overview, "pointerdown", (event) => {
      this.#overview.setPointerCapture(event.pointerId);
      drag(event);
    });
    listen(this.#overview, "pointermove", (event) => {
      if (this.#overview.hasPointerCapture(event.pointerId)) drag(event);
    });
  }

  #shift(sign: number): void {
    if (this.#data === null) return;
    const [start, stop] = this.#data.window;
    this.events.start(start + sign * (stop - start));
  }

  #jump(): void {
    const index = Number.parseInt(this.#field.value, 10);
    if (this.#data === null || Number.isNaN(index)) return;
    const inside = Math.min(Math.max(index, 0), this.#data.have - 1);
    this.#field.value = String(inside);
    this.events.goTo(inside);
  }

  /** Stand above cells that begin at `left` and are `width` wide. */
  align(left: number, width: number): void {
    this.element.style.setProperty("--aw-window-left", `${left}px`);
    this.element.style.setProperty("--aw-window-width", `${width}px`);
  }

  show(data: WindowData): void {
    this.#data = data;
    const { rows, have, size, window, first, plural, one } = data;
    const [start, stop] = window;
    this.element.hidden = rows.length === 0 || size <= 1;
    const whole = start === 0 && stop === have;
    this.element.classList.toggle("is-whole", whole && have <= Math.min(...SIZES));
    this.element.setAttribute("aria-label", `Which ${plural} are shown`);
    this.#text.textContent =
      `${plural} ${formatCount(start)}–${formatCount(stop - 1)} of ${formatCount(size)}` +
      (have < size ? ` (this page has the first ${formatCount(have)})` : "");
    setAttributes(this.#previous, { "aria-label": `Earlier ${plural}`, disabled: start === 0 });
    setAttributes(this.#next, { "aria-label": `Later ${plural}`, disabled: stop >= have });
    setAttributes(this.#field, { max: have - 1, "aria-label": `Go to ${one}` });
    const sizes = [...new Set([...SIZES, first])].filter((n) => n < have).sort((a, b) => a - b);
    const options = [...sizes, have];
    this.#sizes.replaceChildren(
      ...options.map((n) =>
        h("option", { value: n }, n === have ? `all ${formatCount(n)}` : String(n)),
      ),
    );
    this.#sizes.setAttribute("aria-label", `How many ${plural} are shown`);
    this.#sizes.value = String(stop - start);
    const bins = Math.min(BINS, have);
    const most = envelope(rows, bins);
    const top = Math.max(...most) || 1;
    const step = BINS / bins;
    const path = [...most]
      .map((value, i) => `M${(i + 0.5) * step} ${HEIGHT}v${(-(HEIGHT - 1) * value) / top}`)
      .join("");
    const scale = BINS / have;
    this.#overview.replaceChildren(
      svg("rect", {
        class: "aw-window-pane",
        x: start * scale,
        y: 0,
        width: (stop - start) * scale,
        height: HEIGHT,
      }),
      svg("path", { class: "aw-window-bars", d: path, "stroke-width": step * 0.7 }),
    );
  }
}
