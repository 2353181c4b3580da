/**
 * A widget on paper: laid out again at the width of a page, whole, without controls, with a title and a caption.
 *
 * A browser prints in one task: no frame, no timer and no `ResizeObserver` comes between `beforeprint` and the paper.
 * So everything is laid out in that event and in the microtasks after it.
 */

import { drawFiner } from "../draw/canvas";
import { h } from "../draw/dom";
import { measureNow } from "../draw/resize";
import { showUnseen } from "../draw/wait";
import { onAbort } from "../protocol/abort";
import { SliceFailure } from "../protocol/failure";
import { itemAt, required } from "../protocol/required";
import { viewNamed } from "../views";
import type { OpenView, ViewContext } from "../views/contract";
import { captionLines } from "./caption";
import { captionFor, pictureLegend } from "./files";
import { stylesOf } from "./markup";
import { captionElement, complete } from "./picture";

/** On the root while a page is printed; see `style/print.css`. */
const PRINTING = "aw-printing";
/** Set during the layout for paper; a frame that its document prints keeps its size. */
const PRINT_LAYOUT = "aw-print-layout";
/** The only widget of its page that is printed. */
const ALONE = "aw-print-alone";
/** Pixels of a canvas to a CSS pixel: 288 to an inch. */
const SCALE = 3;
/** A table whose columns would be scaled below this size is broken in two, and each part once more. */
const MIN_ZOOM = 0.75;
/** Time that a part that was never in sight may take before the rest is printed, ms. */
const PATIENCE_MS = 20_000;
/** Longer than a part that is asked for stays quiet about it. */
const POLL_MS = 200;
/** Page style of the printed copy; a saved page has the same. */
const PAGE = "@page { margin: 12mm; } body { margin: 0; }";
const HINT = "Save it with to_html() and print that page, or with save_pdf().";

/** True if the document lies in a frame of another one, which prints it as it stands there. */
const framed = (): boolean => window.parent !== window;

/**
 * Print what is open in `panel` whenever the page is printed. `print` draws all that paper shows, and opens the
 * browser's dialog for this widget alone; it rejects where that is not allowed.
 */
export function printing(
  root: HTMLElement,
  panel: HTMLElement,
  context: ViewContext,
  open: () => OpenView,
  applyTheme: () => void,
): { print(): Promise<void> } {
  const undo: (() => void)[] = [];
  /** Undoes changes in the view itself; repeated whenever the view changes. */
  const unfit: (() => void)[] = [];
  let printed = false;
  const observer = new MutationObserver(() => fit());

  function put<T extends Element>(element: T, change: (element: T) => () => void): void {
    unfit.push(change(element));
  }

  const mark = (name: string) => (element: Element) => {
    element.classList.add(name);
    return () => element.classList.remove(name);
  };

  /** Unroll what scrolls, break tables that are too wide, scale down what still is. */
  function fit(): void {
    if (!printed) return;
    observer.disconnect();
    unfitAll();
    if (root.classList.contains(PRINT_LAYOUT)) unroll();
    for (const canvas of root.querySelectorAll("canvas")) put(canvas, showCopy);
    observer.observe(panel, { childList: true, subtree: true });
  }

  function unroll(): void {
    measureNow(root);
    const wide: HTMLElement[] = [];
    for (const element of root.querySelectorAll<HTMLElement>("*")) {
      const { overflowX, overflowY, position } = getComputedStyle(element);
      if (position === "sticky") put(element, mark("aw-unstuck"));
      const scrolls = /auto|scroll/.test(overflowX + overflowY) && element !== panel;
      if (!scrolls || !panel.contains(element)) continue;
      put(element, mark("aw-unrolled"));
      wide.push(element);
    }
    for (const element of wide) {
      const table = element.querySelector("table");
      if (table !== null && tooWide(element) < MIN_ZOOM) put(table, breakTable);
      const zoom = tooWide(element);
      if (zoom < 1) {
        element.style.zoom = String(zoom);
        unfit.push(() => element.style.removeProperty("zoom"));
      }
    }
  }

  function unfitAll(): void {
    for (const back of unfit.splice(0).reverse()) back();
  }

  function begin(): void {
    if (printed) return;
    printed = true;
    drawFiner(SCALE);
    const add = (back: () => void): void => {
      undo.push(back);
    };
    add(mark(PRINTING)(root));
    const whole = !framed() || root.classList.contains(ALONE);
    if (whole) add(mark(PRINT_LAYOUT)(root));
    // Views redraw, in a microtask, when the theme's attribute is written, also when it is the same one.
    root.dataset.theme = "light";
    add(applyTheme);
    const opened = open();
    const lines = captionLines(captionFor(context, opened), context.source.meta);
    const title = h("h2", { class: "aw-print-title", dir: "auto" });
    title.textContent = `${viewNamed(opened.name).label}: ${lines[0]}`;
    // The text stands above, whole, where the ribbon is.
    const bare = root.classList.contains("aw-bare");
    const caption = captionElement(bare ? lines.slice(1) : lines.slice(2));
    const legend = pictureLegend(context, opened);
    if (legend !== null) caption.prepend(legend.element);
    root.prepend(title);
    panel.after(caption);
    legend?.fill();
    add(() => {
      title.remove();
      caption.remove();
    });
    // A frame out of sight has had no frame of animation, and its canvases no size.
    measureNow(root);
    showUnseen(panel);
    if (whole) {
      for (const choice of panel.querySelectorAll<HTMLElement>("[data-print]")) {
        const before = choice.parentElement?.querySelector<HTMLElement>("[aria-pressed=true]");
        choice.click();
        add(() => before?.click());
      }
    }
    // After the views have seen the theme.
    queueMicrotask(fit);
  }

  function end(): void {
    if (!printed) return;
    printed = false;
    observer.disconnect();
    unfitAll();
    drawFiner(1);
    for (const back of undo.splice(0).reverse()) back();
    root.dataset.theme = root.dataset.theme ?? "light";
    measureNow(root);
  }

  const { signal } = context;
  window.addEventListener("beforeprint", begin, { signal });
  window.addEventListener("afterprint", end, { signal });
  const media = window.matchMedia?.("print");
  media?.addEventListener("change", ({ matches }) => (matches ? begin() : end()), { signal });
  onAbort(signal, end);
  if (media?.matches) begin();

  return {
    async print() {
      root.classList.add(ALONE);
      let copy: Document | null = null;
      try {
        begin();
        await whenSettled(panel);
        if (root.closest(".aw-page-run") !== null) openDialog(window);
        else copy = await copyOf(root);
      } finally {
        end();
        root.classList.remove(ALONE);
      }
      if (copy !== null) printCopy(copy);
    },
  };
}

