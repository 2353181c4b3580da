/** Canvases that are sharp on every screen, and images made by lookup table. */

import { required } from "../protocol/required";
import { RAMP_SIZE } from "./color/ramp";
import { signedIndex } from "./color/scale";
import type { VectorContext } from "./vector-context";

/** The 2d context of a canvas: every browser has one. */
export const penOf = (canvas: HTMLCanvasElement): CanvasRenderingContext2D =>
  required(canvas.getContext("2d"), "The canvas's context");

/** Size a canvas in CSS pixels and scale its context to device pixels. */
export function fitCanvas(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D {
  sizeCanvas(canvas, width, height);
  const context = penOf(canvas);
  const ratio = pixelRatio();
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/** The size alone. Several canvases are sized before any is drawn on: a font asks for the style of the page, which a new size changes. */
export function sizeCanvas(canvas: HTMLCanvasElement, width: number, height: number): void {
  const ratio = pixelRatio();
  const [w, hgt] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== hgt) {
    canvas.width = w;
    canvas.height = hgt;
    // By whole device pixels, or the browser scales the picture by a hair and blurs it.
    canvas.style.width = `${w / ratio}px`;
    canvas.style.height = `${hgt / ratio}px`;
  }
}

/** While a picture is taken canvases are finer than the screen; see `export/picture.ts`. */
let least = 1;

export const pixelRatio = (): number => Math.max(window.devicePixelRatio || 1, least);

/** Draw canvases with at least `ratio` pixels to a CSS pixel from now on; 1 = as the screen has them. */
export function drawFiner(ratio: number): void {
  least = ratio;
}

export interface Coloring {
  readonly words: Uint32Array;
  /** The value that gets the last color. */
  readonly top: number;
  /** Square roots instead of values. */
  readonly root: boolean;
  /** From `-top` to `top` around the middle of the table instead of from 0. */
  readonly signed: boolean;
}

/** A canvas of one pixel a cell: `values` by color table, clear where `isClear`. */
export function heatImage(
  values: Float32Array | Uint8Array,
  rows: number,
  columns: number,
  { words, top, root, signed }: Coloring,
  isClear: ((cell: number) => boolean) | null = null,
): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const context = penOf(canvas);
  const image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const last = RAMP_SIZE - 1;
  // Truncating after 0.5 rounds; what passes `top` has the last color.
  const factor = top > 0 ? 1 / top : 0;
  // A loop for each: this runs over every cell at every head.
  if (signed) {
    for (let i = 0; i < pixels.length; i++)
      pixels[i] = words[signedIndex(values[i] as number, top)] as number;
  } else if (root) {
    for (let i = 0; i < pixels.length; i++) {
      pixels[i] = words[
        Math.min((Math.sqrt((values[i] as number) * factor) * last + 0.5) | 0, last)
      ] as number;
    }
  } else {
    for (let i = 0; i < pixels.length; i++) {
      pixels[i] = words[
        Math.min(((values[i] as number) * factor * last + 0.5) | 0, last)
      ] as number;
    }
  }
  if (isClear !== null) for (let i = 0; i < pixels.length; i++) if (isClear(i)) pixels[i] = 0;
  context.putImageData(image, 0, 0);
  return canvas;
}

/** Patterns by color: a zoom needs the same one at every frame. */
const patterns = new Map<string, CanvasPattern>();

/** Diagonal hatching: a cell that cannot be, never a color of the ramp. */
export function hatching(context: CanvasRenderingContext2D, color: string): CanvasPattern | string {
  // A context that writes a file has no patterns.
  if ("hatch" in context) return (context as unknown as VectorContext).hatch(color);
  let pattern = patterns.get(color);
  if (pattern === undefined) {
    pattern = hatchingTile(context, color);
    patterns.set(color, pattern);
  }
  return pattern;
}

function hatchingTile(context: CanvasRenderingContext2D, color: string): CanvasPattern {
  const SIDE = 6;
  const tile = document.createElement("canvas");
  tile.width = SIDE;
  tile.height = SIDE;
  const pen = penOf(tile);
  pen.strokeStyle = color;
  pen.lineWidth = 1;
  for (const shift of [-SIDE, 0, SIDE]) {
    pen.moveTo(shift, SIDE);
    pen.lineTo(shift + SIDE, 0);
  }
  pen.stroke();
  return required(context.createPattern(tile, "repeat"), "The pattern");
}

/** Cut labels by font, width and text: a pan writes the same ones at every frame. */
const fitted = new Map<string, string>();
const FITTED_MAX = 5000;

/** `text` cut with an ellipsis to fit `width`. */
export function fitText(context: CanvasRenderingContext2D, text: string, width: number): string {
  const key = `${context.font} ${width} ${text}`;
  let cut = fitted.get(key);
  if (cut === undefined) {
    if (fitted.size >= FITTED_MAX) fitted.clear();
    cut = cutText(context, text, width);
    fitted.set(key, cut);
  }
  return cut;
}

function cutText(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  const characters = [...text];
  let low = 0;
  let high = characters.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const cut = `${characters.slice(0, middle).join("")}…`;
    if (context.measureText(cut).width <= width) low = middle;
    else high = middle - 1;
  }
  return `${characters.slice(0, low).join("")}…`;
}
