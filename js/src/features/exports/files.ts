/** The files of a drawn view: picture, vector, table; each with its caption and its name. */

import { createElement, render } from "preact";
import { ramp } from "../../draw/color/ramp";
import { rampValue } from "../../draw/color/scale";
import { modeOf, palette } from "../../draw/color/theme";
import { h } from "../../draw/dom";
import { formatNumber } from "../../figures/format";
import { errorOf, overflowText, topOf } from "../../figures/matrix";
import type { Table } from "../../figures/table";
import { SliceFailure } from "../../protocol/failure";
import type { Scale } from "../../state/selection";
import { RampLegend } from "../../ui/legend";
import { viewNamed } from "../../views";
import type { OpenView, ViewContext } from "../../views/contract";
import { askCode } from "../../views/lazy-views";
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

function captionFor({ source, state }: ViewContext, { name, drawn }: OpenView): Caption {
  return captionOf(source.meta, state.get(), viewNamed(name), drawn?.options?.());
}

/** The largest weight of the one view whose ramp stands in the bar, outside its panel. */
function rampOf(
  { matrix, state }: ViewContext,
  { name }: OpenView,
): { max: number; scale: Scale; error: number; overflow: string } | null {
  const shown = matrix.get();
  if (!viewNamed(name).scores || shown === null || shown.scores !== null) return null;
  const { scale } = state.get();
  const max = topOf(shown, scale);
  return { max, scale, error: errorOf(shown, max), overflow: overflowText(shown, scale) };
}

function pictureLegend(
  context: ViewContext,
  open: OpenView,
): NonNullable<PictureOptions["legend"]> | null {
  const ramp = rampOf(context, open);
  if (ramp === null) return null;
  const element = h("div");
  const fill = () => render(createElement(RampLegend, { ...ramp, mode: modeOf(element) }), element);
  return { element, fill };
}

function drawnLegend(
  context: ViewContext,
  open: OpenView,
  panel: HTMLElement,
): VectorLegend | null {
  const shown = rampOf(context, open);
  if (shown === null) return null;
  const { css } = ramp("weight", modeOf(panel));
  const error = shown.scale === "unit" ? 0 : shown.error;
  const most = formatNumber({ value: rampValue(1, shown.max, shown.scale), error });
  const high = shown.overflow === "" ? most : `${most}, hatched: ${shown.overflow}`;
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
  context: ViewContext,
  panel: HTMLElement,
  open: OpenView,
  scale?: number,
): Promise<SavedFile> {
  const caption = captionFor(context, open);
  const linesOf = (of: "svg" | "png"): string[] => {
    const part = open.drawn?.part?.(of) ?? null;
    return [...captionLines(caption, context.source.meta), ...(part === null ? [] : [part])];
  };
  const content = async (): Promise<Blob | string> => {
    switch (format) {
      case "png":
        return pictureOf(panel, linesOf("png"), {
          scale,
          legend: pictureLegend(context, open),
        });
      case "svg": {
        const draw = () => open.drawn?.svg?.() ?? null;
        const drawing = draw() ?? (await askCode(context.source, context.signal).then(draw));
        if (drawing === null) {
          throw new SliceFailure("This view is drawn in pixels, not in lines.", "Save it as PNG.");
        }
        return vectorOf(drawing, linesOf("svg"), palette(panel), drawnLegend(context, open, panel));
      }
      case "csv":
        return csvOf(open);
      case "json":
        return toJson(caption, await tableOf(open));
    }
  };
  const file = await content();
  const blob = file instanceof Blob ? file : new Blob([file], { type: TYPES[format] });
  return { name: fileName(caption, format), blob };
}
