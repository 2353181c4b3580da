/** The picture as it is shown: the overlay, and rings around what is pointed at and chosen. */

import type { Mode } from "../../draw/color/ramp";
import type { Picture } from "./data";
import {
  countOf,
  type PatchGrid,
  type Place,
  placeOf,
  type Region,
  regionFilled,
  regionOf,
} from "./geometry";
import { edgesBetween } from "./groups";
import type { ImageModel } from "./model";
import {
  areaOf,
  type Ground,
  type Overlay,
  paintEdges,
  paintPicture,
  paintRing,
  type Ring,
  ringOf,
  scaled,
} from "./paint";

export interface Shown extends Omit<Overlay, "mode"> {
  readonly pinned: Place | null;
  readonly pointed: Place | null;
  /** Tokens whose border is drawn, in order. */
  readonly gathered: readonly number[];
  readonly divided: ArrayLike<number> | null;
}

export function shownOf({
  grid,
  values,
  top,
  scale,
  selection,
  chosen,
  painted,
  pointed,
  gathered,
  overlaid,
  divided,
}: ImageModel): Shown {
  const { token } = selection.value;
  const [over, { kind }] = [pointed.value, chosen.value];
  const signed = painted.value !== null;
  return {
    ...{
      values: overlaid.value ? values.value : null,
      top: top.value,
      scale: scale.value,
      gathered: gathered.value,
      signed,
    },
    divided: divided.value,
    pinned: kind === "patch" && token !== null ? placeOf(grid, token) : null,
    pointed: over === null || over === token ? null : placeOf(grid, over),
  };
}

export function paintShown(
  pen: CanvasRenderingContext2D,
  width: number,
  {
    grid,
    found,
    under: { ground, mode },
    shown: { pinned, pointed, gathered, divided, ...overlay },
  }: {
    readonly grid: PatchGrid;
    readonly found: Picture;
    readonly under: { readonly ground: Ground; readonly mode: Mode };
    readonly shown: Shown;
  },
): void {
  const height = (width * found.height) / found.width;
  paintPicture(pen, width, height, grid, found, ground, { ...overlay, mode });
  const ring = (around: Region | null, kind: Ring): void => {
    if (around !== null) paintRing(pen, ringOf(grid, found, around, width, height), kind);
  };
  const divide = (groups: ArrayLike<number>): void => {
    const area = scaled(areaOf(grid, found), found, width, height);
    paintEdges(pen, area, grid, edgesBetween(grid, groups));
  };
  if (divided !== null) divide(divided);
  ring(pointed && regionOf(pointed, pointed), "pointed");
  ring(pinned && regionOf(pinned, pinned), "pinned");
  const region = regionFilled(grid, gathered);
  ring(region, "region");
  if (region === null && gathered.length > 0) {
    const members = new Uint8Array(grid.first + countOf(grid));
    for (const token of gathered) members[token] = 1;
    divide(members);
  }
}
