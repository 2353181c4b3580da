/** Below the strips: the number of the token that is pointed at, and the cell of the matrix that it leads to. */

import { type Unit, unitOfToken } from "../../figures/derive/units";
import { exact, formatNumber } from "../../figures/format";
import { errorOf, type Matrix } from "../../figures/matrix";
import { placeName } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import type { Target } from "../../protocol/types";
import type { Quantity } from "../../state/selection";
import type { ViewContext } from "../contract";
import { type Contributions, METHODS } from "./data";
import { sumOfUnit } from "./sum";

/** The rollout that a method reads its row from; null for the others. */
export function quantityOf(method: string): Quantity | null {
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
  readonly target: Target | null;
  readonly label: (unit: Unit) => string;
}

export function Readout(props: ReadoutProps) {
  const { token, found, units, label } = props;
  const unit = token === null ? undefined : units[unitOfToken(units, token)];
  const value = unit === undefined || found === null ? null : sumOfUnit(found.values, unit);
  return (
    <p class="aw-why-readout aw-hint" data-aw-part="why-readout">
      {unit !== undefined && found !== null && value !== null && (
        <>
          {`${unit.token} `}
          <bdi>{label(unit)}</bdi>
          {`: ${METHODS.find(({ key }) => key === found.method)?.short} `}
          <span class="aw-number" data-aw-value={exact(value)} title={exact(value)}>
            {Number.isNaN(value) ? "N/A" : formatNumber(value)}
          </span>
          <InMatrix {...props} unit={unit} method={found.method} />
        </>
      )}
    </p>
  );
}

/** The weight on screen in Attention, from the target's position to this token, and a button to go there. */
function InMatrix({
  context: { source, state },
  unit,
  method,
  matrix,
  target,
  label,
}: ReadoutProps & { readonly unit: Unit; readonly method: string }) {
  const query = target?.position ?? 0;
  const [row, column] = [matrix?.unitOf(query) ?? -1, matrix?.unitOf(unit.token) ?? -1];
  if (matrix === null || target === null || row < 0 || column < 0) return null;
  const { masked, model } = source.meta;
  const weight = itemAt(matrix.weights, row * matrix.size + column);
  const error = errorOf(matrix, weight);
  const hidden = target.masked === true && !masked.some(({ token }) => token === query);
  const open = (): void => {
    const quantity = quantityOf(method);
    const change = quantity === null ? {} : { quantity, layer: model.n_layers - 1 };
    state.set({ ...change, view: "attention", token: query, pair: [query, unit.token] });
  };
  return (
    <>
      {" "}
      <span class="aw-why-cell">
        {`· ${placeName(matrix)}: `}
        <bdi>{label(itemAt(matrix.units, row))}</bdi>
        {" → "}
        <bdi>{label(unit)}</bdi>{" "}
        <span class="aw-number" data-aw-weight={exact(weight, error)}>
          {formatNumber(weight, undefined, error)}
        </span>
        {hidden ? ", unmasked " : " "}
        <button type="button" class="aw-why-link" data-aw-part="why-matrix" onClick={open}>
          see in the matrix
        </button>
      </span>
    </>
  );
}