/**
 * Show a copy of a canvas in its place. Chromium prints the drawing instructions of a canvas that was drawn in the same
 * task, and loses some where there are many; of a copy the one instruction is its picture.
 */
function showCopy(canvas: HTMLCanvasElement): () => void {
  const copy = h("canvas", { class: canvas.className, width: canvas.width, height: canvas.height });
  copy.style.cssText = canvas.style.cssText;
  if (canvas.width > 0 && canvas.height > 0) copy.getContext("2d")?.drawImage(canvas, 0, 0);
  const hidden = canvas.hidden;
  canvas.after(copy);
  copy.hidden = hidden;
  canvas.hidden = true;
  return () => {
    canvas.hidden = hidden;
    copy.remove();
  };
}

/** The share of its content's width that an element has. */
function tooWide({ clientWidth, scrollWidth }: Element): number {
  return clientWidth === 0 ? 1 : Math.min(1, clientWidth / scrollWidth);
}

/** Show a table as several, each with the first column and its share of the others. */
export function breakTable(table: HTMLTableElement): () => void {
  const rows = [...table.rows];
  const columns = Math.max(...rows.map(({ cells }) => cells.length)) - 1;
  const parts = Math.max(2, Math.ceil(MIN_ZOOM / tooWide(table.parentElement ?? table)));
  const each = Math.ceil(columns / parts);
  const copies: HTMLTableElement[] = [];
  for (let first = 1; first <= columns; first += each) {
    const copy = table.cloneNode(true) as HTMLTableElement;
    for (const row of copy.rows) keepColumns(row, first, first + each);
    copy.style.setProperty("--aw-columns", String(Math.min(each, columns - first + 1)));
    copies.push(copy);
  }
  table.after(...copies);
  table.hidden = true;
  return () => {
    table.hidden = false;
    for (const copy of copies) copy.remove();
  };
}

/** Keep the first cell of a row, and what stands in the columns from `start` to before `end`. */
function keepColumns(row: HTMLTableRowElement, start: number, end: number): void {
  let column = 0;
  for (const cell of [...row.cells]) {
    const [from, to] = [column, column + cell.colSpan];
    column = to;
    if (from === 0) continue;
    const kept = Math.min(to, end) - Math.max(from, start);
    if (kept <= 0) cell.remove();
    else cell.colSpan = kept;
  }
}

/** True if nothing within `element` is on its way any more. */
const settled = (element: Element): boolean =>
  element.firstElementChild !== null &&
  element.getAttribute("aria-busy") !== "true" &&
  element.querySelector("[aria-busy=true]") === null;

/** Resolves when `element` waits for nothing, or has waited long enough. */
export async function whenSettled(element: Element): Promise<void> {
  const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, POLL_MS));
  await pause();
  for (const end = Date.now() + PATIENCE_MS; !settled(element) && Date.now() < end; ) await pause();
}

/** Open the browser's dialog for a document; throws where the host does not allow it. */
export function openDialog(page: Window): void {
  let asked = false;
  const seen = (): void => {
    asked = true;
  };
  page.addEventListener("beforeprint", seen);
  page.print();
  page.removeEventListener("beforeprint", seen);
  if (!asked) throw new SliceFailure("This page's host does not allow printing.", HINT);
}

/** A document in a hidden frame with the widget as it is laid out now: a notebook has more on its page. */
async function copyOf(root: HTMLElement): Promise<Document> {
  // A copy whose dialog never reported that it was closed.
  document.querySelector(".aw-print-frame")?.remove();
  const frame = h("iframe", { tabindex: -1, "aria-hidden": "true", class: "aw-print-frame" });
  frame.style.cssText = "position: fixed; left: -10000px; width: 800px; height: 600px; border: 0";
  document.body.append(frame);
  const page = frame.contentDocument;
  if (page === null) {
    frame.remove();
    throw new SliceFailure("This page's host does not allow printing.", HINT);
  }
  const copy = root.cloneNode(true) as HTMLElement;
  complete(copy, root);
  const chosen = [...root.querySelectorAll("select")];
  copy.querySelectorAll("select").forEach((select, i) => {
    select.value = itemAt(chosen, i).value;
  });
  page.title = copy.querySelector(".aw-print-title")?.textContent ?? "";
  page.head.append(h("style", {}, `${stylesOf(root)}\n${PAGE}`));
  page.body.append(copy);
  await Promise.all([...page.images].map((image) => image.decode().catch(() => undefined)));
  return page;
}

function printCopy(page: Document): void {
  const view = required(page.defaultView, "The copy's window");
  const leave = (): void => view.frameElement?.remove();
  view.addEventListener("afterprint", () => setTimeout(leave));
  try {
    openDialog(view);
  } catch (error) {
    leave();
    throw error;
  }
}
