/** The stage that weighs values: a head's output, and the sum over keys that it is. */

import { h } from "../../../draw/dom";
import { topOf } from "../../../figures/derive/dimensions";
import { formatNumber } from "../../../figures/format";
import { arrayOf, itemAt } from "../../../protocol/required";
import type { NdArray } from "../../../protocol/types";
import { at, type Content, ofDimensions, type Place, type Sized, strip } from "../content";
import { firstWindow } from "../data";
import { keyNames, needsHead } from "./attention";

const CONTRIBUTIONS = 4;

/** How far each component of `weight @ values` may be off: the values are exact. */
export function productErrors(
  weight: Float32Array,
  { data, shape }: NdArray,
  weightError: (value: number) => number,
): number[] {
  const width = itemAt(shape, 1);
  const each = Array.from(weight, weightError);
  return Array.from({ length: width }, (_, i) =>
    each.reduce((sum, error, j) => sum + error * Math.abs(itemAt(data, j * width + i)), 0),
  );
}

export async function headOutput(place: Place): Promise<Content> {
  const { stage, layer, head, token, signal } = place;
  const { precision } = stage.source;
  const weightError = (value: number): number => precision?.weight(value) ?? 0;
  if (head === null) return needsHead(place);
  const fields = { layer, head };
  const [own, output, attention, all] = await Promise.all([
    strip(place, "value", "value", "value, output", fields),
    strip(place, "head_output", "head output", "value, output", fields),
    stage.source.slice({ kind: "weights", layer, head, rows: [token, token + 1] }, { signal }),
    stage.source.slice({ kind: "tensor", name: "value", ...fields }, { signal }).catch(() => null),
  ]);
  const weight = arrayOf(attention, "weights").data as Float32Array;
  const values = all?.arrays.get("tensor");
  const name = keyNames(place);
  /** A sum of weights times numbers that are exact. */
  const errors =
    values === undefined || precision === undefined
      ? []
      : productErrors(weight, values, weightError);
  const strips: Sized[] = [
    { ...own, label: "its own value" },
    { ...output, error: (_value, i) => errors[i] ?? 0 },
  ];
  /** The sum over keys that a dimension of the output is. */
  const atCursor = (i: number): HTMLElement | null => {
    if (values === undefined) return null;
    const width = itemAt(values.shape, 1);
    const parts = Float32Array.from(weight, (w, j) => w * itemAt(values.data, j * width + i));
    const strongest = topOf(parts.map(Math.abs), CONTRIBUTIONS);
    const others = parts.reduce(
      (found, part, j) =>
        strongest.includes(j)
          ? found
          : {
              sum: found.sum + part,
              error:
                found.error +
                weightError(itemAt(weight, j)) * Math.abs(itemAt(values.data, j * width + i)),
            },
      { sum: 0, error: 0 },
    );
    const line = h("p", { class: "aw-inside-sum", "data-aw-part": "contributions" });
    line.append(`Dimension ${i} = Σ weight × value: `);
    strongest.forEach((j, k) => {
      line.append(
        k === 0 ? "" : " + ",
        h("bdi", { dir: "ltr" }, name(j)),
        ` ${formatNumber(itemAt(weight, j), undefined, weightError(itemAt(weight, j)))} × ${formatNumber(itemAt(values.data, j * width + i))}`,
      );
    });
    if (weight.length > strongest.length) {
      line.append(
        ` + ${weight.length - strongest.length} others ${formatNumber(others.sum, undefined, others.error)}`,
      );
    }
    line.append(` = ${formatNumber(at(output, i) ?? Number.NaN, undefined, errors[i])}`);
    return line;
  };
  return ofDimensions(
    strips,
    firstWindow("value"),
    (i) => [
      { sign: "", label: "its own value", value: at(own, i) },
      { sign: "", label: "head output", value: at(output, i), error: errors[i] ?? 0 },
    ],
    { atCursor },
  );
}
