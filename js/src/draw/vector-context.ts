/** A canvas context that writes SVG: what is painted on screen is a file without being drawn a second time. */
import { svg } from "./dom";

type Attributes = Readonly<Record<string, string | number>>;
/** The state that `save` keeps. */
interface State {
  readonly transform: string;
  readonly clip: string | null;
  readonly alpha?: number;
  readonly dash?: string;
}
const uniqueId = (name: string): string => `aw-${name}-${Math.random().toString(36).slice(2)}`;
const fixed = (value: number): number => Math.round(value * 100) / 100;
/** Text in a file cannot be measured: a letter counts as half its height, a wide one (CJK) as all of it. */
const widthOf = (text: string, size: number): number =>
  [...text].reduce((sum, letter) => sum + (letter > "\u2e80" ? 1 : 0.56) * size, 0);
const BASELINES: Readonly<Record<string, string>> = { middle: "central", alphabetic: "auto" };
const ANCHORS: Readonly<Record<string, string>> = { center: "middle", right: "end" };

/** The part of `CanvasRenderingContext2D` that our painters use. */
export class VectorContext {
  readonly element = svg("g", {});
  fillStyle = "";
  strokeStyle = "";
  lineWidth = 1;
  globalAlpha = 1;
  font = "10px sans-serif";
  textAlign = "left";
  textBaseline = "alphabetic";
  direction = "ltr";
  imageSmoothingEnabled = false;
  #path = "";
  #dash = "";
  #state: State = { transform: "", clip: null };
  readonly #saved: State[] = [];

  /** The painters as they are: they take no other part of a context. */
  get pen(): CanvasRenderingContext2D {
    return this as unknown as CanvasRenderingContext2D;
  }
  /** Elements that have no canvas: cells as rectangles. */
  append(...elements: readonly SVGElement[]): void {
    for (const element of elements) this.#add(element, {});
  }
  #add(element: SVGElement, attributes: Attributes): void {
    const { transform, clip } = this.#state;
    const all = {
      ...attributes,
      ...(transform !== "" && { transform: transform.trim() }),
      ...(clip !== null && { "clip-path": `url(#${clip})` }),
    };
    for (const [name, value] of Object.entries(all)) element.setAttribute(name, String(value));
    this.element.append(element);
  }
  #filled(): Attributes {
    const { fillStyle: fill, globalAlpha: opacity } = this;
    return { fill, ...(opacity < 1 && { opacity }) };
  }
  #stroked(): Attributes {
    return {
      fill: "none",
      stroke: this.strokeStyle,
      "stroke-width": fixed(this.lineWidth),
      ...(this.globalAlpha < 1 && { "stroke-opacity": fixed(this.globalAlpha) }),
      ...(this.#dash !== "" && { "stroke-dasharray": this.#dash }),
    };
  }
  /** Diagonal hatching in a color, in place of a pattern of a canvas. */
  hatch(stroke: string): string {
    const id = uniqueId("hatch");
    const tile = { id, width: 6, height: 6, patternUnits: "userSpaceOnUse" };
    const line = svg("path", { d: "M0 6L6 0", stroke, "stroke-width": 1 });
    this.element.append(svg("defs", {}, svg("pattern", tile, line)));
    return `url(#${id})`;
  }
  save(): void {
    this.#saved.push({ ...this.#state, alpha: this.globalAlpha, dash: this.#dash });
  }
  restore(): void {
    this.#state = this.#saved.pop() ?? this.#state;
    this.globalAlpha = this.#state.alpha ?? 1;
    this.#dash = this.#state.dash ?? "";
  }
  translate(x: number, y: number): void {
    const transform = `${this.#state.transform} translate(${fixed(x)} ${fixed(y)})`;
    this.#state = { ...this.#state, transform };
  }
  rotate(angle: number): void {
    const transform = `${this.#state.transform} rotate(${fixed((angle * 180) / Math.PI)})`;
    this.#state = { ...this.#state, transform };
  }
  clip(): void {
    const id = uniqueId("clip");
    this.element.append(svg("defs", {}, svg("clipPath", { id }, svg("path", { d: this.#path }))));
    this.#state = { ...this.#state, clip: id };
  }
  setLineDash(lengths: readonly number[]): void {
    this.#dash = lengths.join(" ");
  }
  beginPath(): void {
    this.#path = "";
  }
  moveTo(x: number, y: number): void {
    this.#path += `M${fixed(x)} ${fixed(y)}`;
  }
  lineTo(x: number, y: number): void {
    this.#path += `L${fixed(x)} ${fixed(y)}`;
  }
  bezierCurveTo(...points: readonly number[]): void {
    this.#path += `C${points.map(fixed).join(" ")}`;
  }
  rect(x: number, y: number, width: number, height: number): void {
    this.#path += `M${fixed(x)} ${fixed(y)}h${fixed(width)}v${fixed(height)}h${-fixed(width)}z`;
  }
  fill(): void {
    this.#add(svg("path", { d: this.#path }), this.#filled());
  }
  stroke(): void {
    this.#add(svg("path", { d: this.#path }), this.#stroked());
  }
  fillRect(x: number, y: number, width: number, height: number): void {
    this.#add(svg("rect", { x, y, width, height }), this.#filled());
  }
  strokeRect(x: number, y: number, width: number, height: number): void {
    this.#add(svg("rect", { x, y, width, height }), this.#stroked());
  }
  get #size(): number {
    return Number(/([\d.]+)px/.exec(this.font)?.[1] ?? 10);
  }
  measureText(text: string): { readonly width: number } {
    return { width: widthOf(text, this.#size) };
  }
  fillText(text: string, x: number, y: number): void {
    this.#add(svg("text", { x, y, "font-size": this.#size }, text), {
      ...this.#filled(),
      ...(/^600/.test(this.font) && { "font-weight": 600 }),
      "dominant-baseline": BASELINES[this.textBaseline] ?? "auto",
      "text-anchor": ANCHORS[this.textAlign] ?? "start",
      direction: this.direction,
      "unicode-bidi": "isolate",
    });
  }
}
