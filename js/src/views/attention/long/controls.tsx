/** Above a long matrix: its name, its quantity, how blocks are pooled, what the colors mean, how near it is. */

import type { ReadonlySignal, Signal } from "@preact/signals-core";
import type { Mode } from "../../../draw/color/ramp";
import { rampValue } from "../../../draw/color/scale";
import { capital, formatCount, formatNumber } from "../../../figures/format";
import {
  keyOfLong,
  type LongMatrix,
  mostOfLong,
  type Pooling,
  topAt,
} from "../../../figures/long/store";
import { scoresAbsent } from "../../../figures/matrix";
import { matrixName } from "../../../figures/names";
import { calledOf, measureOf, mixingOf } from "../../../figures/quantities";
import type { Selection } from "../../../state/selection";
import { Segmented } from "../../../ui/controls";
import { memo } from "../../../ui/memo";
import { setTo, setter } from "../../../ui/mount";
import type { ViewContext } from "../../contract";
import { Quantities, Ramp } from "../controls";
import { ZoomButtons } from "../lazy/zoom";

const POOLINGS = [
  ["max", "max", { title: "A block has the color of its largest cell: shows single links" }],
  ["mean", "mean", { title: "A block has the color of its mean: shows areas" }],
] as const;

/** Why no quantity of what attention carries is drawn (docs/long-texts.md). */
const NO_MIXING =
  "a text of more than 1,024 tokens is drawn at several levels of detail, which exist only for weights, scores and rollouts";

export function LongHead({
  context,
  matrix,
  selection,
  explained,
}: {
  readonly context: ViewContext;
  readonly matrix: LongMatrix | null;
  readonly selection: Selection;
  /** True if the reader asked for a quantity of what attention carries. */
  readonly explained: Signal<boolean>;
}) {
  const { meta } = context.source;
  const { quantity, head } = selection;
  const wanted = mixingOf(quantity) !== null ? capital(calledOf(measureOf(quantity))) : null;
  const unavailable = wanted ?? (explained.value ? "What attention carries" : null);
  const figure =
    matrix?.quantity === "scores"
      ? "scaled scores"
      : `largest ${formatNumber(matrix?.largest ?? 0)}`;
  return (
    <div>
      <div class="aw-panel-head">
        <h3 class="aw-title" data-aw-part="head-name">
          {matrix && matrixName(keyOfLong(matrix))}
        </h3>
        <span class="aw-muted">
          {matrix && `${formatCount(matrix.rows)} × ${formatCount(matrix.columns)}, ${figure}`}
        </span>
        <Quantities
          context={context}
          value={matrix?.quantity ?? quantity}
          absent={scoresAbsent({ head, words: false }, meta)}
        >
          {meta.profile === null && (
            <button
              type="button"
              data-aw-part="carried-quantity"
              aria-disabled="true"
              title={`N/A: ${NO_MIXING}`}
              onClick={setTo(explained, true)}
            >
              mixing …
            </button>
          )}
        </Quantities>
      </div>
      <p class="aw-hint" data-aw-part="quantity-note" role="status" hidden={unavailable === null}>
        {unavailable !== null &&
          `${unavailable} is not drawn here: ${NO_MIXING}. The picture shows weights.`}
      </p>
    </div>
  );
}

export const LongTools = memo(function LongTools({
  matrix,
  selection,
  mode,
  pooling,
  level: { value: level },
  labels,
  links,
  leaving,
  zoom,
}: {
  readonly matrix: ReadonlySignal<LongMatrix | null>;
  readonly selection: ReadonlySignal<Selection>;
  readonly mode: ReadonlySignal<Mode>;
  readonly pooling: Signal<Pooling>;
  /** The level that is drawn: a cell is a block of `2 ** level` tokens a side. */
  readonly level: ReadonlySignal<number>;
  /** Text of what labels name on this level. */
  readonly labels: ReadonlySignal<string>;
  /** Links in view, and those from the focus that lead out of it. */
  readonly links: ReadonlySignal<number>;
  readonly leaving: ReadonlySignal<number>;
  readonly zoom: (factor: number | null) => void;
}) {
  const { value: shown } = matrix;
  const { scale } = selection.value;
  const side = 2 ** level;
  const pooled = pooling.value;
  const signed = shown?.quantity === "scores";
  const top =
    shown === null
      ? 0
      : signed
        ? mostOfLong(shown)
        : rampValue(1, topAt(shown, pooled, level, scale), scale);
  const high = formatNumber(top);
  const cell =
    level === 0 ? "the cell itself" : `${pooled} of a block of ${side} by ${side} tokens`;
  const cells = level === 0 ? "every cell" : `${pooled} of ${side} × ${side} tokens`;
  const count = links.value;
  return (
    <div class="aw-tools aw-cluster aw-small">
      <Segmented
        class={level === 0 ? "aw-idle" : ""}
        label="A block of cells shows its"
        part="pooling"
        name="name"
        options={POOLINGS}
        value={pooled}
        choose={setter(pooling)}
      />
      <Ramp
        part="long-legend"
        mode={mode.value}
        signed={signed}
        ends={[signed ? formatNumber(-top) : "0", high]}
        top={{ value: top, error: 0 }}
        label={`Color: ${cell}, up to ${high}`}
      />
      {shown?.masked && (
        <span class="aw-ramp-hatched">
          <i aria-hidden="true" />
          masked
        </span>
      )}
      <span class="aw-muted aw-long-block" data-aw-part="block">
        {labels.value !== "" && `${cells}, ${labels.value}`}
      </span>
      <ZoomButtons zoom={zoom} />
      <span class="aw-muted aw-number aw-long-links" data-aw-part="links" data-aw-value={count}>
        {`${count} ${count === 1 ? "link" : "links"} in view`}
        {leaving.value > 0 && `, ${leaving.value} from the focus lead out of view`}
      </span>
    </div>
  );
});
