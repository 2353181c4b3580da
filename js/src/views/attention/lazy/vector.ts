/** The attention view as SVG. */

import type { Palette } from "../../../draw/color/theme";
import { svg } from "../../../draw/dom";
import type { FlowData } from "../../../draw/heatmap/flow";
import { isUpright } from "../../../draw/heatmap/layout";
import { flowNodes, heatmapNodes } from "../../../draw/heatmap/svg";
import {
  type Geometry,
  GUTTER_PAD,
  type HeatmapData,
  type Highlights,
  MARGINAL,
} from "../../../draw/heatmap/types";
import { overlapBars, overlapNote } from "../../../draw/long/overlaps";
import type { Meta } from "../../../protocol/types";
import { FLOW, flowWidth } from "../layout";

/** Heatmap and flow as they are on screen; `wide`: side by side. */
interface AttentionDrawing {
  readonly data: HeatmapData;
  readonly links: FlowData;
  readonly geometry: Geometry;
  readonly highlights: Highlights;
  readonly units: readonly { readonly token: number }[];
  readonly width: number;
  readonly wide: boolean;
}

/** Heatmap and flow in one drawing, complete in itself; bars where windows of a text overlap. */
export function attentionVector(
  { data, links, geometry: g, highlights, units, width: room, wide }: AttentionDrawing,
  meta: Meta,
  colors: Palette,
): SVGSVGElement {
  const map = g.left + g.width + (g.beside ?? 0) + 1;
  const beside = flowWidth(g, room, wide);
  const width = Math.ceil(map + (wide ? FLOW.gap + beside : 0));
  const height = Math.ceil(g.top + g.height + MARGINAL.gap + MARGINAL.height + GUTTER_PAD);
  const picture = svg(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      "font-family": colors.font,
    },
    svg("rect", { width, height, fill: colors.ground }),
    heatmapNodes(
      data,
      g,
      highlights,
      colors,
      isUpright(links.longest.columns, g.width / data.columns),
    ),
  );
  for (const { left: x, top: y, width, height } of overlapBars(g, meta, units)) {
    const box = { x, y, width, height, fill: colors.muted };
    picture.append(svg("rect", box, svg("title", {}, overlapNote(meta))));
  }
  if (wide) {
    picture.append(
      svg(
        "g",
        { transform: `translate(${map + FLOW.gap} 0)` },
        flowNodes(links, g, highlights, beside, colors),
      ),
    );
  }
  return picture;
}

declare module "../../contract" {
  interface LazyCode {
    readonly attentionVector: typeof attentionVector;
  }
}
