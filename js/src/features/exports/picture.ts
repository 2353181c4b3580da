/**
 * The visible part of a view as a PNG, with its caption.
 *
 * A copy of the view goes into an SVG's `foreignObject` together with the widget's own style rules, and
 * that into a canvas. The rules are ours and few, so no computed style has to be copied element by element.
 */

import { drawFiner } from "../../draw/canvas";
import { ROOT_CLASS } from "../../draw/color/theme";
import { h } from "../../draw/dom";
import { itemAt } from "../../protocol/required";
import { markup, stylesOf, svgAddress } from "./markup";
import { drawUnseen, showWhole, type Unrolled, unroll } from "./whole";

/** Pixels to a CSS pixel. */
const SCALE = 2;
/** Larger canvases are refused by browsers: px of a side, and px in all. */
const MOST = { side: 16_384, area: 120e6 } as const;
/** Most height that the caption may take, px. */
const CAPTION = 600;
/** A hidden tab draws no frames. */
const FRAME_MS = 250;

const frame = (): Promise<void> =>
  new Promise((resolve) => {
    const late = setTimeout(resolve, FRAME_MS);
    requestAnimationFrame(() => {
      clearTimeout(late);
      resolve();
    });
  });

/** Views redraw when the theme's attribute is written, also when it is the same one. */
async function redraw(root: HTMLElement): Promise<void> {
  root.setAttribute("data-theme", root.dataset.theme ?? "light");
  await frame();
  await frame();
}

/** The caption below a picture: the first line says which run and head. */
function captionElement(lines: readonly string[]): HTMLElement {
  return h(
    "div",
    { class: "aw-saved-caption" },
    ...lines.map((line) => h("p", { dir: "auto" }, line)),
  );
}

/** An image in the place of a canvas, with the look that the canvas has. */
function imageOf(canvas: HTMLCanvasElement): HTMLImageElement | null {
  if (canvas.width === 0 || canvas.height === 0) return null;
  const image = h("img", { class: canvas.className, alt: "", src: canvas.toDataURL() });
  const style = getComputedStyle(canvas);
  for (const name of style) image.style.setProperty(name, style.getPropertyValue(name));
  return image;
}

/**
 * Restores what a copy lacks: the pixels of canvases, and scroll positions. Scrolling parts in `whole` are
 * shown from end to end instead.
 */
export function complete(
  copy: HTMLElement,
  original: HTMLElement,
  whole: ReadonlySet<Element> = new Set(),
): void {
  const canvases = copy.querySelectorAll("canvas");
  original.querySelectorAll("canvas").forEach((canvas, i) => {
    const image = imageOf(canvas);
    if (image === null) canvases[i]?.remove();
    else canvases[i]?.replaceWith(image);
  });
  const copies = [copy, ...copy.querySelectorAll<HTMLElement>("*")];
  const originals = [original, ...original.querySelectorAll<HTMLElement>("*")];
  const scrolled = originals.filter(
    (element) => (element.scrollTop > 0 || element.scrollLeft > 0) && !whole.has(element),
  );
  for (const scroller of whole) {
    showWhole(itemAt(copies, originals.indexOf(scroller as HTMLElement)), scroller);
    for (const inner of scroller.querySelectorAll("*")) {
      if (isSticky(inner))
        itemAt(copies, originals.indexOf(inner as HTMLElement)).classList.add("aw-unstuck");
    }
  }
  const shift = (element: Element, x: number, y: number): void => {
    const moved = copies[originals.indexOf(element as HTMLElement)];
    if (moved !== undefined) moved.style.translate = `${x}px ${y}px`;
  };
  for (const scroller of scrolled) {
    const { scrollTop, scrollLeft } = scroller;
    for (const child of scroller.children) {
      if (!isSticky(child)) shift(child, -scrollLeft, -scrollTop);
    }
    // A sticky element has moved; its place is where its parent begins.
    for (const inner of scroller.querySelectorAll("*")) {
      const parent = inner.parentElement;
      if (parent === null || parent === scroller || !isSticky(inner)) continue;
      const y = inner.getBoundingClientRect().top - parent.getBoundingClientRect().top;
      shift(inner, 0, y);
    }
  }
}

