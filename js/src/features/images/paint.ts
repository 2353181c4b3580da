/** The picture on a canvas: faded and gray below, the weights above it by color and opacity. */

import { penOf, pixelRatio } from "../../draw/canvas";
import { type Mode, RAMP_SIZE, type Ramp, type Rgb, ramp } from "../../draw/color/ramp";
import { rampIndex, signedIndex } from "../../draw/color/scale";
import { itemAt } from "../../protocol/required";
import type { Scale } from "../../state/selection";
import type { Picture } from "./data";
import { boundsOf, type PatchGrid, type Rect, type Region } from "./geometry";
import type { Edge } from "./groups";

/** Gray of black and of white below the overlay, so that colors stand out in either theme. */
const GRAYS: Readonly<Record<Mode, readonly [number, number]>> = {
  dark: [14, 150],
  light: [112, 252],
};
/** Opacity of the weakest and of the strongest weight. */
const OPACITY = [0.16, 0.9] as const;
/** Opacity of the picture around the patches. */
const AROUND = 0.4;
/** Longest side of the picture that thumbnails are drawn from, px. */
const SMALL = 192;

/** The mapping from numbers to colors. */
export interface Coloring {
  readonly scale: Scale;
  readonly mode: Mode;
  /** True of numbers around zero, such as contributions. */
  readonly signed: boolean;
}

const opacityAt = (index: number, signed: boolean): number => {
  const share = index / (RAMP_SIZE - 1);
  return OPACITY[0] + (OPACITY[1] - OPACITY[0]) * (signed ? Math.abs(2 * share - 1) : share);
};

/** The entry of a number on the ramp that ends at `top`. */
export const entryOf = (value: number, top: number, { scale, signed }: Coloring): number =>
  signed ? signedIndex(value, top) : rampIndex(value, top, scale);

const rampOf = (mode: Mode, signed: boolean): Ramp => ramp(signed ? "signed" : "weight", mode);

const words = new Map<string, Uint32Array>();

/** The ramp as RGBA words whose opacity rises with the size of the number. */
export function overlayWords(mode: Mode, signed = false): Uint32Array {
  const key = `${mode} ${signed}`;
  let found = words.get(key);
  if (found === undefined) {
    found = rampOf(mode, signed).words.map(
      (word, i) => ((word & 0xffffff) | (Math.round(255 * opacityAt(i, signed)) << 24)) >>> 0,
    );
    words.set(key, found);
  }
  return found;
}

/** The color of an entry over the middle gray of the picture. */
export function overMiddle(index: number, { mode, signed }: Omit<Coloring, "scale">): Rgb {
  const gray = (GRAYS[mode][0] + GRAYS[mode][1]) / 2;
  const share = opacityAt(index, signed);
  return itemAt(rampOf(mode, signed).rgb, index).map((byte) =>
    Math.round(share * byte + (1 - share) * gray),
  ) as unknown as Rgb;
}

/** The scale of the overlay as a CSS image of `stops` colors. */
export function overlayImage(of: Omit<Coloring, "scale">, stops = 18): string {
  const colors = Array.from({ length: stops }, (_, i) => {
    const index = Math.round((i / (stops - 1)) * (RAMP_SIZE - 1));
    return `rgb(${overMiddle(index, of).join(" ")})`;
  });
  return `linear-gradient(to right, ${colors.join(", ")})`;
}

function canvasOf(width: number, height: number): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(width));
  canvas.height = Math.max(1, Math.round(height));
  return canvas;
}

/** The picture in gray, and a small one. */
export interface Ground {
  readonly whole: HTMLCanvasElement;
  readonly small: HTMLCanvasElement;
}

/** Bytes of gray by the lightness of a pixel (Rec. 709). */
export function grounded(bytes: Uint8ClampedArray, mode: Mode): void {
  const [black, white] = GRAYS[mode];
  for (let i = 0; i < bytes.length; i += 4) {
    const light =
      0.2126 * (bytes[i] as number) +
      0.7152 * (bytes[i + 1] as number) +
      0.0722 * (bytes[i + 2] as number);
    const gray = black + ((white - black) * light) / 255;
    bytes[i] = gray;
    bytes[i + 1] = gray;
    bytes[i + 2] = gray;
  }
}

