/** Display names of heads and tokens. */

import type { HeadIndex, TokenColumns } from "../protocol/types";
import { NAMES } from "./catalog/names";
import type { Unit } from "./derive/units";
import { type TokenScheme, tokenLabel, tokenScheme } from "./format";

/** Which matrix of a run. */
export interface MatrixKey {
  readonly layer: number;
  readonly head: HeadIndex;
  readonly quantity: "weights" | "rollout";
}

/** `L3 · H5`, `L3 · mean`. */
export function headName(layer: number, head: HeadIndex): string {
  return head === "mean" ? `L${layer} · mean` : `L${layer} · H${head}`;
}

/** Name of a matrix: `L3 · H5`, or, if heads are mixed, `rollout, layers 0–3`. */
export function matrixName({ layer, head, quantity }: MatrixKey): string {
  if (quantity !== "rollout") return headName(layer, head);
  return layer === 0 ? "rollout, layer 0" : `rollout, layers 0–${layer}`;
}

/** A matrix for screen readers. */
export function spokenMatrix({ layer, head, quantity }: MatrixKey): string {
  if (quantity !== "rollout") return spokenHead(layer, head);
  return layer === 0 ? "rollout over layer 0" : `rollout over layers 0 to ${layer}`;
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
  key === "effect" ? "Effect on the target" : (NAMES[key] ?? key);
