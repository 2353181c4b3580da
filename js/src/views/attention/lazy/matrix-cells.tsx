/** The rows and columns of the matrix as a table. */

import { largest, rowOf } from "../../../figures/derive/matrix";
import { errorOf, isSquare, numOf, scoreOf } from "../../../figures/matrix";
import { rowLabels } from "../../../figures/names";
import { itemAt } from "../../../protocol/required";
import { Num } from "../../../ui/number";
import { nameOf, type Props } from "../matrix-table";

/** Beyond this many rows and columns a table is not readable. */
const MOST = 40;

/** At most `MOST` places of `size`, with `focus` in their middle. */
function around(focus: number, size: number): number[] {
  const count = Math.min(size, MOST);
  const first = Math.max(0, Math.min(Math.max(0, focus) - Math.floor(MOST / 2), size - count));
  return Array.from({ length: count }, (_, i) => first + i);
}

export function MatrixCells({ matrix, labels, focus, rest }: Props) {
  const { queries, keys, scores, weights, allowed } = matrix;
  // Rows and columns around the focus token when the matrix is larger than a table can be; the keys of another text are around
  // the one that it attends to most.
  const key =
    isSquare(matrix) || focus < 0
      ? focus
      : itemAt(largest(rowOf(scores ?? weights, focus, keys.length), 1), 0);
  const names = rowLabels(labels);
  const [rows, columns] = [around(focus, queries.length), around(key, keys.length)];
  const of = (range: readonly number[], size: number): string =>
    size > range.length ? `${range[0]} to ${range.at(-1)} of ${size}` : "";
  const [ofRows, ofColumns] = [of(rows, queries.length), of(columns, keys.length)];
  const part = isSquare(matrix)
    ? ofRows && `, ${ofRows}`
    : (ofRows && `; rows ${ofRows}`) + (ofColumns && `; columns ${ofColumns}`);
  const cell = (i: number, j: number) => {
    const value = itemAt(scores ?? weights, i * keys.length + j);
    if (allowed?.[i * keys.length + j] === 0 || value === -Infinity) {
      return (
        <td key={j} class="aw-number">
          masked
        </td>
      );
    }
    return (
      <Num
        key={j}
        tag="td"
        {...(scores === null ? numOf(matrix, value) : scoreOf(matrix, value))}
      />
    );
  };
  return (
    <table class="aw-table">
      <caption>
        {nameOf(matrix)}: rows are queries, columns are keys{part}
      </caption>
      <thead>
        <tr>
          <td />
          {columns.map((j) => (
            <th key={j} scope="col">
              <bdi>{itemAt(labels.keys, j)}</bdi>
            </th>
          ))}
          {rest && <th scope="col">rest</th>}
        </tr>
      </thead>
      <tbody>
        {rows.map((i) => (
          <tr key={i}>
            <th scope="row">
              <bdi>{itemAt(names, i)}</bdi>
            </th>
            {columns.map((j) => cell(i, j))}
            {rest && (
              <Num tag="td" value={itemAt(rest, i)} error={errorOf(matrix, 1, keys.length)} />
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

declare module "../../contract" {
  interface LazyCode {
    readonly MatrixCells: typeof MatrixCells;
  }
}
