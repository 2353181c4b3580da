/**
 * Logit lens: the likeliest token of every layer at every position.
 *
 * `data-aw-part`: lens-grid, lens-card, lens-mode, lens-progress, lens-note, sentence.
 */

import { computed, type ReadonlySignal, signal } from "@preact/signals-core";
import { render } from "preact";
import type { Mode as Theme } from "../../draw/color/ramp";
import { tokenScheme } from "../../figures/format";
import type { TokenColumns } from "../../protocol/types";
import { NoAnswer } from "../../ui/answered";
import { Segmented } from "../../ui/controls";
import { copyExactValues } from "../../ui/copy-exact";
import { HoverCard } from "../../ui/hover-card";
import { Mark, RampLegend } from "../../ui/legend";
import { memo } from "../../ui/memo";
import { modeSignal, mount, selectionOf, watch, widthOf } from "../../ui/mount";
import { TaskProgress } from "../../ui/task-progress";
import type { DrawView, RunContext } from "../../views/contract";
import { LensCard } from "./card";
import { blockOf, layerName, lensRequest, lensTable, type Mode, sizeOf } from "./data";
import { createLensGrid } from "./grid";
import { createReadings } from "./reading";
import { askedAt, LensSentence } from "./sentence";

/** Texts up to here are read whole, unasked; longer ones where they are in sight (`recorded.py` keeps no more either). */
const WHOLE = 128;

const NOTES: Readonly<Record<Mode, string>> = {
  next: "After each token: what the final norm and the language-model head read in each layer’s state.",
  as_is:
    "At each token of the unmasked input: what the masked-LM head reads in each layer’s state.",
  masked:
    "Each position masked in turn: what the masked-LM head reads in each layer’s state there.",
};

const NOT =
  "A lens reads every layer as if it were the last. The head was trained on the last layer alone: an earlier one may hold the " +
  "same in another basis, so an early answer is not calibrated, and a wrong one does not show that the layer lacks the right one. " +
  "Nor does the lens tell what the later layers use. A tuned lens, which learns a translation for each layer, is not part of this page.";

/** Positions of the columns; without special tokens, unless the text has no others. */
function positionsOf({ special, text }: TokenColumns, withSpecial: boolean): readonly number[] {
  const shown = special.flatMap((is, i) => (is && !withSpecial ? [] : [i]));
  return shown.length > 0 ? shown : text.map((_, i) => i);
}

interface HeadProps {
  readonly mode: ReadonlySignal<Mode>;
  readonly theme: ReadonlySignal<Theme>;
  readonly canMask: boolean;
  readonly choose: (mode: Mode) => void;
}

const Head = memo(function Head({ mode, theme, canMask, choose }: HeadProps) {
  const now = mode.value;
  return (
    <header class="aw-lensgrid-top">
      <div class="aw-cluster">
        {canMask && (
          <Segmented<Mode>
            label="Input of the lens"
            part="lens-mode"
            name="mode"
            options={[
              ["as_is", "As is"],
              ["masked", "Masked", { title: "A pass of its own for every position" }],
            ]}
            value={now}
            choose={choose}
          />
        )}
        <p class="aw-view-note">{NOTES[now]}</p>
      </div>
      <div class="aw-cluster aw-lensgrid-legend aw-tiny">
        <span>probability</span>
        <RampLegend max={1} mode={theme.value} scale="unit" />
        <Mark kind="settled" text="from here on the last layer’s choice" />
      </div>
    </header>
  );
});

