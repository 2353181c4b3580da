/** Labels along an axis of a long text: tokens, words, sentences or paragraphs, whichever fit; and marks of what was found. */

import {
  type LabelLevel,
  labelLevel,
  labelOf,
  type Outline,
  placeLabels,
  type Span,
  spansIn,
} from "../../figures/long/labels";
import type { TokenColumns } from "../../protocol/types";
import type { Palette } from "../color/theme";
import { type Range, windowOf, windowsOf } from "../heatmap/axis";
import { inSight } from "../heatmap/labels";
import { type AxisText, type Geometry, LABEL_GAP } from "../heatmap/types";

/** Size of a label (px). */
const FONT = 11;

interface OutlineText extends AxisText {
  /** The level that is written where a token has so many pixels. */
  level(pixels: number): LabelLevel;
}

/** `name`: label of a single token. */
export function outlineText(
  tokens: TokenColumns,
  outline: Outline,
  name: (token: number) => string,
): OutlineText {
  const level = (pixels: number): LabelLevel => labelLevel(outline, pixels, LABEL_GAP);
  return {
    level,
    font: () => FONT,
    reach: -2,
    labels(track, range, highlighted) {
      const position = (token: number): number => track.start + token * track.size;
      const strong = inSight(highlighted, track, range).map((i) => ({
        at: position(i + 0.5),
        text: name(i),
        bold: true,
      }));
      const written = level(track.size);
      const [from, to] = windowOf(track, ...range);
      const spans: readonly Span[] =
        written === "tokens"
          ? Array.from({ length: to - from }, (_, i) => ({
              from: from + i,
              to: from + i + 1,
              rank: 0,
            }))
          : spansIn(outline[written], [from, to]).filter(
              (span) => tokens.special[span.from] !== true,
            );
      const others = placeLabels(spans, position, range, LABEL_GAP)
        .filter(({ at }) => strong.every((label) => Math.abs(label.at - at) >= LABEL_GAP))
        .map((label) => ({
          at: label.at,
          text: written === "tokens" ? name(label.from) : labelOf(tokens, label),
          bold: label.rank > 0,
        }));
      return [...others, ...strong];
    },
  };
}

/** A hit's mark next to the matrix, px: along the axis at least, across it, and across it where one stands. */
const HIT = { least: 2, across: 4, here: 7 } as const;

/** Marks of what was found, along both axes, in the gap between labels and cells. */
export function paintHits(
  context: CanvasRenderingContext2D,
  g: Geometry,
  colors: Palette,
  hits: readonly (readonly [number, number])[],
  at: number,
): void {
  const view = windowsOf(g);
  const pixels = Math.min(g.rows.size, g.columns.size);
  context.fillStyle = colors.accent;
  hits.forEach(([from, to], i) => {
    const across = i === at ? HIT.here : HIT.across;
    const size = Math.max(HIT.least, (to - from) * pixels - 1);
    const inside = ([first, end]: Range): boolean => to > first && from < end;
    const cut = (start: number, least: number, extent: number): readonly [number, number] => {
      const begin = Math.max(least, start);
      return [begin, Math.min(start + size, least + extent) - begin];
    };
    if (inside(view.rows)) {
      const [y, tall] = cut(g.rows.start + from * g.rows.size, g.top, g.height);
      context.fillRect(g.left - 1 - across, y, across, tall);
    }
    if (inside(view.columns)) {
      const [x, wide] = cut(g.columns.start + from * g.columns.size, g.left, g.width);
      context.fillRect(x, g.top - 1 - across, wide, across);
    }
  });
}
