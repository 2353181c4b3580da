/** Display names of heads and tokens. */

import type { HeadIndex, TokenColumns } from "../protocol/types";
import { NAMES } from "./catalog/names";
import type { Unit } from "./derive/units";
import { type TokenScheme, tokenLabel, tokenScheme } from "./format";
import { calledOf, hasHead, isRolled, type Measure } from "./quantities";

/** Which matrix of a run. */
export interface MatrixKey {
  readonly layer: number;
  readonly head: HeadIndex;
  readonly quantity: Measure;
}

/** `L3 · H5`, `L3 · mean`. */
export function headName(layer: number, head: HeadIndex): string {
  return head === "mean" ? `L${layer} · mean` : `L${layer} · H${head}`;
}

/** Name of a matrix: `L3 · H5`, `norms · L3 · H5`, `ALTI · L3`, or `rollout, layers 0–3`. */
export function matrixName({ layer, head, quantity }: MatrixKey): string {
  if (quantity === "weights") return headName(layer, head);
  const called = calledOf(quantity);
  if (isRolled(quantity)) return `${called}, ${layer === 0 ? "layer 0" : `layers 0–${layer}`}`;
  return `${called} · ${hasHead(quantity) && head !== "mean" ? headName(layer, head) : `L${layer}`}`;
}

/** The same in a line: `L3 · H5`, `rollout to L3`, `ALTI · L3`. */
export function placeName(key: MatrixKey): string {
  return isRolled(key.quantity) ? `${calledOf(key.quantity)} to L${key.layer}` : matrixName(key);
}

/** A matrix for screen readers. */
export function spokenMatrix({ layer, head, quantity }: MatrixKey): string {
  if (quantity === "weights") return spokenHead(layer, head);
  const called = calledOf(quantity);
  if (isRolled(quantity)) {
    return `${called} over ${layer === 0 ? "layer 0" : `layers 0 to ${layer}`}`;
  }
  const one = hasHead(quantity) && head !== "mean";
  return `${called} of ${one ? spokenHead(layer, head) : `layer ${layer}`}`;
}

/** `layer 3, head 5`, for screen readers. */
export function spokenHead(layer: number, head: HeadIndex): string {
  return head === "mean" ? `layer ${layer}, mean of its heads` : `layer ${layer}, head ${head}`;
}

export const schemeOf = (tokens: TokenColumns): TokenScheme =>
  tokenScheme(tokens.text, tokens.surface);

/** Axis label of a unit: the tokenizer's text, every character visible. */
export function unitLabel(unit: Unit, scheme: TokenScheme): string {
  return tokenLabel(unit.text, scheme, unit.surface).text;
}

/** The figure's name, as shown on its card or axis. */
export const metricName = (key: string): string =>
  key === "effect" ? "Effect on the target" : (NAMES[key] ?? key.replace("accuracy: ", ""));
