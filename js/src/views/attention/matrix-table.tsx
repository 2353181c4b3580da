/** The matrix as a table: for reading by screen reader, and for copying. */

import { capital } from "../../figures/format";
import type { Matrix } from "../../figures/matrix";
import type { AxisLabels } from "../../figures/names";
import { calledOf } from "../../figures/quantities";
import { Disclosure } from "../../ui/disclosure";
import { memo } from "../../ui/memo";
import { lazyCode } from "../contract";

/** Name of the cells in the table's caption. */
export const nameOf = ({ quantity, scores }: Matrix): string =>
  scores !== null
    ? "Scaled scores"
    : quantity === "weights"
      ? "Weights"
      : capital(calledOf(quantity));

export interface Props {
  readonly matrix: Matrix;
  readonly labels: AxisLabels;
  /** Unit of the focus token; -1 for none. */
  readonly focus: number;
  /** Share of a learned sink in each row, `[queries]`. */
  readonly rest: Float32Array | null;
}

/** The table's code comes later. */
const Content = memo((props: Props) => {
  const { MatrixCells } = lazyCode.value ?? {};
  return MatrixCells ? <MatrixCells {...props} /> : <p class="aw-hint">Loading …</p>;
});

export const MatrixTable = memo(function MatrixTable(props: Props) {
  return (
    <Disclosure summary="Table" part="table" label={nameOf(props.matrix)}>
      {() => <Content {...props} />}
    </Disclosure>
  );
});
