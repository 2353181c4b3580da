/** The bar: which head, what the colors mean, and the button of the Display popover. */

import { computed } from "@preact/signals-core";
import { render } from "preact";
import { ramp } from "../draw/color/ramp";
import { rampValue, SCALE_LABELS } from "../draw/color/scale";
import { h } from "../draw/dom";
import { createPopover } from "../draw/popover";
import { formatNumber } from "../figures/format";
import { errorOf, type Matrix, overflowText, topOf } from "../figures/matrix";
import { calledOf, hasHead, isRolled, measureOf, mixingOf } from "../figures/quantities";
import { isAbort } from "../protocol/failure";
import type { Part } from "../protocol/meta";
import type { Selection } from "../state/selection";
import { DEFAULT_SELECTION } from "../state/state";
import { Button, Segmented } from "../ui/controls";
import { modeSignal, mount, selectionOf, signalOf } from "../ui/mount";
import { Num } from "../ui/number";
import { RampTrack } from "../ui/ramp-track";
import { lazyCode, type ViewContext } from "../views/contract";
import { askCode } from "../views/lazy-views";

const NO_HEAD = {
  rollout: "Rollout mixes the heads of all layers up to this one, so there is no head to choose.",
  layer:
    "It belongs to the layer, because the residual and the norm follow the sum of all heads. There is no head to choose.",
};
const KEYS = [
  "part",
  "layer",
  "head",
  "quantity",
  "special",
  "words",
  "scale",
  "theme",
  "view",
] as const;
/** Names of the settings in the popover. */
const SETTINGS = {
  scale: "color scale",
  theme: "theme",
  special: "special tokens",
  words: "words",
} as const;

/** Names of the settings that are not at their default. */
const changesOf = (selection: Selection): string[] => [
  ...(Object.keys(SETTINGS) as (keyof typeof SETTINGS)[])
    .filter((key) => selection[key] !== DEFAULT_SELECTION[key])
    .map((key) => SETTINGS[key]),
  ...(selection.head === "mean" ? ["mean head"] : []),
  ...(mixingOf(selection.quantity) === null ? [] : [calledOf(measureOf(selection.quantity))]),
];

const PART_TITLES: Readonly<Record<Part, string>> = {
  encoder: "Encoder: the source attends to itself",
  decoder: "Decoder: what is written attends to what was written before it",
  cross: "Cross-attention: what is written attends to the source",
};

interface BarActions {
  toggleKeys(): void;
  toggleFullScreen(): void;
}

/** A layer or a head between two buttons; `value` null for the mean, `without` says why there is none. */
function Stepper({
  name,
  value,
  size,
  set,
  without = null,
}: {
  readonly name: "Layer" | "Head";
  readonly value: number | null;
  readonly size: number;
  readonly set: (value: number) => void;
  readonly without?: string | null;
}) {
  const button = (face: string, title: string, next: number, disabled: boolean) => (
    <Button label={title} disabled={disabled || without !== null} onClick={() => set(next)}>
      {face}
    </Button>
  );
  return (
    <div
      class="aw-stepper"
      role="group"
      aria-label={without === null ? name : `${name}: ${without}`}
      title={without ?? undefined}
      data-aw-part={name.toLowerCase()}
    >
      {button("‹", `${name} before`, (value ?? 0) - 1, value === null || value <= 0)}
      <span
        class="aw-number aw-stepper-value"
        title={without ?? `${name} ${value ?? "mean"} of ${size} (counted from 0)`}
      >
        {without === null ? `${name[0]}${value ?? " mean"}` : "all"}
      </span>
      {button("›", `${name} after`, (value ?? -1) + 1, value !== null && value >= size - 1)}
    </div>
  );
}

