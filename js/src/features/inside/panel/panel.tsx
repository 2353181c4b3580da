/** The open stage: its numbers for the focus token. */

import { batch, computed, type ReadonlySignal, signal, untracked } from "@preact/signals-core";
import type { ComponentChildren } from "preact";
import { type Band, Bands } from "../../../draw/bands";
import { ABSENT, exact, formatNumber, roundToError } from "../../../figures/format";
import { itemAt } from "../../../protocol/required";
import { largestAbsolute } from "../../../protocol/ties";
import { Button } from "../../../ui/controls";
import { memo } from "../../../ui/memo";
import { watch } from "../../../ui/mount";
import { Num } from "../../../ui/number";
import { Toggle } from "../../../ui/toggle";
import { Link, Name } from "../bars";
import { type Content, errorsOf, type StageContext, type Strip, type Term } from "../content";
import { length, windowAround, windowAt } from "../dimensions";
import { Legend } from "./legend";
import { WindowControl } from "./window";

/** One scale for a stage's strips, or the same one in all stages. */
export type Shared = "stage" | "walk";

/** A stage on screen: its numbers, or why it has none. */
export interface Shown {
  readonly stage: StageContext;
  readonly title: ComponentChildren;
  readonly notice: string;
  /** `step 3 of 20`. */
  readonly count: string;
  /** The walk begins or ends here. */
  readonly ends: { readonly first: boolean; readonly last: boolean };
  readonly content: Content | null;
  readonly reason: string | null;
  /** A token of which a saved page has this stage. */
  readonly instead: { readonly name: string; show(): void } | null;
  /** The scale of all stages, where it is asked for. */
  readonly common: number | null;
}

interface PanelOptions {
  readonly shown: ReadonlySignal<Shown | null>;
  readonly width: ReadonlySignal<number>;
  /** Colors are by square root. */
  readonly root: ReadonlySignal<boolean>;
  /** Numbers are requested, and (late) for longer than a reader notices. */
  readonly pending: ReadonlySignal<boolean>;
  readonly late: ReadonlySignal<boolean>;
  step(by: number): void;
  share(shared: Shared): void;
}

const MINUS = "−";

const spoken = (name: string, terms: readonly Term[]): string =>
  `${name}: ${terms.map(({ label, value, error }) => `${label} ${value === null ? "not there" : formatNumber({ value, error: error ?? 0 }).replace(MINUS, "minus ")}`).join(", ")}`;

/** `a + b = c` at the cursor, each number with all its digits behind it. */
const Chain = ({ terms }: { readonly terms: readonly Term[] }) => (
  <>
    {terms.map(({ sign, label, value, error }) => (
      <span key={label} class="aw-term">
        {sign !== "" && (
          <span class="aw-muted" aria-hidden="true">
            {sign}
          </span>
        )}
        <span class="aw-term-figure">
          <span class="aw-muted aw-tiny">{label}</span>
          {value === null ? (
            <span class="aw-number">{ABSENT}</span>
          ) : (
            <Num value={value} error={error ?? 0} />
          )}
        </span>
      </span>
    ))}
  </>
);

/** The numbers at the cursor, and how they follow from each other. */
const Reading = memo(function Reading(of: {
  readonly content: ReadonlySignal<Content | null>;
  readonly cursor: ReadonlySignal<number>;
}) {
  const now = of.content.value;
  const index = of.cursor.value;
  const empty = now === null || now.strips.length === 0;
  return (
    <>
      <div class="aw-inside-chain aw-cluster" data-aw-part="chain" hidden={empty}>
        {!empty && (
          <span class="aw-inside-at aw-small">
            {`${now.unit} `}
            <span class="aw-number">{index}</span>
            {now.unit === "key" && " "}
            {now.unit === "key" && <Name text={now.name(index)} />}
          </span>
        )}
        {!empty && <Chain terms={now.terms(index)} />}
      </div>
      <div>{now?.atCursor?.(index)}</div>
    </>
  );
});

/** Why a stage has no numbers, and a token for which it has some. */
const Absent = ({ reason, instead }: Pick<Shown, "reason" | "instead">) => (
  <p class="aw-inside-absent aw-muted">
    <span aria-hidden="true">– </span>
    {reason}
    {instead !== null && " "}
    {instead !== null && (
      <Link act={instead.show}>
        {"Show those of "}
        <Name text={instead.name} />
      </Link>
    )}
  </p>
);

