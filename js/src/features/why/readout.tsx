/** Below the strips: the number of the token that is pointed at, and the cell of the matrix that it leads to. */

import { type Unit, unitOfToken } from "../../figures/derive/units";
import { exact, formatNumber } from "../../figures/format";
import { type Matrix, numOf } from "../../figures/matrix";
import { placeName } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import type { Target } from "../../protocol/types";
import type { Quantity } from "../../state/selection";
import { Num } from "../../ui/number";
import type { ViewContext } from "../../views/contract";
import type { Explained } from "./both-texts";
import { type Contributions, methodOf } from "./data";
import { Link } from "./rows";
import { sumOfUnit } from "./sum";

/** The rollout that a method reads its row from; null for the others. */
function quantityOf(method: string): Quantity | null {
  if (method === "weights") return "rollout";
  return ["norms", "mixing", "alti", "value_zeroing"].includes(method)
    ? (`${method}_rollout` as Quantity)
    : null;
}

interface ReadoutProps {
  readonly context: ViewContext;
  /** The number's token and method; null for none. */
  readonly token: number | null;
  readonly found: Contributions | null;
  readonly units: readonly Unit[];
  readonly matrix: Matrix | null;
  readonly explained: Explained;
  readonly target: Target | null;
  readonly label: (unit: Unit) => string;
}

export function Readout(props: ReadoutProps) {
  const { token, found, units, label } = props;
  const unit = token === null ? undefined : units[unitOfToken(units, token)];
  const value = unit === undefined || found === null ? null : sumOfUnit(found.values, unit);
  return (
    <p class="aw-why-readout aw-hint aw-small" data-aw-part="why-readout">
      {unit !== undefined && found !== null && value !== null && (
        <>
          <bdi>{label(unit)}</bdi>{" "}
          <span class="aw-number">{props.explained.placeOf(unit.token).token}</span>
          {`: ${methodOf(found.method).short} `}
          <Num value={value} text={Number.isNaN(value) ? "N/A" : formatNumber(value)} />{" "}
          {inMatrix(props, unit, found.method)}
        </>
      )}
    </p>
  );
}

/** The weight on screen in Attention, from the target's position to this token, and a button to go there. */
function inMatrix(
  { context: { source, state }, matrix, explained, target, label }: ReadoutProps,
  unit: Unit,
  method: string,
) {
  const query = target?.position ?? 0;
  const { token, ofSource } = explained.placeOf(unit.token);
  // The matrix has the keys of one of the two texts.
  const isKey = explained.sources === 0 || ofSource === (matrix?.queries !== matrix?.keys);
  const [row, column] = [matrix?.queryOf(query) ?? -1, (isKey ? matrix?.keyOf(token) : null) ?? -1];
  if (matrix === null || target === null || row < 0 || column < 0) return null;
  const { masked, model } = source.meta;
  const weight = numOf(matrix, itemAt(matrix.weights, row * matrix.keys.length + column));
  const unmasked = target.masked === true && !masked.some(({ token }) => token === query);
  const open = (): void => {
    const quantity = quantityOf(method);
    const change = quantity === null ? {} : { quantity, layer: model.n_layers - 1 };
    state.set({ ...change, view: "attention", token: query, pair: [query, token] });
  };
  return (
    <>
      {"· "}
      <span class="aw-why-cell">
        {`${placeName(matrix)}: `}
        <bdi>{label(itemAt(matrix.queries, row))}</bdi>
        {" → "}
        <bdi>{label(unit)}</bdi>{" "}
        <span class="aw-number" data-aw-weight={exact(weight)}>
          {formatNumber(weight)}
        </span>
        {unmasked ? ", unmasked " : " "}
        <Link words="see in the matrix" act={open} part="why-matrix" />
      </span>
    </>
  );
}