export const lens: DrawView<RunContext> = (host, context) => {
  const { source, state, announce, signal: until } = context;
  const { meta, live } = source;
  const { tokens, model } = meta;
  const n = tokens.text.length;
  const rows = model.n_layers + 1;

  const selection = selectionOf(state, ["layer", "token", "special"], until);
  const theme = modeSignal(host, until);
  const width = widthOf(host, 700, until);
  const mode = signal<Mode>(model.predicts === "next" ? "next" : "as_is");
  const readingOf = createReadings(source, until);
  const reading = computed(() => readingOf(mode.value));
  const blocks = computed(() => reading.value.blocks.value);
  const next = computed(() => mode.value === "next");
  const positions = computed(() => positionsOf(tokens, selection.value.special));
  const scheme = computed(() =>
    tokenScheme(
      [...tokens.text, ...[...blocks.value.values()].flatMap(({ names }) => [...names.values()])],
      tokens.surface,
    ),
  );
  const grid = createLensGrid(
    host,
    {
      ...{ tokens, rows, positions, blocks, scheme, theme, width, next },
      chosen: selection,
      pick({ row, column }) {
        const token = positions.peek()[column];
        if (token === undefined) return;
        state.set(row === 0 ? { token } : { layer: row - 1, token });
        announce(`${layerName(row)}, token ${token}: chosen.`);
      },
    },
    until,
  );

  const shown = computed(() => [
    ...new Set(grid.drawn.value.map((column) => blockOf(positions.value[column] ?? 0))),
  ]);
  /** Blocks in the order in which they are read. */
  const wanted = computed(() => {
    const asked = askedAt(meta, mode.value);
    const rest = n <= WHOLE && mode.value !== "masked" ? positions.value.map(blockOf) : [];
    return [...new Set([...shown.value, ...(asked === null ? [] : [blockOf(asked)]), ...rest])];
  });
  watch(() => void reading.value.want(wanted.value), until);
  const busy = computed(
    () =>
      reading.value.failure.value === null &&
      !reading.value.stopped.value &&
      wanted.value.some((each) => !blocks.value.has(each)),
  );

  const canMask =
    model.predicts !== "next" && (live || source.has?.(lensRequest("masked", 0, n)) === true);
  function choose(of: Mode): void {
    reading.peek().stop();
    const { stopped, toggle } = readingOf(of);
    if (stopped.peek()) toggle();
    mode.value = of;
  }

  const Progress = memo(function Progress(_: object) {
    const { progress, stopped, toggle } = reading.value;
    const sum = (some: readonly number[]) => some.reduce((all, each) => all + sizeOf(each, n), 0);
    const known = sum(wanted.value.filter((each) => blocks.value.has(each)));
    const total = sum(wanted.value);
    const [now, waits] = [progress.value, stopped.value && known < total];
    const shown = mode.value === "masked" && (now !== null || waits);
    return (
      <TaskProgress
        part="lens-progress"
        label="Masked inputs that have run"
        unit="positions"
        now={shown ? { done: known + (now?.[0] ?? 0), total, running: !waits } : null}
        toggle={toggle}
      />
    );
  });

  const Card = memo(function Card(_: object) {
    const at = grid.pointed.value;
    const position = at === null ? undefined : positions.value[at.column];
    const block = position === undefined ? undefined : blocks.value.get(blockOf(position));
    const ready = at !== null && position !== undefined && block !== undefined;
    return (
      <HoverCard at={ready ? grid.at.value : null} area={grid.area}>
        {ready && (
          <LensCard
            {...{ block, position, tokens, row: at.row }}
            next={next.value}
            scheme={scheme.value}
          />
        )}
      </HoverCard>
    );
  });

  function View() {
    const failure = reading.value.failure.value;
    return (
      <div class="aw-lensview" dir="ltr" aria-busy={busy.value ? "true" : undefined}>
        <LensSentence
          meta={meta}
          mode={mode.value}
          blocks={blocks.value}
          positions={positions.value}
          busy={busy.value}
          scheme={scheme.value}
          choose={(token) => state.set({ token })}
        />
        <Head {...{ mode, theme, canMask, choose }} />
        <Progress />
        {failure !== null && <NoAnswer failure={failure} again={() => reading.peek().again()} />}
        {(failure === null || blocks.value.size > 0) && (
          <div class="aw-lensgrid-place">
            <grid.Grid />
            <Card />
          </div>
        )}
        <details class="aw-disclosure" data-aw-part="lens-note">
          <summary>What a lens is not</summary>
          <p class="aw-view-note">{NOT}</p>
        </details>
      </div>
    );
  }

  mount(host, View, until);
  copyExactValues(host, until);
  const { token } = state.get();
  if (token !== null) grid.show(token);

  return {
    dispose: () => render(null, host),
    async table() {
      const now = reading.peek();
      if (mode.peek() !== "masked") await now.want([...new Set(positions.peek().map(blockOf))]);
      const found = now.blocks.peek();
      return found.size === 0 ? null : lensTable(positions.peek(), found, tokens, scheme.peek());
    },
    part: grid.part,
    options: () => ({ mode: mode.peek() }),
  };
};

declare module "../../views/contract" {
  interface LazyCode {
    readonly lens: typeof lens;
  }
}