/** True for the strip of the open stage. */
const isOpen = ({ tensor, layer }: Strip, { box, layer: chosen }: StageContext): boolean =>
  box.id === "hidden" ? layer === chosen + 1 : tensor === box.id;

/** The cursor at first: at the largest value in the window of the open stage's strip. */
function firstCursor({ strips, first }: Content, stage: StageContext): number {
  const values = (
    strips.find((strip) => isOpen(strip, stage)) ?? strips.find(({ values }) => values !== null)
  )?.values;
  let best = 0;
  for (let i = 0; i < Math.min(first, values?.length ?? 0); i++) {
    const value = Math.abs(values?.[i] ?? 0);
    if (Number.isFinite(value) && !(value <= Math.abs(values?.[best] ?? 0))) best = i;
  }
  return best;
}

/** The largest value of each group of strips. */
function topsOf({ strips }: Content): Map<string, number> {
  const tops = new Map<string, number>();
  for (const { group, values } of strips) {
    if (values !== null) tops.set(group, Math.max(tops.get(group) ?? 0, largestAbsolute(values)));
  }
  return tops;
}

function bandsOf({ stage, common }: Shown, content: Content): Band[] {
  const { strips, unit } = content;
  const tops = topsOf(content);
  return strips.map((strip, i): Band => {
    const { values, error, ramp } = strip;
    const size = values === null ? 0 : length(values);
    // A length is off by no more than the length of the errors.
    const off = length(errorsOf(strip));
    const shared = ramp === "signed" && unit === "dimension" ? common : null;
    return {
      key: strip.tensor,
      label: strip.label,
      aside:
        values === null || !strip.whole || unit === "key"
          ? null
          : {
              text: `‖${formatNumber({ value: size, error: off })}‖`,
              value: roundToError({ value: size, error: off }),
              title: `Length of the whole row: ${exact({ value: size, error: off })}`,
            },
      ...{ values, missing: strip.missing, ramp, top: shared ?? tops.get(strip.group) ?? 0 },
      ...(error === undefined ? {} : { error }),
      highlighted: strips.length > 1 && isOpen(strip, stage),
      apart: i > 0 && strip.group !== strips[i - 1]?.group,
    };
  });
}

