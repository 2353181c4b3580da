/** Below the head grid: what shades it, with the ends of its ramp, the largest head and the roles. */

import { category, categoryColor } from "../../draw/color/category";
import { inkOn, type Mode, rampImage } from "../../draw/color/ramp";
import { strongestOf } from "../../figures/derive/matrix";
import { formatNumber } from "../../figures/format";
import type { Roles } from "../../figures/head-figures";
import { roleName } from "../../figures/head-names";
import { headName } from "../../figures/names";
import { Button } from "../../ui/controls";
import { memo } from "../../ui/memo";
import type { GridInput } from "./input";
import type { GridModel } from "./model";
import { largestOf, waitingFor } from "./paint";
import { isSigned } from "./shadings";

const RAMP_STOPS = 18;
/** Heads of the largest weights that are named. */
const FIRST = 3;

/** Letter and name of each role. */
const Legend = ({
  roles,
  mode,
  hidden,
}: {
  readonly roles: Roles | null;
  readonly mode: Mode;
  readonly hidden: boolean;
}) => (
  <ul class="aw-grid-roles aw-list aw-cluster" data-aw-part="grid-roles" hidden={hidden}>
    {roles?.names.map((name, role) => {
      const { letter, rgb } = category(role);
      const style = {
        background: categoryColor(role, mode),
        color: inkOn(rgb[mode]),
      };
      return (
        <li key={role} class="aw-inline">
          <i class="aw-grid-role" aria-hidden="true" style={style}>
            {letter}
          </i>
          {roleName(name)}
        </li>
      );
    })}
  </ul>
);

export const Foot = memo(function Foot({
  model,
  input,
}: {
  readonly model: GridModel;
  readonly input: GridInput;
}) {
  const { heads, shade, layered, waiting, ends, mode, off } = model;
  const { key, figures, roles } = shade.value;
  const byLayer = layered.value;
  const late = waiting.value;
  const largest = figures === null || byLayer || late !== null ? null : largestOf(figures);
  const note =
    late !== null
      ? waitingFor(late)
      : byLayer
        ? "one cell per layer: contribution of each token"
        : figures !== null && largest === null
          ? "N/A for this text"
          : "";
  const [layer, head] = [Math.floor((largest ?? 0) / heads), (largest ?? 0) % heads];
  const signed = isSigned(key);
  return (
    <>
      <div class="aw-grid-foot" hidden={note === "" && largest === null}>
        <span class="aw-grid-note" hidden={note === ""}>
          {note}
        </span>
        <Button
          class="aw-grid-most"
          part="grid-most"
          hidden={largest === null}
          data-layer={largest === null ? undefined : layer}
          data-head={largest === null ? undefined : head}
          onClick={() => input.select(layer, head, false)}
        >
          most: {headName(layer, head)}
        </Button>
        {largest !== null &&
          key === "pair" &&
          strongestOf(figures ?? [], FIRST)
            .filter((index) => index !== largest)
            .map((index) => {
              const [layer, head] = [Math.floor(index / heads), index % heads];
              return (
                <Button
                  key={index}
                  class="aw-grid-most"
                  part="grid-next"
                  onClick={() => input.select(layer, head, false)}
                >
                  {headName(layer, head)} {formatNumber(figures?.[index] ?? Number.NaN)}
                </Button>
              );
            })}
        <div class="aw-ramp aw-grid-legend" hidden={largest === null}>
          <span class="aw-number">{ends.value && formatNumber(ends.value.least)}</span>
          <span
            class="aw-ramp-bar"
            aria-hidden="true"
            style={{
              background:
                largest === null
                  ? undefined
                  : rampImage(signed ? "signed" : "metric", mode.value, RAMP_STOPS),
            }}
          />
          <span class="aw-number">{ends.value && formatNumber(ends.value.most)}</span>
        </div>
      </div>
      {off.View()}
      <Legend roles={roles} mode={mode.value} hidden={roles === null || byLayer || late !== null} />
    </>
  );
});
