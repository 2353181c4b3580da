/** Contents of the Display popover: how all views are drawn, then what the open view adds. */

import type { ComponentChildren } from "preact";
import { DEFINITIONS } from "../../catalog/definitions";
import { MIXINGS, type Mixing } from "../../catalog/selection";
import { calledOf, measureOf, mixingOf } from "../../figures/quantities";
import { cannotAnswer } from "../../protocol/failure";
import type { Meta } from "../../protocol/meta";
import { isLong } from "../../protocol/meta";
import type { Quantity, Scale, Selection, Theme } from "../../state/selection";
import { Button, Select } from "../../ui/controls";
import { Toggle } from "../../ui/toggle";
import { ofOneRun, type ViewContext } from "../../views/contract";
import { thumbnailNote } from "../head-grid/paint";

const SCALES: readonly (readonly [Scale, string])[] = [
  ["words", "strongest not special"],
  ["head", "strongest weight"],
  ["unit", "0 to 1"],
  ["sqrt", "square root"],
];
const THEMES: readonly (readonly [Theme, string])[] = [
  ["auto", "auto"],
  ["light", "light"],
  ["dark", "dark"],
];

export function Display({
  context: { source, state },
  selection: { head, quantity, special, words, scale, theme },
  without,
  setMean,
  toggleKeys,
  toggleFullScreen,
  children,
}: {
  readonly context: ViewContext;
  readonly selection: Selection;
  /** Why there is no head to choose; null where there is one. */
  readonly without: string | null;
  readonly setMean: (on: boolean) => void;
  readonly toggleKeys: () => void;
  readonly toggleFullScreen: () => void;
  /** The open view's part. */
  readonly children?: ComponentChildren;
}) {
  const { tokens } = source.meta;
  const single = ofOneRun(source.meta);
  /** A long text is drawn by tokens, with a legend in its view. */
  const short = single && !isLong(source.meta);
  return (
    <>
      {short && tokens.special.some(Boolean) && (
        <Toggle
          text="special tokens"
          part="special"
          on={special}
          set={(on) => state.set({ special: on })}
          title="Hidden special tokens keep their weight, so rows sum to less than 1"
        />
      )}
      {short && !source.meta.wordless && (
        <Toggle
          text="words"
          part="words"
          on={words}
          set={(on) => state.set({ words: on })}
          title="Pieces merged into words: mean over query rows, sum over key columns"
        />
      )}
      {/* Heads over many texts have no matrices to average. */}
      {single && (
        <Toggle
          text="mean head"
          part="mean"
          on={without === null && head === "mean"}
          set={setMean}
          title={without ?? "The average of the layer's matrices, treated as a head"}
          disabled={without !== null}
        />
      )}
      {children}
      {short && !cannotAnswer(source, { kind: "mixing", quantity: "norms", layer: 0 }) && (
        <Carried
          quantity={quantity}
          meta={source.meta}
          choose={(next) => state.set({ quantity: next })}
        />
      )}
      {single && (
        <div class="aw-display-row aw-cluster">
          color scale
          <Select
            label="Color scale"
            part="scale"
            options={SCALES}
            value={scale}
            choose={(next) => state.set({ scale: next })}
          />
        </div>
      )}
      {single && <p class="aw-hint aw-small">In the grid of heads {thumbnailNote(scale)}.</p>}
      <div class="aw-display-row aw-cluster">
        theme
        <Select
          label="Theme"
          part="theme"
          options={THEMES}
          value={theme}
          choose={(next) => state.set({ theme: next })}
        />
      </div>
      <div class="aw-display-row aw-cluster">
        <Button class="aw-plain-button" part="keys-button" onClick={toggleKeys}>
          Keys (?)
        </Button>
        <Button
          class="aw-plain-button"
          part="full-screen"
          hidden={!document.fullscreenEnabled}
          onClick={toggleFullScreen}
        >
          Full screen
        </Button>
      </div>
    </>
  );
}

/** Quantities that add what a position keeps of itself: N/A where it looks at another text. */
const OF_ITSELF: ReadonlySet<Mixing> = new Set(["mixing", "alti"]);

/** Quantities of what attention carries, not only where it looks. */
function Carried({
  quantity,
  meta: { keys, no_rollout },
  choose,
}: {
  readonly quantity: Quantity;
  readonly meta: Meta;
  readonly choose: (quantity: Quantity) => void;
}) {
  const mixing = mixingOf(quantity) !== null;
  const group = (label: string, rolled: boolean) => ({
    label,
    options: MIXINGS.filter((kind) => !keys || !OF_ITSELF.has(kind)).map((kind) => {
      const value: Quantity = rolled ? `${kind}_rollout` : kind;
      return [value, calledOf(measureOf(value)), DEFINITIONS[kind]] as const;
    }),
  });
  return (
    <div class="aw-display-row aw-cluster">
      what attention carries
      <Select<Quantity | "">
        label="What attention carries"
        title="What attention carries, not only where it looks"
        part="carried-quantity"
        options={[
          ["", mixing ? "weights" : "mixing …"],
          group("Mixing", false),
          ...(no_rollout ? [] : [group("Rollout of mixing", true)]),
        ]}
        value={mixing ? quantity : ""}
        choose={(next) => choose(next || "weights")}
      />
    </div>
  );
}

declare module "../../views/contract" {
  interface LazyCode {
    readonly Display: typeof Display;
  }
}