export function createPanel(options: PanelOptions, until: AbortSignal) {
  const { shown, width, root } = options;
  /** Content with numbers; null where the stage has none. */
  const content = computed(() => (shown.value?.reason === null ? shown.value.content : null));
  const range = signal<readonly [number, number]>([0, 1]);
  const cursor = signal(0);
  /** Window and cursor by kind of row, so that a walk keeps its dimensions. */
  const kept = new Map<string, { range: readonly [number, number]; cursor: number }>();
  const keyOf = ({ unit, size }: Content): string => `${unit} ${size}`;
  const cells = signal({ left: 0, width: 0 });

  const bands = new Bands((index) => goTo(index), until);

  /** Show another window, with the cursor inside. */
  function show(next: readonly [number, number]): void {
    const now = content.peek();
    if (now === null) return;
    batch(() => {
      range.value = next;
      if (cursor.peek() < next[0] || cursor.peek() >= next[1]) cursor.value = next[0];
    });
    kept.set(keyOf(now), { range: next, cursor: cursor.peek() });
  }

  function goTo(index: number): void {
    const now = content.peek();
    if (now === null) return;
    batch(() => {
      cursor.value = Math.min(Math.max(index, 0), now.have - 1);
      const [start, stop] = windowAround(cursor.peek(), range.peek(), now.have);
      if (start !== range.peek()[0] || stop !== range.peek()[1]) range.value = [start, stop];
    });
    kept.set(keyOf(now), { range: range.peek(), cursor: cursor.peek() });
  }

  watch(() => {
    const [now, stage] = [content.value, shown.value?.stage];
    if (now === null || stage === undefined) return;
    const before = kept.get(keyOf(now));
    batch(() => {
      range.value = before?.range ?? windowAt(0, now.first, now.have);
      cursor.value = before?.cursor ?? firstCursor(now, stage);
    });
  }, until);
  watch(() => {
    bands.resize(width.value);
    cells.value = bands.cells;
  }, until);
  watch(() => {
    const [now, of, window] = [content.value, shown.value, range.value];
    if (now === null || of === null) return;
    const { unit, name, terms } = now;
    const called = (index: number): string =>
      unit === "key" ? `key ${index}, ${name(index)}` : `${unit} ${index}`;
    bands.show(
      {
        ...{ bands: bandsOf(of, now), total: now.have, window, root: root.value, name },
        cursor: cursor.peek(),
        spoken: (index) => spoken(called(index), terms(index)),
        axis: `Values by ${unit}`,
      },
      of.stage.mode.value,
    );
    cells.value = bands.cells;
  }, until);
  watch(() => bands.point(cursor.value), until);
  watch(() => {
    bands.element.hidden = content.value === null || content.value.strips.length === 0;
  }, until);
  const holdBands = (place: Element | null): void => place?.append(bands.element);

  const Window = memo(function Window() {
    const now = content.value;
    const [start, stop] = range.value;
    const { strips = [], have = 1, size = 1, first = 1, unit = "dimension" } = now ?? {};
    const rows = strips.flatMap(({ values, ramp }) =>
      values === null || (ramp === "weight" && strips.length > 1) ? [] : [values],
    );
    return (
      <WindowControl
        {...{ rows, have, size, first, unit }}
        window={range.value}
        cells={cells.value}
        hidden={strips.length === 0}
        start={(index) => show(windowAt(index, stop - start, have))}
        resize={(next) => show(windowAt(Math.max(0, cursor.peek() - next / 2), next, have))}
        goTo={(index) => {
          goTo(index);
          bands.element.focus({ preventScroll: true });
        }}
      />
    );
  });

  const step = (face: string, name: string, by: number, disabled: boolean) => (
    <Button label={name} title={name} disabled={disabled} onClick={() => options.step(by)}>
      {face}
    </Button>
  );

  const Panel = memo(function Panel() {
    const of = shown.value;
    const now = content.value;
    const pending = options.pending.value;
    const empty = now === null || now.strips.length === 0;
    const { first = true, last = true } = of?.ends ?? {};
    return (
      <section
        class={`aw-inside-panel aw-divided${pending && options.late.value ? " is-late" : ""}`}
        aria-label="The open stage"
        aria-busy={pending ? "true" : undefined}
        data-aw-part="stage-panel"
        data-stage={of?.stage.box.id}
      >
        <header class="aw-inside-head">
          <div class="aw-inside-steps" data-aw-part="walk">
            {step("‹", "Previous stage (p)", -1, first)}
            {step("›", "Next stage (n)", 1, last)}
          </div>
          <h3 class="aw-title aw-inside-title">{of?.title}</h3>
          <span class="aw-muted aw-small aw-number aw-inside-count">{of?.count}</span>
        </header>
        <p class="aw-view-note">{of?.stage.box.about}</p>
        <p
          class="aw-view-note aw-inside-notice"
          role="status"
          hidden={of === null || of.notice === ""}
        >
          {of?.notice}
        </p>
        <div class="aw-inside-tools aw-cluster aw-small" hidden={empty}>
          <div class="aw-inside-legend aw-cluster aw-muted">
            {of !== null && now !== null && (
              <Legend
                content={now}
                tops={topsOf(now)}
                common={of.common}
                root={root.value}
                mode={of.stage.mode.value}
              />
            )}
          </div>
          <div class="aw-inside-shared aw-inline" hidden={now?.unit !== "dimension"}>
            <Toggle
              text="one scale for all stages"
              part="shared"
              on={of !== null && of.common !== null}
              set={(on) => options.share(on ? "walk" : "stage")}
            />
          </div>
        </div>
        <Window />
        <div ref={holdBands} />
        <Reading {...{ content, cursor }} />
        <div class="aw-inside-below">
          {of !== null && of.reason !== null && <Absent {...of} />}
          {of?.content?.below}
        </div>
      </section>
    );
  });

  return { Panel, goTo: (index: number) => untracked(() => goTo(index)) };
}

/** Why a stage has no numbers at all; null where it has some. */
export function missingFrom({ strips }: Content): string | null {
  const [first] = strips;
  if (first === undefined || strips.some(({ values }) => values !== null)) return null;
  return first.missing === null ? null : `${first.missing} ${itemAt(strips, 0).hint ?? ""}`.trim();
}
