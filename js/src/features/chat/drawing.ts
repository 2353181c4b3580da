/** The picture of turns as a drawing in lines. */

import { ramp } from "../../draw/color/ramp";
import { signedIndex } from "../../draw/color/scale";
import type { Palette } from "../../draw/color/theme";
import { svg } from "../../draw/dom";
import { formatPercent, shorten } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import { type Picture, termsOf } from "./rows";

/** Sizes, px. */
const NAME = { width: 150, size: 11 };
const COLUMN = { width: 48, bar: 18, characters: 7 };
const ROW = 34;
const FOOT = 24;
const SHARE = 56;

export function turnsDrawing(
  { found: { written, means }, names, ends: [low, high] }: Picture,
  { mode, ink, muted, line, ground, font }: Palette,
): SVGSVGElement {
  const { css } = ramp("signed", mode);
  const right = NAME.width + COLUMN.width * written.length;
  const [width, height] = [right + SHARE, ROW * names.length + FOOT];
  const text = (x: number, y: number, words: string, anchor: string, fill = ink) =>
    svg("text", { x, y, fill, "text-anchor": anchor, "font-size": NAME.size }, words);
  const unit = (ROW - 2) / (high - low || 1);
  const zeroOf = (row: number): number => ROW * (row + 1) - 1 + low * unit;
  const rows = names.flatMap((name, row) => {
    const middle = ROW * row + ROW / 2 + 4;
    const mean = means[row];
    return [
      text(NAME.width - 10, middle, name, "end"),
      svg("line", { x1: NAME.width, x2: right, y1: zeroOf(row), y2: zeroOf(row), stroke: line }),
      ...(mean === undefined ? [] : [text(width - 4, middle, formatPercent(mean), "end")]),
    ];
  });
  const columns = written.flatMap((of, column) => {
    const center = NAME.width + COLUMN.width * (column + 0.5);
    const bars = termsOf(of)
      .slice(0, names.length)
      .map((value, row) =>
        svg("rect", {
          ...{ x: center - COLUMN.bar / 2, width: COLUMN.bar },
          ...{ y: zeroOf(row) - Math.max(value, 0) * unit, height: Math.abs(value) * unit },
          fill: itemAt(css, signedIndex(value, Math.abs(value) * 1.5)),
        }),
      );
    const name = shorten(of.label.text, COLUMN.characters);
    return [...bars, text(center, height - 8, name, "middle")];
  });
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, "font-family": font },
    svg("title", {}, "Contributions of turns to the written tokens"),
    svg("rect", { width, height, fill: ground }),
    ...rows,
    ...columns,
    text(width - 4, height - 8, "share", "end", muted),
  );
}