export function groundOf({ pixels, width, height }: Picture, mode: Mode): Ground {
  const whole = canvasOf(width, height);
  const pen = penOf(whole);
  pen.drawImage(pixels, 0, 0, whole.width, whole.height);
  const image = pen.getImageData(0, 0, whole.width, whole.height);
  grounded(image.data, mode);
  pen.putImageData(image, 0, 0);
  const scale = Math.min(1, SMALL / Math.max(width, height));
  const small = canvasOf(width * scale, height * scale);
  const smallPen = penOf(small);
  smallPen.imageSmoothingQuality = "high";
  smallPen.drawImage(whole, 0, 0, small.width, small.height);
  return { whole, small };
}

/** Colors of the patches of a row, a pixel each, into `pixels` of that `width` from `at` on. */
export function fillPatches(
  pixels: Uint32Array,
  at: number,
  width: number,
  { rows, columns, first }: PatchGrid,
  values: ArrayLike<number>,
  top: number,
  coloring: Coloring,
): void {
  const colors = overlayWords(coloring.mode, coloring.signed);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const value = values[first + row * columns + column] as number;
      pixels[at + row * width + column] = Number.isNaN(value)
        ? 0
        : (colors[entryOf(value, top, coloring)] as number);
    }
  }
}

const layer = { canvas: null as HTMLCanvasElement | null };

/** A canvas of at least that size for pixels that are copied at once. */
function layerOf(width: number, height: number): HTMLCanvasElement {
  layer.canvas ??= canvasOf(width, height);
  if (layer.canvas.width < width) layer.canvas.width = width;
  if (layer.canvas.height < height) layer.canvas.height = height;
  return layer.canvas;
}

/** The grid of patches, px of the picture. */
export const areaOf = (grid: PatchGrid, { rects }: Picture): Rect =>
  boundsOf(grid, rects, { rows: [0, grid.rows - 1], columns: [0, grid.columns - 1] });

const sized = new WeakMap<Ground, HTMLCanvasElement>();

/** The ground `width` x `height` px large, paler around the patches, which lie in `area`: scaled once, and copied whenever the pointer moves. */
function sizedGround(ground: Ground, area: Rect, width: number, height: number): HTMLCanvasElement {
  const ratio = pixelRatio();
  const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
  const kept = sized.get(ground);
  if (kept?.width === across && kept.height === down) return kept;
  const canvas = canvasOf(across, down);
  const pen = penOf(canvas);
  pen.scale(ratio, ratio);
  pen.imageSmoothingQuality = "high";
  // The model does not read what lies around the patches.
  pen.globalAlpha = AROUND;
  pen.drawImage(ground.whole, 0, 0, width, height);
  pen.globalAlpha = 1;
  pen.beginPath();
  pen.rect(...area);
  pen.clip();
  pen.drawImage(ground.whole, 0, 0, width, height);
  sized.set(ground, canvas);
  return canvas;
}

export interface Overlay extends Coloring {
  readonly values: ArrayLike<number> | null;
  readonly top: number;
}

/** The picture `width` x `height` px large, with the weights of its patches. */
export function paintPicture(
  pen: CanvasRenderingContext2D,
  width: number,
  height: number,
  grid: PatchGrid,
  picture: Picture,
  ground: Ground,
  { values, top, ...colors }: Overlay,
): void {
  pen.imageSmoothingEnabled = true;
  pen.imageSmoothingQuality = "high";
  if (values === null) {
    pen.drawImage(picture.pixels, 0, 0, width, height);
    return;
  }
  const [x, y, w, h] = scaled(areaOf(grid, picture), picture, width, height);
  const under = sizedGround(ground, [x, y, w, h], width, height);
  const ratio = pixelRatio();
  pen.drawImage(under, 0, 0, under.width / ratio, under.height / ratio);
  const { rows, columns } = grid;
  const sheet = layerOf(columns, rows);
  const image = new ImageData(columns, rows);
  fillPatches(new Uint32Array(image.data.buffer), 0, columns, grid, values, top, colors);
  penOf(sheet).putImageData(image, 0, 0);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(sheet, 0, 0, columns, rows, x, y, w, h);
}

/** A rectangle of the picture where it is drawn `width` x `height` px large. */
export function scaled([x, y, w, h]: Rect, picture: Picture, width: number, height: number): Rect {
  const [across, down] = [width / picture.width, height / picture.height];
  return [x * across, y * down, w * across, h * down];
}

