/** The methods of the view Why: a strip each, and the verdict of their test. */

import { type Mode, rampImage } from "../../draw/color/ramp";
import type { Unit } from "../../figures/derive/units";
import { shareOf } from "../../protocol/task";
import type { Contributions } from "./data";
import type { WhyModel } from "./model";
import { Link, MethodRow, refusalOf } from "./rows";
import { Header } from "./strips";
import { sumOfUnit } from "./sum";
import { sentence } from "./trust";

const FALL_TITLE =
  "Mean fall of the target's probability as words are masked in the method's order. Gray: 95% of random orders, with their mean. Filled: better than random after correction for the number of methods";
/** Width of the scale's ramp, px. */
const RAMP = 18;

/** The methods as strips below each other, with the test next to them. */
export function Strips({
  model,
  found,
  sources,
  nameUnit,
  width,
  mode,
  events,
}: {
  readonly model: WhyModel;
  readonly found: Contributions | null;
  /** Units of the source, which stand before those of the text. */
  readonly sources: number;
  readonly nameUnit: (unit: Unit) => string;
  /** Width of a strip, px. */
  readonly width: number;
  readonly mode: Mode;
  readonly events: {
    onClick(event: MouseEvent): void;
    onPointerOver(event: PointerEvent): void;
    onPointerLeave(): void;
  };
}) {
  const units = model.units.value;
  return (
    <div
      class={model.untested.value ? "aw-why-strips is-untested" : "aw-why-strips"}
      role="group"
      aria-label="Contributions by method"
      hidden={model.absent.value !== null}
      {...events}
    >
      <span class="aw-muted aw-small aw-why-scale">
        against
        <i
          aria-hidden="true"
          style={{ background: width > 0 ? rampImage("signed", mode, RAMP) : "" }}
        />
        for
      </span>
      <div class="aw-why-top">
        {sources > 0 && (
          <div class="aw-why-texts aw-muted aw-small" aria-hidden="true">
            <span style={{ flexGrow: sources }}>source</span>
            <span style={{ flexGrow: units.length - sources }}>written</span>
          </div>
        )}
        {width > 0 && (
          <Header
            labels={units.map(nameUnit)}
            values={units.map((unit) => (found ? sumOfUnit(found.values, unit) : 0))}
            width={width}
          />
        )}
      </div>
      <span class="aw-muted aw-small aw-why-fall" title={FALL_TITLE}>
        masking test
      </span>
      {model.methods.map(
        (method, i) =>
          refusalOf(model.stages.value[i]) === null && (
            <MethodRow key={method.key} model={model} index={i} width={width} mode={mode} />
          ),
      )}
    </div>
  );
}

/** Methods that are N/A in a line, with the reasons on demand. */
export const Refused = ({
  byReason,
}: {
  readonly byReason: ReadonlyMap<string, readonly string[]>;
}) => (
  <details class="aw-why-refused aw-small" data-aw-part="why-refused">
    <summary class="aw-ellipsis">{`N/A here: ${[...byReason.values()].flat().join(", ")}`}</summary>
    {[...byReason].map(([reason, names]) => (
      <p key={reason} class="aw-hint">
        {byReason.size > 1 && `${names.join(", ")}: `}
        {reason}
      </p>
    ))}
  </details>
);

/** The verdict of the masking test or its progress, or why nothing can be explained. */
export function Verdict({ model }: { readonly model: WhyModel }) {
  if (model.absent.value !== null) return model.absent.value;
  const task = model.test.value;
  if (task === null) return null;
  const { status, value, failure } = task.state.value;
  if (value !== null) return sentence(value);
  if (failure !== null) {
    const { lasting, message, hint } = failure;
    return `${lasting ? "" : "The methods cannot be tested: "}${message} ${hint}`.trim();
  }
  if (status !== "running")
    return (
      <>
        <Link words="Test the methods by masking words" act={() => void task.start()} />
        {" (takes seconds to minutes for a text of this length)"}
      </>
    );
  const share = shareOf(task.state.value);
  if (share === null) return "Masking words in each method's order …";
  return (
    <>
      {`Masking words in each method's order: ${Math.round(100 * share)}% `}
      <Link words="cancel" act={() => task.stop()} />
    </>
  );
}
