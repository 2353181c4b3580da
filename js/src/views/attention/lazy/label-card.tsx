/** The card of a row or of a column: its largest weights, and what a key receives in all. */

import { strongestOf } from "../../../figures/derive/matrix";
import { repeated } from "../../../figures/derive/units";
import { isSquare, type Matrix } from "../../../figures/matrix";
import type { AxisLabels } from "../../../figures/names";
import { itemAt } from "../../../protocol/required";
import { quoted } from "../../../ui/sentence";
import { UnitName, Value } from "../group";

const LISTED = 5;

/** `row`: what its query attends to; else who attends to the key of `column`. */
export function LabelCard({
  matrix,
  labels,
  row,
  column,
}: {
  readonly matrix: Matrix;
  readonly labels: AxisLabels;
  /** -1 for a column. */
  readonly row: number;
  readonly column: number;
}) {
  const { queries, keys, weights, received, quantity } = matrix;
  const ofRow = row >= 0;
  const [verb, preposition, gets, source] =
    quantity === "weights"
      ? ["attends", "to", "receives", "from"]
      : ["comes", "from", "gives", "to"];
  const twice = {
    queries: repeated(labels.queries),
    keys: isSquare(matrix) ? repeated(labels.queries) : repeated(labels.keys),
  };
  const name = (axis: "queries" | "keys", i: number) => (
    <UnitName units={matrix[axis]} labels={labels[axis]} twice={twice[axis]} i={i} write={quoted} />
  );
  const values = ofRow
    ? weights.subarray(row * keys.length, (row + 1) * keys.length)
    : Float32Array.from(queries, (_, i) => itemAt(weights, i * keys.length + column));
  return (
    <div class="aw-link-card" data-aw-part="label-card">
      <p>
        <b>{ofRow ? name("queries", row) : name("keys", column)}</b>
        {ofRow ? (
          ` ${verb} most ${preposition}`
        ) : (
          <>
            {` ${gets} `}
            <Value matrix={matrix} value={itemAt(received, column)} />
            {" on average, most "}
            {source}
          </>
        )}
      </p>
      <dl class="aw-figures">
        {strongestOf(values, LISTED).map((i) => (
          <div class="aw-figure" key={i}>
            <dt>{name(ofRow ? "keys" : "queries", i)}</dt>
            <dd>
              <Value matrix={matrix} value={itemAt(values, i)} />
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
