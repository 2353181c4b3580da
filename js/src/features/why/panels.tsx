/** Panels below the strips: the tests of the methods, the heads that matter, and the target by layer. */

import type { Mode } from "../../draw/color/ramp";
import { largest } from "../../figures/derive/matrix";
import { formatNumber } from "../../figures/format";
import { headName, schemeOf } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import { shareOf } from "../../protocol/task";
import { largestAbsolute } from "../../protocol/ties";
import type { State } from "../../state/selection";
import { NoAnswer } from "../../ui/answered";
import { Disclosure } from "../../ui/disclosure";
import { LensPanel } from "../../ui/lens";
import { memo } from "../../ui/memo";
import { lazyCode, type ViewContext, type ViewHandle } from "../../views/contract";
import { ComponentsPanel } from "./components";
import type { Effects } from "./data";
import { HeadBars } from "./head-bars";
import type { WhyModel } from "./model";
import { Link } from "./rows";
import { SharesPanel } from "./shares";
import { Agreement, MaskingTest } from "./trust";

interface PanelsProps {
  readonly context: ViewContext;
  readonly model: WhyModel;
  readonly mode: Mode;
  /** Receives the drawing of a part that a feature adds. */
  readonly drawn: (drawing: Drawing) => void;
}

declare module "../../views/contract" {
  interface LazyCode {
    /** Fills a place below the contributions, where a feature has something to say of a run; its drawing is the view's. */
    readonly belowWhy?: (place: HTMLElement, context: ViewContext) => Drawing;
  }
}

type Drawing = Pick<ViewHandle, "svg" | "part">;

/** A place that a feature fills, once. */
const Below = memo(function Below({
  context,
  drawn,
}: {
  readonly context: ViewContext;
  readonly drawn: (drawing: Drawing) => void;
}) {
  const fill = lazyCode.peek()?.belowWhy;
  return fill === undefined ? null : (
    <div ref={(place) => void (place && drawn(fill(place, context)))} />
  );
});

export function Panels(props: PanelsProps) {
  const { context, model, mode, drawn } = props;
  const [trust, method, lens] = [model.trust.value, model.current.value?.method, model.lens.value];
  const components = model.components.value;
  return (
    <div class="aw-why-below">
      {/* After the first answer, which would wait for it. */}
      {(model.titled.value !== null || model.absent.value !== null) && (
        <Below context={context} drawn={drawn} />
      )}
      <div class="aw-why-pair">
        {trust !== null && method !== undefined && <MaskingTest trust={trust} method={method} />}
        <div class="aw-why-panel">
          <Heads {...props} />
        </div>
      </div>
      {components !== null && context.shown?.meta.part !== "cross" && (
        <ComponentsPanel
          found={components}
          heads={context.source.meta.model.n_heads}
          state={context.state}
          mode={mode}
        />
      )}
      {model.shares.value !== null && (
        <SharesPanel
          of={model.shares.value}
          focus={model.focus.value}
          state={context.state}
          scheme={schemeOf(context.source.meta.tokens)}
        />
      )}
      {trust !== null && method !== undefined && <Agreement trust={trust} mode={mode} />}
      {lens !== null && (
        <Disclosure summary="Layer by layer (logit lens)" label="Layer by layer">
          {() => <LensPanel lens={lens} next={context.source.meta.model.predicts === "next"} />}
        </Disclosure>
      )}
    </div>
  );
}

const PART_NAMES = {
  encoder: "encoder",
  decoder: "decoder",
  cross: "cross-attention",
} as const;

/** Effects of all heads, or how to get them. */
function Heads({
  context: { state, source, shown = source },
  model,
  mode,
}: Omit<PanelsProps, "drawn">) {
  const task = model.heads.value;
  if (task === null) return null;
  const start = () => void task.start();
  const { status, value, failure } = task.state.value;
  const running = status === "running";
  const kind = model.titled.value?.of.names[1] === undefined ? "logit" : "difference";
  const share = running ? shareOf(task.state.value) : null;
  return (
    <>
      <h4>
        {shown.meta.part
          ? `Heads of the ${PART_NAMES[shown.meta.part]} that matter`
          : "Heads that matter"}
      </h4>
      {(status === "idle" || status === "stopped") && (
        <Link words="Switch off each head in turn" act={start} />
      )}
      {running && (
        <p class="aw-hint" role="status">
          Switching off each head in turn …{share !== null && ` ${Math.round(100 * share)}% `}
          {share !== null && <Link words="cancel" act={() => task.stop()} part="why-cancel" />}
        </p>
      )}
      {failure !== null && <NoAnswer failure={failure} again={start} />}
      {value !== null && (
        <>
          {/* In the place of the progress: a press on “cancel” that comes too late chooses no head. */}
          <p class="aw-hint">{`How much the ${kind} shrinks without each head.`}</p>
          <HeadList effects={value} heads={shown.meta.model.n_heads} {...{ state, mode }} />
        </>
      )}
    </>
  );
}

