/** The head under the pointer, larger than its cell: its thumbnail, its name and figure, and how thumbnails are shaded. */

import { fitCanvas } from "../../draw/canvas";
import { palette, ROOT_CLASS } from "../../draw/color/theme";
import { h } from "../../draw/dom";
import { formatNumber } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import type { ViewContext } from "../../views/contract";
import { headFigures } from "../lazy/head-figures";
import { paintThumbnails, thumbnailNote } from "./paint";

/** Side of the picture, and distance of the card from the grid, px. */
const SIZE = 112;
const GAP = 8;

export function headLens(
  host: HTMLElement,
  { source, state, signal }: Pick<ViewContext, "source" | "state" | "signal">,
  /** Name and figure of a head. */
  called: (index: number) => string,
  /** True where cells show thumbnails. */
  hasThumbnails: () => boolean,
): void {
  const { n_heads: heads } = source.meta.model;
  const [thumbs, most, words] = ["thumbs", "head_max", "word_max"].map((name) =>
    source.arrays.get(name),
  );
  const canvas = h("canvas", { hidden: thumbs === undefined });
  const name = h("p", {});
  const link = h("p", {});
  const note = h("p", { class: "aw-muted" });
  const card = h(
    "div",
    { class: "aw-tip aw-grid-lens", role: "presentation", hidden: true },
    canvas,
    name,
    link,
    note,
  );
  host.append(card);

  let shown: HTMLElement | null = null;
  function show(cell: HTMLElement): void {
    shown = cell;
    const index = Number(cell.dataset.layer) * heads + Number(cell.dataset.head);
    const { scale } = state.get();
    name.textContent = called(index);
    note.textContent = hasThumbnails() ? thumbnailNote(scale) : "";
    if (thumbs !== undefined && most !== undefined) {
      const [t = 1, u = 1] = thumbs.shape.slice(2);
      const of = <A extends typeof thumbs>({ data }: A, length: number, shape: number[]) => ({
        data: data.subarray(index * length, (index + 1) * length),
        shape,
      });
      const cells = { layers: 1, heads: 1, cell: SIZE, step: SIZE, side: false };
      paintThumbnails(
        fitCanvas(canvas, SIZE, SIZE),
        cells,
        palette(host),
        scale,
        of(thumbs, t * u, [1, 1, t, u]),
        of(most, 1, [1, 1]),
        words && of(words, 1, [1, 1]),
      );
    }
    card.hidden = false;
    link.textContent = "";
    settle(cell);
    if (!hasThumbnails()) return;
    headFigures.askLink(source, state.get()).then(
      (found) => {
        if (found === null || shown !== cell) return;
        const { figures, name, num } = found;
        link.textContent = `${name}: ${formatNumber(num(itemAt(figures, index)))}`;
        settle(cell);
      },
      // The reader reads why where the grid is to be shaded by it.
      () => undefined,
    );
  }
  function settle(cell: HTMLElement): void {
    // Off the grid, whose other heads it would cover.
    const grid = (cell.parentElement ?? cell).getBoundingClientRect();
    const [at, outer] = [cell.getBoundingClientRect(), host.getBoundingClientRect()];
    const whole = host.closest(`.${ROOT_CLASS}`)?.getBoundingClientRect() ?? outer;
    const below = grid.bottom + GAP + card.offsetHeight <= window.innerHeight;
    const top = below ? grid.bottom + GAP : grid.top - GAP - card.offsetHeight;
    card.style.left = `${Math.max(0, Math.min(at.left, whole.right - card.offsetWidth) - outer.left)}px`;
    card.style.top = `${top - outer.top}px`;
  }
  const hide = (): void => {
    shown = null;
    card.hidden = true;
  };
  host.addEventListener(
    "pointerover",
    ({ target, pointerType }) => {
      const cell = (target as Element).closest<HTMLElement>(".aw-grid-head");
      if (cell === null || pointerType === "touch") hide();
      else show(cell);
    },
    { signal },
  );
  for (const kind of ["pointerleave", "keydown"]) host.addEventListener(kind, hide, { signal });
  signal.addEventListener("abort", () => card.remove(), { once: true });
}

declare module "../../views/contract" {
  interface LazyCode {
    readonly headLens: typeof headLens;
  }
}
