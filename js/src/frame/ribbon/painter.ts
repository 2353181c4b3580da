/** Paints the ribbon: colors of the focus token's row or of a view's numbers, and marks of what is chosen. */

import { modeOf } from "../../draw/color/theme";
import { type Hits, NO_HITS, type RowStore, type TokenRow } from "../../figures/row";
import { keysOf } from "../../protocol/meta";
import type { ViewContext } from "../../views/contract";
import type { RibbonLine } from "./line";
import { paintLine, rowPaint, type Signed, signedOf, signedPaint } from "./paint";
import { createSourceLine } from "./source-line";

const UNMARKED = {
  "aria-pressed": "false",
  "data-aw-pair": null,
  "data-aw-gathered": null,
  "data-aw-hit": null,
  tabindex: -1,
};

export function createPainter(
  host: HTMLElement,
  context: ViewContext,
  rows: RowStore,
  line: RibbonLine,
) {
  const { source, state, overlay } = context;
  const above = createSourceLine(context, () => modeOf(host));
  /** True where the focus token's row is over this text. */
  const rowHere = keysOf(source.meta) === source.meta.tokens;
  const hitsNow = (): Hits => rows.hits?.peek() ?? NO_HITS;

  const overlaid = (): Signed | null => {
    const shown = overlay?.painted.peek() ?? null;
    return shown && signedOf(shown, line.units, above?.unitsOf(rows.get()) ?? [], modeOf(host));
  };

  function paintColors(shown: TokenRow): void {
    const signed = overlaid();
    const { token, scale } = state.get();
    const focused = rowHere && shown.query >= 0 && shown.query === shown.queryOf(token);
    const painted = signed
      ? signedPaint(signed, signed)
      : rowPaint(shown, focused, scale, modeOf(host));
    paintLine(line.buttons, line.first, line.colors, painted);
  }

  /** Focus token, pinned key, gathered tokens, places that were found, and where Tab enters. */
  function mark(): void {
    const { token, pair, group } = state.get();
    line.unmark(UNMARKED);
    const focus = line.unitAt(token);
    line.mark(focus, { "aria-pressed": "true" });
    if (rowHere && pair !== null) line.mark(line.unitAt(pair[1]), { "data-aw-pair": true });
    if (rowHere)
      for (const each of group) line.mark(line.unitAt(each), { "data-aw-gathered": true });
    const { hits, at } = hitsNow();
    const end = line.first + line.buttons.length;
    hits.forEach(([from, to], i) => {
      for (let hit = Math.max(from, line.first); hit < Math.min(to, end); hit++)
        line.mark(hit, { "data-aw-hit": i === at ? "here" : "" });
    });
    const first = line.long ? line.firstInSight() : 0;
    line.mark(line.buttonOf(focus) === undefined ? first : focus, { tabindex: 0 });
  }

  function paint(): void {
    const shown = rows.get();
    if (shown !== null) {
      if (line.colors.length === 0) line.settleLater();
      line.build(shown.queries);
      paintColors(shown);
    }
    above?.paint(shown, overlaid());
    mark();
  }
  return { above, rowHere, hitsNow, overlaid, paint };
}

export type Painter = ReturnType<typeof createPainter>;
