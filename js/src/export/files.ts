/** The files of a drawn view: picture, vector, table; each with its caption and its name. */

import { ramp } from "../draw/color/ramp";
import { rampValue } from "../draw/color/scale";
import { modeOf, palette } from "../draw/color/theme";
import { weightLegend } from "../draw/color/weight-legend";
import { formatNumber } from "../figures/format";
import { beyondText, errorOf, topOf } from "../figures/matrix";
import type { Table } from "../figures/table";
import { SliceFailure } from "../protocol/failure";
import type { Scale } from "../state/selection";
import { viewNamed } from "../views";
import type { OpenView, ViewContext } from "../views/contract";
import { askCode } from "../views/lazy-views";
import { type Caption, captionLines, captionOf, fileName } from "./caption";
import { toCsv } from "./csv";
import { toJson } from "./json";
import { type PictureOptions, pictureOf } from "./picture";
import { type VectorLegend, vectorOf } from "./vector";

export const FORMATS = ["png", "svg", "csv", "json"] as const;
export type Format = (typeof FORMATS)[number];

export interface SavedFile {
  readonly name: string;
  readonly blob: Blob;
}

const TYPES: Readonly<Record<Format, string>> = {
  png: "image/png",
  svg: "image/svg+xml",
  csv: "text/csv",
  json: "application/json",
};

export function captionFor({ source, state }: ViewContext, { name, drawn }: OpenView): Caption {
  return captionOf(source.meta, state.get(), viewNamed(name), drawn?.options?.());
}

/** The largest weight of the one view whose ramp stands in the bar, outside its panel. */
function rampOf(
  { matrix, state }: ViewContext,
  { name }: OpenView,
): { max: number; scale: Scale; error: number; beyond: string } | null {
  const shown = matrix.get();
  if (!viewNamed(name).scores || shown === null || shown.scores !== null) return null;
  const { scale } = state.get();
  const max = topOf(shown, scale);
  return { max, scale, error: errorOf(shown, max), beyond: beyondText(shown, scale) };
}

export function pictureLegend(
  stage: ViewContext,
  open: OpenView,
): NonNullable<PictureOptions["legend"]> | null {
  const ramp = rampOf(stage, open);
  if (ramp === null) return null;
  const { element, show } = weightLegend();
  return { element, fill: () => show(ramp.max, ramp.scale, ramp.error, ramp.beyond) };
}

function drawnLegend(stage: ViewContext, open: OpenView, panel: HTMLElement): VectorLegend | null {
  const shown = rampOf(stage, open);
  if (shown === null) return null;
  const { css } = ramp("weight", modeOf(panel));
  const error = shown.scale === "unit" ? 0 : shown.error;
  const most = formatNumber(rampValue(1, shown.max, shown.scale), undefined, error);
  const high = shown.beyond === "" ? most : `${most}, hatched: ${shown.beyond}`;
  return { colors: css.filter((_, i) => i % 15 === 0), low: "0", high };
}

async function tableOf({ name, drawn }: OpenView): Promise<Table> {
  const table = await drawn?.table();
  if (table == null) {
    throw new SliceFailure(`The view "${viewNamed(name).label}" has no table here.`);
  }
  return table;
}

export const csvOf = async (open: OpenView): Promise<string> => toCsv(await tableOf(open));

/** Make one file of what is open; rejects with what to tell the reader. */
export async function fileOf(
  format: Format,
  stage: ViewContext,
  panel: HTMLElement,
  open: OpenView,
  scale?: number,
): Promise<SavedFile> {
  const caption = captionFor(stage, open);
  const linesOf = (of: "svg" | "png"): string[] => {
    const part = open.drawn?.part?.(of) ?? null;
    return [...captionLines(caption), ...(part === null ? [] : [part])];
  };
  const content = async (): Promise<Blob | string> => {
    switch (format) {
      case "png":
        return pictureOf(panel, linesOf("png"), {
          scale,
          legend: pictureLegend(stage, open),
        });
      case "svg": {
        const draw = () => open.drawn?.svg?.() ?? null;
        const drawing = draw() ?? (await askCode(stage.source, stage.signal).then(draw));
        if (drawing === null) {
          throw new SliceFailure("This view is drawn in pixels, not in lines.", "Save it as PNG.");
        }
        return vectorOf(drawing, linesOf("svg"), palette(panel), drawnLegend(stage, open, panel));
      }
      case "csv":
        return csvOf(open);
      case "json":
        return toJson(caption, await tableOf(open));
    }
  };
  const made = await content();
  const blob = made instanceof Blob ? made : new Blob([made], { type: TYPES[format] });
  return { name: fileName(caption, format), blob };
}
