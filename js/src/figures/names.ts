/** Display names of heads and tokens. */

import { keysOf } from "../protocol/meta";
import { itemAt } from "../protocol/required";
import type { HeadIndex, Meta, TokenColumns } from "../protocol/types";
import { NAMES } from "./catalog/names";
import type { Axes, Unit } from "./derive/units";
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
  const ofOneHead = hasHead(quantity) && head !== "mean";
  return `${called} of ${ofOneHead ? spokenHead(layer, head) : `layer ${layer}`}`;
}

/** `layer 3, head 5`, for screen readers. */
export function spokenHead(layer: number, head: HeadIndex): string {
  return head === "mean" ? `layer ${layer}, mean of its heads` : `layer ${layer}, head ${head}`;
}

export const schemeOf = (tokens: TokenColumns): TokenScheme =>
  tokenScheme(tokens.text, tokens.surface);

/** A token of a text, every character visible. */
export const tokenName = (
  { text, surface }: TokenColumns,
  position: number,
  scheme: TokenScheme,
): string => tokenLabel(itemAt(text, position), scheme, surface[position]).text;

/** Axis label of a unit: the tokenizer's text, every character visible. */
export function unitLabel(unit: Unit, scheme: TokenScheme): string {
  return tokenLabel(unit.text, scheme, unit.surface).text;
}

/** Labels of the units on both axes of a matrix; the same array where it is square. */
export interface AxisLabels {
  readonly queries: readonly string[];
  readonly keys: readonly string[];
  /** Labels of the tokens written after each query, null if unknown; null where no query writes. */
  readonly written: readonly (string | null)[] | null;
}

/** Labels of a matrix of a run. A decoder, and the attention from it to its source, reads a token and writes the next one. */
export function axisLabels(
  { queries, keys }: Axes,
  meta: Pick<Meta, "tokens" | "keys" | "part" | "next_token">,
): AxisLabels {
  const { tokens, part, next_token } = meta;
  const scheme = schemeOf(tokens);
  const labelsOf = (units: readonly Unit[], scheme: TokenScheme): string[] =>
    units.map((unit) => unitLabel(unit, scheme));
  const labels = labelsOf(queries, scheme);
  const others = keysOf(meta);
  const ofKeys = keys === queries ? labels : labelsOf(keys, schemeOf(others));
  const writes = part === "decoder" || part === "cross";
  const after = ({ end }: Unit, i: number): string | null => {
    if (queries[i + 1]?.token === end) return itemAt(labels, i + 1);
    const [text, surface] = [tokens.text[end] ?? next_token, tokens.surface[end]];
    return text == null ? null : tokenLabel(text, scheme, surface ?? text).text;
  };
  return { queries: labels, keys: ofKeys, written: writes ? queries.map(after) : null };
}

/** `Haus → ist`: what is read, and what is written then. */
export const rowLabels = ({ queries, written }: AxisLabels): readonly string[] =>
  written === null
    ? queries
    : queries.map((read, i) => (written[i] == null ? read : `${read} → ${written[i]}`));

/** A query in a sentence, for screen readers. */
export const spokenQuery = ({ queries, written }: AxisLabels, i: number): string =>
  written?.[i] == null ? itemAt(queries, i) : `reads ${itemAt(queries, i)}, writes ${written[i]},`;

/** Names of the axes of a run's matrices. */
export const axisNames = ({ part }: Pick<Meta, "part">) => ({
  rows: part === "decoder" || part === "cross" ? "reads → writes" : "query",
  columns: part === "cross" ? "source" : "key",
});

/** Figures of heads that depend on what is chosen in the page. */
const SHADES = { effect: "Effect on the target", pair: "The pinned link" };

/** The figure's name, as shown on its card or axis. */
export const metricName = (key: string): string =>
  (SHADES as Readonly<Record<string, string>>)[key] ?? NAMES[key] ?? key.replace("accuracy: ", "");
