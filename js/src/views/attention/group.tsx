/** Units and their sums in text. */

import type { Unit } from "../../figures/derive/units";
import { exact, formatNumber } from "../../figures/format";
import { type Matrix, numOf } from "../../figures/matrix";
import { itemAt } from "../../protocol/required";

/** A weight of the matrix, a mean of such, or a sum of `terms` of them. */
export function Value({
  matrix,
  value,
  terms = 1,
}: {
  readonly matrix: Matrix;
  readonly value: number;
  readonly terms?: number;
}) {
  const sum = numOf(matrix, value, terms);
  return (
    <span class="aw-number aw-sum" data-aw-value={exact(sum)} title={exact(sum)}>
      {formatNumber(sum)}
    </span>
  );
}

/** A label, with its position behind it where another token has the same one. */
export const Label = ({ text, nth }: { readonly text: string; readonly nth?: number | false }) => (
  <>
    <bdi dir="ltr">{text}</bdi>
    {nth !== false && <span class="aw-muted aw-nth">{nth}</span>}
  </>
);

/** A unit of an axis; `twice`: the labels that several units have. */
export const UnitName = ({
  units,
  labels,
  twice,
  i,
  write = (text) => text,
}: {
  readonly units: readonly Unit[];
  readonly labels: readonly string[];
  readonly twice: ReadonlySet<string>;
  readonly i: number;
  /** Spelling of a label. */
  readonly write?: (text: string) => string;
}) => {
  const text = itemAt(labels, i);
  return (
    <span>
      <Label text={write(text)} nth={twice.has(text) && itemAt(units, i).token} />
    </span>
  );
};
