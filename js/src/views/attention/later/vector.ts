/** The attention view as SVG. */

import type { Palette } from "../../../draw/color/theme";
import { flowNodes, heatmapNodes, node } from "../../../draw/heatmap/svg";
import { GUTTER_PAD, MARGINAL } from "../../../draw/heatmap/types";
import { overlapBars, overlapNote } from "../../../draw/long/overlaps";
import type { Meta } from "../../../protocol/types";
import type { AttentionDrawing } from "../../contract";
import { FLOW, flowWidth } from "../layout";

/** Heatmap and flow in one drawing, complete in itself; bars where windows of a text overlap. */
export function attentionVector(
  { data, links, geometry: g, highlights, units, width: room, wide }: AttentionDrawing,
  meta: Meta,
  colors: Palette,
): SVGSVGElement {
  const map = g.left + g.side + 1;
  const beside = flowWidth(g, room, wide);
  const width = Math.ceil(map + (wide ? FLOW.gap + beside : 0));
  const height = Math.ceil(g.top + g.side + MARGINAL.gap + MARGINAL.height + GUTTER_PAD);
  const picture = node(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      "font-family": colors.font,
    },
    node("rect", { width, height, fill: colors.ground }),
    heatmapNodes(data, g, highlights, colors, links.longest > g.side / data.size - 6),
  );
  for (const { left: x, top: y, width, height } of overlapBars(g, meta, units)) {
    const box = { x, y, width, height, fill: colors.muted };
    picture.append(node("rect", box, node("title", {}, overlapNote(meta))));
  }
  if (wide) {
    picture.append(
      node(
        "g",
        { transform: `translate(${map + FLOW.gap} 0)` },
        flowNodes(links, g, highlights, beside, colors),
      ),
    );
  }
  return picture;
}