/** Draws the bar into `host`, a child of the widget's root. */
export function bar(host: HTMLElement, context: ViewContext, actions: BarActions): () => void {
  const { source, state, signal: until, matrix, display } = context;
  const { model, similarity, parts, part } = source.meta;
  const selection = selectionOf(state, KEYS, until);
  const shown = signalOf(matrix.get, (changed) => matrix.on(changed, until));
  const mode = modeSignal(host, until);
  const popover = createPopover(host.parentElement ?? host);
  const content = h("div", { class: "aw-display aw-stack aw-small" });
  const changed = computed(() => [
    // A similarity has one setting, words, which its view shows.
    ...(similarity === undefined ? changesOf(selection.value) : []),
    ...(display?.value?.changed() ?? []),
  ]);
  const without = computed(() => {
    const { quantity } = selection.value;
    return hasHead(quantity) ? null : NO_HEAD[isRolled(quantity) ? "rollout" : "layer"];
  });
  let lastHead = 0;

  function Content() {
    const { Display } = lazyCode.value ?? {};
    if (Display === undefined) return <p class="aw-hint">Loading …</p>;
    return (
      <Display
        context={context}
        selection={selection.value}
        without={without.value}
        setMean={(on) => state.set({ head: on ? "mean" : lastHead })}
        toggleKeys={() => {
          const { anchor } = popover;
          popover.close();
          // Escape is to find the list from there.
          anchor?.focus({ preventScroll: true });
          actions.toggleKeys();
        }}
        toggleFullScreen={actions.toggleFullScreen}
      >
        {display?.value?.View()}
      </Display>
    );
  }

  function openDisplay(anchor: HTMLElement): void {
    if (content.firstChild === null) mount(content, Content, until);
    askCode(source, until).catch((error: unknown) => {
      if (!isAbort(error)) context.report(error);
    });
    popover.toggle(anchor, "Display", content);
  }

  function Legend({ matrix: of }: { readonly matrix: Matrix }) {
    const { scale, quantity, view } = selection.value;
    // Signed numbers have their legend in the view that draws them.
    const hidden = (quantity === "scores" && of.scores !== null) || view === "why";
    const called = calledOf(of.quantity);
    const max = topOf(of, scale);
    const top = rampValue(1, max, scale);
    const error = scale === "unit" ? 0 : errorOf(of, top);
    const most = formatNumber({ value: top, error });
    const overflow = hidden ? "" : overflowText(of, scale);
    return (
      <>
        {view !== "why" && of.allowed?.includes(0) && (
          <span class="aw-ramp-hatched">
            <i aria-hidden="true" />
            masked
          </span>
        )}
        <div
          class="aw-ramp"
          role="img"
          data-aw-part="legend"
          hidden={hidden}
          aria-label={`Color of a ${called}: ${SCALE_LABELS[scale]}, ${most}`}
          title={SCALE_LABELS[scale]}
        >
          <span>{called}</span>
          <span class="aw-number">0</span>
          <RampTrack mode={mode.value} stops={17}>
            {scale === "sqrt" && formatNumber({ value: rampValue(0.5, max, scale), error })}
          </RampTrack>
          <Num value={top} error={error} text={most} />
        </div>
        <span
          class="aw-ramp-hatched aw-ramp-overflow"
          data-aw-part="legend-overflow"
          title={`${overflow}: hatched, beyond the end of the ramp`}
          hidden={overflow === ""}
        >
          <i
            aria-hidden="true"
            style={{ backgroundColor: ramp("weight", mode.value).css.at(-1) ?? "" }}
          />
          <span class="aw-number">{overflow}</span>
        </span>
      </>
    );
  }

  function View() {
    const { layer, head, part: wanted } = selection.value;
    if (head !== "mean") lastHead = head;
    const { n_layers, n_heads } = model;
    const names = changed.value;
    return (
      <>
        {parts && part && parts.length > 1 && (
          <div class="aw-bar-group">
            <Segmented
              label="Part of the model"
              part="part"
              name="part"
              busy={wanted !== part}
              options={parts.map((each) => [
                each,
                each,
                { title: `${PART_TITLES[each]} (key c: the next part)` },
              ])}
              value={part}
              choose={(to) => state.set({ part: to })}
            />
          </div>
        )}
        <div class="aw-bar-group aw-steppers" hidden={similarity !== undefined}>
          <Stepper
            name="Layer"
            value={layer}
            size={n_layers}
            set={(to) => state.set({ layer: to })}
          />
          <Stepper
            name="Head"
            value={head === "mean" ? null : head}
            size={n_heads}
            set={(to) => state.set({ head: to })}
            without={without.value}
          />
        </div>
        <div class="aw-bar-group" hidden={shown.value === null}>
          {shown.value && <Legend matrix={shown.value} />}
        </div>
        <Button
          class="aw-plain aw-bar-end"
          part="display"
          aria-haspopup="dialog"
          title={names.length > 0 ? `Changed: ${names.join(", ")}` : "How all views are drawn"}
          onClick={({ currentTarget }) => openDisplay(currentTarget)}
        >
          Display{names.length > 0 && ` · ${names.length} changed`}
        </Button>
      </>
    );
  }

  // Its one button needs no rules around it.
  host.classList.toggle("aw-bare", similarity !== undefined);
  mount(host, View, until);
  return () => {
    popover.dispose();
    render(null, content);
    render(null, host);
  };
}