export type Ring = "pinned" | "pointed" | "region";

const WIDTHS: Readonly<Record<Ring, number>> = { pinned: 2.5, pointed: 1.5, region: 2 };

/** A rectangle that stands out of any picture: a light line inside of a dark one. */
export function paintRing(pen: CanvasRenderingContext2D, [x, y, w, h]: Rect, ring: Ring): void {
  const width = WIDTHS[ring];
  pen.setLineDash(ring === "region" ? [6, 3] : []);
  for (const [color, extra] of [
    ["rgb(0 0 0 / 75%)", 2],
    ["#fff", 0],
  ] as const) {
    pen.strokeStyle = color;
    pen.lineWidth = width + extra;
    if (extra > 0) pen.setLineDash([]);
    else if (ring === "region") pen.setLineDash([6, 3]);
    pen.strokeRect(x, y, w, h);
  }
  pen.setLineDash([]);
}

/** A line along edges of patches of the grid, which lies in `area`. */
export function paintEdges(
  pen: CanvasRenderingContext2D,
  [x, y, width, height]: Rect,
  { rows, columns }: PatchGrid,
  edges: readonly Edge[],
): void {
  const [across, down] = [width / columns, height / rows];
  pen.beginPath();
  for (const [x0, y0, x1, y1] of edges) {
    pen.moveTo(x + x0 * across, y + y0 * down);
    pen.lineTo(x + x1 * across, y + y1 * down);
  }
  pen.lineCap = "round";
  for (const [color, wide] of [
    ["rgb(0 0 0 / 75%)", 4],
    ["#fff", 2],
  ] as const) {
    pen.strokeStyle = color;
    pen.lineWidth = wide;
    pen.stroke();
  }
}

export const ringOf = (
  grid: PatchGrid,
  picture: Picture,
  region: Region,
  width: number,
  height: number,
): Rect => scaled(boundsOf(grid, picture.rects, region), picture, width, height);

/** Places of the thumbnails on their canvas, px. */
export interface ThumbLayout {
  readonly layers: number;
  readonly heads: number;
  readonly width: number;
  readonly height: number;
  readonly gap: number;
  /** True if layers are columns. */
  readonly side: boolean;
}

export function thumbPlace(
  { heads, width, height, gap, side }: ThumbLayout,
  index: number,
): readonly [x: number, y: number] {
  const [layer, head] = [Math.floor(index / heads), index % heads];
  const [column, row] = side ? [layer, head] : [head, layer];
  return [column * (width + gap), row * (height + gap)];
}

/** Every head's overlay over what the model reads of the picture, each up to its own largest weight of a patch; heads that were not saved stay empty. */
export function paintThumbs(
  pen: CanvasRenderingContext2D,
  layout: ThumbLayout,
  grid: PatchGrid,
  picture: Picture,
  ground: Ground,
  rowOf: (index: number) => ArrayLike<number>,
  topOf: (values: ArrayLike<number>) => number,
  colors: Coloring,
): void {
  const { layers, heads, width, height } = layout;
  const { rows, columns } = grid;
  const sheet = layerOf(heads * columns, layers * rows);
  const image = new ImageData(heads * columns, layers * rows);
  const pixels = new Uint32Array(image.data.buffer);
  const from = scaled(areaOf(grid, picture), picture, ground.small.width, ground.small.height);
  for (let i = 0; i < layers * heads; i++) {
    const values = rowOf(i);
    const at = Math.floor(i / heads) * rows * image.width + (i % heads) * columns;
    fillPatches(pixels, at, image.width, grid, values, topOf(values), colors);
  }
  penOf(sheet).putImageData(image, 0, 0);
  for (let i = 0; i < layers * heads; i++) {
    const [x, y] = thumbPlace(layout, i);
    pen.clearRect(x, y, width, height);
    if (Number.isNaN(rowOf(i)[grid.first])) continue;
    pen.imageSmoothingEnabled = true;
    pen.drawImage(ground.small, ...from, x, y, width, height);
    pen.imageSmoothingEnabled = columns > width;
    const [left, above] = [(i % heads) * columns, Math.floor(i / heads) * rows];
    pen.drawImage(sheet, left, above, columns, rows, x, y, width, height);
  }
}
