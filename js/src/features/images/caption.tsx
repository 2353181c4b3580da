/** Words below the picture: what is shown, special tokens with their weights, the scale, a number. */

import type { ReadonlySignal } from "@preact/signals-core";
import { inkOn, type Mode } from "../../draw/color/ramp";
import { rampPosition, rampValue } from "../../draw/color/scale";
import { formatNumber, formatPercent, formatSigned } from "../../figures/format";
import { Button } from "../../ui/controls";
import { memo } from "../../ui/memo";
import { Num } from "../../ui/number";
import type { ImageModel } from "./model";
import { entryOf, overlayImage, overMiddle } from "./paint";
import { createPaintedWords } from "./painted";
import { chosenName, hasChance, placeOfRow, subjectOf, timesChance } from "./words";

/** A note that only says how large the picture is. */
const SIZE = /^[\d,]+ × [\d,]+ px$/;

export function createWords(model: ImageModel, mode: ReadonlySignal<Mode>) {
  const {
    n,
    values,
    top,
    selection,
    pointed,
    focus,
    special,
    chosenValues,
    scale,
    painted,
    numOf,
  } = model;

  const Title = memo(function Title() {
    const { kind, tokens } = focus.value;
    const mean = tokens.length > 1;
    return (
      <p
        class={`aw-picture-title${kind === "pointed" ? " is-passing" : ""}`}
        data-aw-part="picture-title"
      >
        {mean ? "Mean of " : "What "}
        <b>
          <bdi>{subjectOf(model)}</bdi>
        </b>
        {mean ? "" : " looks at"}
        <span class="aw-muted"> · {placeOfRow(model)}</span>
      </p>
    );
  });

  const Chips = memo(function Chips() {
    if (special.length === 0) return null;
    const [row, most] = [values.value, top.value];
    const { token: chosen } = selection.value;
    const signed = painted.value !== null;
    const coloring = { mode: mode.value, scale: scale.value, signed };
    return (
      <div class="aw-picture-chips" role="group" aria-label="Special tokens">
        {special.map((token) => {
          const value = row?.[token] ?? Number.NaN;
          const index = entryOf(value, most, coloring);
          const color = overMiddle(index, coloring);
          const shown = !Number.isNaN(value);
          const num = numOf(value);
          const said = signed ? formatSigned(value) : formatNumber(num);
          return (
            <Button
              key={token}
              class="aw-picture-chip"
              part="special"
              data-token={token}
              aria-pressed={chosen === token}
              title={
                shown
                  ? `${model.nameOf(token)}: ${said}${timesChance(model, num)}`
                  : model.nameOf(token)
              }
              style={shown ? { background: `rgb(${color.join(" ")})`, color: inkOn(color) } : {}}
              onClick={() => model.choose(chosen === token ? null : token)}
            >
              <bdi dir="ltr">{model.nameOf(token)}</bdi>
              {shown && <span class="aw-number">{signed ? said : formatPercent(num, 2)}</span>}
            </Button>
          );
        })}
      </div>
    );
  });

  const Legend = memo(function Legend() {
    const most = top.value;
    if (values.value === null) return null;
    const end = rampValue(1, most, scale.value);
    const num = scale.value === "unit" ? { value: end, error: 0 } : numOf(end);
    const chance = 1 / n;
    const place = chance < end ? 100 * rampPosition(chance, most, scale.value) : null;
    const withChance = place !== null && hasChance(model);
    return (
      <div
        class="aw-picture-legend aw-tiny"
        role="img"
        aria-label={`Colors: 0 to ${formatNumber(num)}${scale.value === "sqrt" ? ", by square root" : ""}${withChance ? `; chance is ${formatNumber(chance)}` : ""}`}
        data-aw-part="picture-legend"
      >
        <span class="aw-number">0</span>
        <span
          class="aw-picture-ramp"
          style={{ background: overlayImage({ mode: mode.value, signed: false }) }}
        >
          {withChance && (
            <span class="aw-picture-chance" style={{ left: `${place}%` }}>
              <span>chance</span>
            </span>
          )}
        </span>
        <Num {...num} />
        {scale.value === "sqrt" && <span>by square root</span>}
      </div>
    );
  });

  const Readout = memo(function Readout() {
    const [row, token] = [values.value, pointed.value];
    const given = token === null ? undefined : chosenValues.value?.[token];
    if (token !== null && given !== undefined && !Number.isNaN(given))
      return (
        <p class="aw-picture-readout aw-tiny" data-aw-part="picture-readout">
          <bdi>{chosenName(model)}</bdi>
          {" gives "}
          <bdi>{model.nameOf(token)}</bdi> <Num {...numOf(given, 1, false)} />
          {timesChance(model, numOf(given, 1, false))}
        </p>
      );
    if (row === null || !hasChance(model)) return <p class="aw-picture-readout" />;
    // A row sums to 1, and the chips above tell the rest.
    const rest = special.reduce((sum, each) => sum + (row[each] ?? Number.NaN), 0);
    if (special.length === 0 || Number.isNaN(rest)) return <p class="aw-picture-readout" />;
    const share = { ...numOf(rest, special.length), value: 1 - rest };
    return (
      <p class="aw-picture-readout aw-tiny" data-aw-part="picture-readout">
        {"patches get "}
        <Num {...share} text={formatPercent(share, 2)} />
      </p>
    );
  });

  const Painted = createPaintedWords(model, mode);
  const { note = "" } = model.source.meta;
  return memo(function Words() {
    return painted.value !== null ? (
      <Painted>
        <Chips />
      </Painted>
    ) : (
      <>
        <Title />
        <Chips />
        <Legend />
        <Readout />
        {!SIZE.test(note) && note !== "" && <p class="aw-hint aw-tiny">{note}</p>}
      </>
    );
  });
}
