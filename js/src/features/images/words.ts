/** Names of the focus and of its head, in words. */

import { formatNumber } from "../../figures/format";
import { headName, matrixName } from "../../figures/names";
import type { Num } from "../../protocol/types";
import type { Focus, ImageModel } from "./model";

/** `r3 c5`, `[CLS]`, `12 patches` (their mean). */
function nameOfTokens({ nameOf, n, special }: ImageModel, { tokens }: Focus): string {
  const [token] = tokens;
  if (tokens.length === 1 && token !== undefined) return nameOf(token);
  if (tokens.some((each) => special.includes(each))) return `${tokens.length} tokens`;
  return tokens.length === n - special.length ? "all patches" : `${tokens.length} patches`;
}

/** Name of what is shown. */
export const subjectOf = (model: ImageModel): string => nameOfTokens(model, model.focus.value);
/** Name of what is chosen. */
export const chosenName = (model: ImageModel): string => nameOfTokens(model, model.chosen.value);

/** The head or the quantity whose row is shown: `L9 · H3`. */
export function placeOfRow({ peeked, matrix, selection }: ImageModel): string {
  const head = peeked.value;
  if (head !== null) return headName(...head);
  const shown = matrix.value;
  return shown === null ? headName(selection.value.layer, selection.value.head) : matrixName(shown);
}

/** True if the numbers have a chance of 1 / n: weights alone, of which each row is divided among all tokens. */
export const hasChance = ({ painted, selection }: ImageModel): boolean =>
  painted.value === null && selection.value.quantity === "weights";

/** `, 3.1 × chance` behind a number; nothing where there is no such chance. */
export function timesChance(model: ImageModel, { value, error }: Num): string {
  if (!hasChance(model)) return "";
  const { n } = model;
  return `, ${formatNumber({ value: value * n, error: error * n }, 2)} × chance`;
}
