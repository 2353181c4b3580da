/** A pinned pair of what attention carries: its factors, and the sum of a layer's output that closes. */

import { h } from "../../../draw/dom";
import { exact, formatNumber } from "../../../figures/format";
import type { Matrix } from "../../../figures/matrix";
import { hasHead, isRolled } from "../../../figures/quantities";
import { explain, isAbort } from "../../../protocol/failure";
import { arrayOf, itemAt } from "../../../protocol/required";
import type { ViewContext } from "../../contract";
import { vectorStrip } from "./link-vectors";

/** Enough that a sum closes as it is written. */
const DIGITS = 5;
const DECIMALS = 4;

const sign = (text: string): HTMLElement =>
  h("span", { class: "aw-sign", "aria-hidden": "true" }, text);

function figure(
  name: string,
  value: number,
  error = 0,
  text = formatNumber(value, DIGITS, error),
): HTMLElement {
  const whole = exact(value, error);
  return h(
    "div",
    { class: "aw-figure" },
    h("dt", {}, name),
    h("dd", { class: "aw-number", "data-aw-value": whole, title: whole }, text),
  );
}

const chain = (...steps: (HTMLElement | string)[]): HTMLElement =>
  h("dl", { class: "aw-figures aw-chain" }, ...steps);
const note = (text: string): HTMLElement => h("p", { class: "aw-muted" }, text);

/** A term of a sum: all with the same decimals. */
const term = (name: string, value: number): HTMLElement =>
  figure(name, value, 0, value.toFixed(DECIMALS).replace("-", "−"));

/** Null for a pair that has no sum of its own. */
export function carriedSum(
  { source, signal }: ViewContext,
  matrix: Matrix,
  row: number,
  column: number,
): HTMLElement | null {
  const { layer, head, quantity, units } = matrix;
  if (quantity === "weights" || isRolled(quantity)) return null;
  const [query, key] = [itemAt(units, row), itemAt(units, column)];
  if (query.end - query.token > 1 || key.end - key.token > 1) {
    return note("A word combines several vectors; only single tokens have a sum here.");
  }
  const element = h("div", { "data-aw-part": "carried" }, note("…"));
  const n = source.meta.tokens.text.length;
  const at = query.token * n + key.token;

  /** `A × ‖v W_O‖ = ‖A v W_O‖`. */
  async function ofHead(one: number): Promise<HTMLElement[]> {
    const [weights, lengths] = await Promise.all([
      source.slice({ kind: "weights", layer, head: one }, { signal }),
      source.slice({ kind: "value_lengths", layer }, { signal }),
    ]);
    const weight = itemAt(arrayOf(weights, "weights").data, at);
    const length = itemAt(arrayOf(lengths, "lengths").data, one * n + key.token);
    const error = source.precision?.weight(weight) ?? 0;
    return [
      chain(
        figure("weight A", weight, error),
        sign("×"),
        figure("‖v W_O‖", length),
        sign("="),
        figure("‖A v W_O‖", weight * length, error * length),
      ),
    ];
  }

  /** The pair's vector, and the parts of the output along its own direction: they add up to its length. */
  async function ofLayer(): Promise<HTMLElement[]> {
    const request = {
      kind: "mixing_pair",
      layer,
      query: query.token,
      key: key.token,
    } as const;
    const slice = await source.slice(request, { signal });
    const value = (name: string): number => Number(slice.data[name]);
    return [
      vectorStrip(element, "this key's vector", arrayOf(slice, "vector").data as Float32Array),
      chain(
        figure("‖Σ A v W_O‖, all heads", value("of_layer")),
        sign("·"),
        figure("with residual and norm", value("length")),
        sign("·"),
        figure("mixing ratio of the query", value("ratio")),
      ),
      note("Along the output’s own direction the parts add up to its length:"),
      chain(
        term("this key", value("key")),
        sign("+"),
        term("all other tokens", value("others")),
        sign("+"),
        term("bias of W_O", value("bias")),
        sign("+"),
        term("shift of the norm", value("shift")),
        sign("="),
        term("‖output‖", value("output")),
      ),
    ];
  }

  /** The parts, or the reason why they are unavailable. */
  const orWhy = (parts: Promise<HTMLElement[]>): Promise<HTMLElement[]> =>
    parts.catch((error: unknown) => {
      if (isAbort(error)) return [];
      const { message, hint } = explain(error);
      return [note(`N/A: ${message} ${hint}`)];
    });
  const sums = hasHead(quantity) && head !== "mean" ? [ofHead(head), ofLayer()] : [ofLayer()];
  void Promise.all(sums.map(orWhy)).then((parts) => {
    if (!signal.aborted) element.replaceChildren(...parts.flat());
  });
  return element;
}
