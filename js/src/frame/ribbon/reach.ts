/** Moves along the ribbon: of a long text the chunks around the reader come and go, below an overview of the whole. */

import { chunksAround, shiftChunks } from "../../figures/long/chunks";
import type { RowStore } from "../../figures/row";
import { lazyCode, type ViewContext } from "../../views/contract";
import type { RibbonLine } from "./line";
import type { Painter } from "./painter";

/** Nearer to an end than this (px) the next chunk is put in. */
const NEAR = 60;

export function createReach(
  { source: { meta }, state, signal: until }: ViewContext,
  rows: RowStore,
  line: RibbonLine,
  painter: Painter,
) {
  const overview = line.long
    ? (lazyCode.peek()?.long.overview(meta, (token) => goTo(token), until) ?? null)
    : null;
  let frame = 0;
  let scrolling = 0;

  function showOverview(): void {
    if (overview === null) return;
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() =>
      overview.show(rows.get(), painter.hitsNow().hits, state.get().token ?? -1, line.inSight()),
    );
  }
  function paint(): void {
    painter.paint();
    showOverview();
  }

  function goTo(index: number): void {
    const at = Math.max(0, Math.min(line.units.length - 1, index));
    if (line.long) line.build(line.units, false, chunksAround(at, line.n));
    line.reveal(line.buttonOf(at));
    if (line.colors.length === 0) paint();
    else showOverview();
  }

  /** Puts in the next chunk before the reader comes to the end of what is there. */
  function scrolled(): void {
    const { element, chunks, n } = line;
    element.classList.toggle("aw-above", element.scrollTop > 4);
    if (!line.long) return;
    cancelAnimationFrame(scrolling);
    scrolling = requestAnimationFrame(() => {
      const below = element.scrollHeight - element.scrollTop - element.clientHeight;
      const by = element.scrollTop < NEAR ? -1 : below < NEAR ? 1 : null;
      const next = by === null ? chunks : shiftChunks(chunks, by, n);
      if (next === chunks) return showOverview();
      line.build(line.units, false, next);
      paint();
    });
  }

  return {
    overview,
    paint,
    showOverview,
    goTo,
    scrolled,
    dispose() {
      cancelAnimationFrame(frame);
      cancelAnimationFrame(scrolling);
    },
  };
}
