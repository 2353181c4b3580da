/** What the picture shows, in words. */

import { formatNumber } from "../../figures/format";
import { headName, matrixName } from "../../figures/names";
import type { ImageModel } from "./model";

/** `patch 3, 5`, `[CLS]`, `12 patches` (their mean). */
export function subjectOf({ focus, placeName, n, special }: ImageModel): string {
  const { tokens } = focus.value;
  const [token] = tokens;
  if (tokens.length === 1 && token !== undefined) return placeName(token);
  return tokens.length === n - special.length ? "all patches" : `${tokens.length} patches`;
}

/** The head or the quantity whose row is shown: `L9 · H3`. */
export function placeOfRow({ peeked, matrix, selection }: ImageModel): string {
  const head = peeked.value;
  if (head !== null) return headName(...head);
  const shown = matrix.value;
  return shown === null ? headName(selection.value.layer, selection.value.head) : matrixName(shown);
}

/** `3.1 × chance`. */
export const timesChance = (value: number, n: number): string =>
  `${formatNumber(value * n, 2)} × chance`;