interface EffectsProps {
  readonly effects: Effects;
  /** Heads of a layer. */
  readonly heads: number;
  readonly state: State;
}

const LISTED = 6;

/** The strongest heads as bars, and all heads as a scatter plot. */
const HeadList = memo(function HeadList(props: EffectsProps & { readonly mode: Mode }) {
  const { effects, heads, state, mode } = props;
  const listed = largest(Array.from(effects.effects, Math.abs), LISTED);
  return (
    <div data-aw-part="why-heads">
      <HeadBars values={effects.effects} {...{ listed, heads, state, mode }} />
      <p class="aw-hint">
        <Link words="Shade the grid of heads by this" act={() => state.set({ metric: "effect" })} />
      </p>
      <Disclosure
        summary="All heads, against an estimate from the gradient"
        label="Effect of every head"
      >
        {() => <Guesses {...props} listed={new Set(listed)} />}
      </Disclosure>
    </div>
  );
});

/** The plot of guesses, px. */
const PLOT = { width: 300, height: 140, left: 30, right: 10, top: 16, bottom: 30, dot: 3 } as const;

/** Effect of every head against the gradient's guess; a dot chooses its head. */
function Guesses({
  effects: { effects, proxy, correlation },
  heads,
  state,
  listed,
}: EffectsProps & { readonly listed: ReadonlySet<number> }) {
  const { width, height, left, right, top, bottom, dot } = PLOT;
  const [guessed, exact] = [largestAbsolute(proxy), largestAbsolute(effects)];
  const x = (value: number): number => left + ((width - left - right) * value) / (guessed || 1);
  const y = (value: number): number =>
    height - bottom - ((height - top - bottom) * Math.abs(value)) / (exact || 1);
  const rho =
    correlation === null || Number.isNaN(correlation)
      ? null
      : `ρ = ${formatNumber(correlation, 2)}`;
  const over = rho === null ? "" : ` (${rho} over ${effects.length} heads)`;
  const choose = ({ target }: MouseEvent): void => {
    const { layer, head } = (target as Element).closest("circle")?.dataset ?? {};
    if (layer !== undefined) state.set({ layer: Number(layer), head: Number(head) });
  };
  return (
    <figure data-aw-part="why-guesses">
      <figcaption class="aw-hint">
        {`Effect of every head, against the estimate from one backward pass${over}.`}
      </figcaption>
      <svg
        class="aw-why-guesses"
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`Size of each head's effect against the gradient's estimate: ${rho ?? "no rank correlation"}`}
        onClick={choose}
      >
        <path d={`M${left} ${top}V${height - bottom}H${width - right}`} />
        {Array.from(effects, (value, i) => {
          const [layer, head] = [Math.floor(i / heads), i % heads];
          const guess = itemAt(proxy, i);
          return (
            <circle
              key={i}
              class={listed.has(i) ? "is-right" : "is-other"}
              data-layer={layer}
              data-head={head}
              cx={x(guess).toFixed(1)}
              cy={y(value).toFixed(1)}
              r={dot}
            >
              <title>{`${headName(layer, head)}: effect ${formatNumber(value)}, estimate ${formatNumber(guess)}`}</title>
            </circle>
          );
        })}
        <text x={left - 4} y={top + 8} text-anchor="end">
          {formatNumber(exact, 2)}
        </text>
        <text x={left - 4} y={height - bottom + 4} text-anchor="end">
          0
        </text>
        <text x={width - right} y={height - bottom + 13} text-anchor="end">
          {formatNumber(guessed, 2)}
        </text>
        <text x={(width + left) / 2} y={height - 4} text-anchor="middle">
          |gradient| (estimate)
        </text>
        {/* Above the axis, clear of the dots. */}
        <text x={left} y={top - 6}>
          |effect|
        </text>
      </svg>
    </figure>
  );
}
