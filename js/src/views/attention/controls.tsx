/** Above the pictures: what is shown, in which quantity, with how many links. */

import type { ReadonlySignal, Signal } from "@preact/signals-core";
import type { ComponentChildren } from "preact";
import type { Mode } from "../../draw/color/ramp";
import { exact, formatNumber } from "../../figures/format";
import { type Matrix, numOf, scoresAbsent } from "../../figures/matrix";
import { matrixName } from "../../figures/names";
import { calledOf, hasHead, isRolled, measureOf, mixingOf } from "../../figures/quantities";
import { largestAbsolute } from "../../protocol/ties";
import type { Num } from "../../protocol/types";
import type { Quantity, Selection } from "../../state/selection";
import { Button, Segmented } from "../../ui/controls";
import { memo } from "../../ui/memo";
import { setter } from "../../ui/mount";
import { RampTrack } from "../../ui/ramp-track";
import { lazyCode, type ViewContext } from "../contract";

const QUANTITIES = [
  ["weights", "Attention weights: the softmax of the scores, every row sums to 1"],
  ["scores", "Scaled scores q · k / √d, mask and bias included: the input of the softmax"],
  [
    "rollout",
    "Attention rollout (Abnar & Zuidema 2020, doi:10.18653/v1/2020.acl-main.385): the mean heads of " +
      "layers 0 to the selected one, each mixed half with the residual, multiplied: how much of a position comes from " +
      "each input token",
  ],
] as const;

/** A ramp between its ends; a signed one has 0 in the middle. */
export const Ramp = ({
  part,
  mode,
  signed,
  name = "",
  ends: [low, high],
  top,
  label,
  title,
}: {
  readonly part: string;
  readonly mode: Mode;
  readonly signed: boolean;
  readonly name?: string;
  readonly ends: readonly [low: string, high: string];
  readonly top: Num;
  readonly label: string;
  readonly title?: string;
}) => (
  <div class="aw-ramp" role="img" data-aw-part={part} aria-label={label} title={title}>
    {name}
    <span class="aw-number">{low}</span>
    <RampTrack mode={mode} signed={signed} stops={33}>
      {name !== "" && "0"}
    </RampTrack>
    <span class="aw-number" data-aw-value={exact(top)} title={exact(top)}>
      {high}
    </span>
  </div>
);

/** The quantities; `absent`: why there are no scores. */
export const Quantities = ({
  context: { state, announce, source },
  value,
  absent,
  children,
}: {
  readonly context: ViewContext;
  readonly value: Quantity;
  readonly absent: string | null;
  readonly children?: ComponentChildren;
}) => {
  const reasons: Partial<Record<Quantity, string | null>> = {
    scores: absent,
    rollout: source.meta.no_rollout?.replace(/\.$/, "") ?? null,
  };
  return (
    <Segmented
      label="Quantity"
      part="quantity"
      name="quantity"
      value={value}
      options={[
        ...QUANTITIES.map(([name, title]) => {
          const reason = reasons[name] ?? null;
          const off = { "aria-disabled": true, title: `N/A: ${reason}` } as const;
          return [name, name, reason === null ? { title } : off] as const;
        }),
        // Chosen in the Display popover.
        ...(mixingOf(value) === null ? [] : [[value, calledOf(measureOf(value))] as const]),
      ]}
      choose={(quantity) => {
        const reason = reasons[quantity] ?? null;
        if (reason === null) state.set({ quantity });
        else if (quantity === "scores") announce(`Scores are not available: ${reason}.`);
        else announce(`Rollout is not available: ${reason}.`);
      }}
    >
      {children}
    </Segmented>
  );
};

/** Why scores are N/A, and what another quantity than weights means; null where there is nothing to explain. */
function noteOf(quantity: Quantity, absent: string | null): string | null {
  const definition = lazyCode.value?.mixingDefinition(quantity);
  if (definition != null) {
    const ofLayer = !isRolled(quantity) && !hasHead(quantity);
    return definition + (ofLayer ? " It belongs to the layer, not to a head." : "");
  }
  if (absent === null) return null;
  return quantity === "scores"
    ? `Weights are shown; scores are N/A: ${absent}.`
    : `Scores N/A: ${absent}.`;
}

function subtitleOf(matrix: Matrix): string {
  const { queries, keys, scores, max, ratio } = matrix;
  const largest = scores === null ? `largest ${formatNumber(numOf(matrix, max))}` : "scaled scores";
  const mean = ratio && ratio.reduce((sum, share) => sum + share, 0) / ratio.length;
  const mixed = mean === undefined ? "" : `, mixing ratio ${formatNumber(mean)}`;
  return `${queries.length} × ${keys.length}, ${largest}${mixed}`;
}

export function Head({
  context,
  matrix,
  selection,
}: {
  readonly context: ViewContext;
  readonly matrix: Matrix | null;
  readonly selection: Selection;
}) {
  const { source } = context;
  const { quantity } = selection;
  const absent = scoresAbsent(selection, source.meta);
  const note = noteOf(quantity, absent);
  return (
    <div>
      <div class="aw-panel-head">
        <h3 class="aw-title" data-aw-part="head-name">
          {matrix && matrixName(matrix)}
        </h3>
        <span class="aw-muted">{matrix && subtitleOf(matrix)}</span>
        <Quantities
          context={context}
          value={quantity === "scores" && absent !== null ? "weights" : quantity}
          absent={absent}
        />
      </div>
      <p class="aw-hint aw-quantity-note" data-aw-part="quantity-note" hidden={note === null}>
        {note}
      </p>
    </div>
  );
}

const PICTURES = [
  ["matrix", "Matrix"],
  ["flow", "Flow"],
] as const;

export const Tools = memo(function Tools({
  matrix,
  mode,
  picture,
  threshold,
  drawn,
  zoomed,
  showAll,
}: {
  readonly matrix: ReadonlySignal<Matrix | null>;
  readonly mode: ReadonlySignal<Mode>;
  /** The picture of a view that is too narrow for both. */
  readonly picture: Signal<"matrix" | "flow">;
  /** Links are drawn from this weight on. */
  readonly threshold: ReadonlySignal<number>;
  readonly drawn: ReadonlySignal<number>;
  readonly zoomed: ReadonlySignal<boolean>;
  readonly showAll: () => void;
}) {
  const { scores = null, scoreError: error = 0 } = matrix.value ?? {};
  const count = drawn.value;
  return (
    <div class="aw-tools aw-cluster aw-small">
      <Segmented
        class="aw-which"
        label="Picture"
        name="picture"
        options={PICTURES}
        value={picture.value}
        choose={setter(picture)}
      />
      {scores !== null && (
        <ScoreRamp mode={mode.value} top={{ value: largestAbsolute(scores), error }} />
      )}
      {zoomed.value && (
        <Button class="aw-link aw-zoom" onClick={showAll}>
          show all
        </Button>
      )}
      <span
        class="aw-muted aw-number aw-flow-controls"
        data-aw-part="links"
        data-aw-value={count}
        title="Set in Display"
      >
        {`${count} ${count === 1 ? "link" : "links"} from ${formatNumber(threshold.value)}`}
      </span>
    </div>
  );
});

function ScoreRamp({ mode, top }: { readonly mode: Mode; readonly top: Num }) {
  const text = formatNumber(top);
  const label = `Color of a score: the same on both sides of 0, up to ±${text}`;
  const ends = [formatNumber({ ...top, value: -top.value }), `+${text}`] as const;
  return (
    <Ramp part="score-legend" name="score" signed {...{ mode, ends, top, label }} title={label} />
  );
}