const isSticky = (element: Element): boolean => getComputedStyle(element).position === "sticky";

/** A copy of the widget that holds the panel and the caption alone. */
function copyOf(
  root: HTMLElement,
  panel: HTMLElement,
  caption: HTMLElement,
  { whole, wider }: Unrolled,
): HTMLElement {
  const copy = root.cloneNode(false) as HTMLElement;
  const shown = panel.cloneNode(true) as HTMLElement;
  complete(shown, panel, whole);
  copy.classList.add("aw-saving");
  for (const name of ["role", "aria-label", "id"]) copy.removeAttribute(name);
  copy.inert = true;
  const { paddingLeft, paddingRight } = getComputedStyle(root);
  const width =
    panel.clientWidth + Number.parseFloat(paddingLeft) + Number.parseFloat(paddingRight);
  copy.style.width = `${Math.ceil(width + wider)}px`;
  shown.style.removeProperty("min-height");
  copy.append(shown, caption);
  return copy;
}

/** Its size as laid out, found out of sight. */
function measure(copy: HTMLElement, root: HTMLElement): { width: number; height: number } {
  copy.style.position = "fixed";
  copy.style.insetInlineStart = "-99999px";
  root.after(copy);
  const { width, height } = copy.getBoundingClientRect();
  copy.remove();
  copy.style.removeProperty("position");
  copy.style.removeProperty("inset-inline-start");
  return { width: Math.ceil(width), height: Math.ceil(height) };
}

export interface PictureOptions {
  /** Pixels to a CSS pixel. */
  readonly scale?: number | undefined;
  /** Shown above the caption: what the widget has outside the panel. Filled once it stands in the picture. */
  readonly legend?: { readonly element: HTMLElement; fill(): void } | null;
}

/** The view in `panel` and a caption, on the widget's ground. */
export async function pictureOf(
  panel: HTMLElement,
  lines: readonly string[],
  { scale = SCALE, legend = null }: PictureOptions = {},
): Promise<Blob> {
  const root = panel.closest<HTMLElement>(`.${ROOT_CLASS}`);
  if (root === null || panel.clientWidth === 0) throw new Error("No part of this view is visible.");
  let copy: HTMLElement;
  await drawUnseen(panel);
  drawFiner(scale);
  try {
    await redraw(root);
    const unrolled = unroll(panel, MOST.side - CAPTION);
    const caption = captionElement([...lines, ...unrolled.parts]);
    if (legend !== null) caption.prepend(legend.element);
    copy = copyOf(root, panel, caption, unrolled);
    legend?.fill();
  } finally {
    drawFiner(1);
    void redraw(root);
  }
  const { width, height } = measure(copy, root);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("width", String(width));
  svg.setAttribute("height", String(height));
  const frameOf = document.createElementNS("http://www.w3.org/2000/svg", "foreignObject");
  frameOf.setAttribute("width", "100%");
  frameOf.setAttribute("height", "100%");
  frameOf.append(h("style", {}, stylesOf(root)), copy);
  svg.append(frameOf);
  const image = new Image(width, height);
  image.src = svgAddress(markup(svg));
  await image.decode();
  const fits = Math.min(
    scale,
    MOST.side / Math.max(width, height),
    Math.sqrt(MOST.area / (width * height)),
  );
  const canvas = h("canvas", {
    width: Math.round(width * fits),
    height: Math.round(height * fits),
  });
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("The browser does not provide a canvas of this size.");
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => {
      if (blob === null) reject(new Error("The browser could not make a picture of this size."));
      else resolve(blob);
    }, "image/png");
  });
}
