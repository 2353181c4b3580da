/** Predictions of the masked-LM head at every position, and the softmax behind each. */

import { computed, signal } from "@preact/signals-core";
import { render } from "preact";
import { consume } from "../../draw/dom";
import { whenNear } from "../../draw/near";
import { copyExactValues } from "../../figures/format";
import { isLong } from "../../figures/long/levels";
import { itemAt } from "../../protocol/required";
import { mount, watch } from "../../ui/mount";
import type { DrawView, RunContext, ViewHandle } from "../contract";
import { type Column, originalIdAt } from "./answers";
import { predictionsTable } from "./data";
import { Head, MaskedProgress, MaskedStrip, NoHead } from "./head";
import { askChanged, type Changed, Intact } from "./intact";
import { type CellPlace, cellAt, nextCell, placeOf, scrollTo } from "./list";
import { createPredictionsModel, TOP_K } from "./model";
import { nextSentence } from "./pair";
import { HeaderRow, Row } from "./rows";
import { SoftmaxPanel } from "./softmax";

/** Position, token, mask, original, guesses. */
const COLUMNS = TOP_K + 4;
/** Rows that get their cells at once, and then with every frame: more than fit on a screen. */
const ROWS_PER_FRAME = 48;
/** Rows of a long text this far (px) from what is in sight have their cells. */
const NEAR_PX = 400;

export const predictions: DrawView<RunContext> = (host, context) => {
  if (context.source.meta.model.has.mlm) return draw(host, context);
  render(
    <div class="aw-predictions" dir="ltr">
      <NoHead model={context.source.meta.model.name} />
    </div>,
    host,
  );
  return { dispose: () => render(null, host), table: () => null };
};

function draw(host: HTMLElement, context: RunContext): ViewHandle {
  const { source, state, act } = context;
  const { meta } = source;
  const n = meta.tokens.text.length;
  const stop = new AbortController();
  const until = stop.signal;
  context.signal.addEventListener("abort", () => stop.abort(), { signal: until });

  const model = createPredictionsModel(context, until);
  const { selection, current, mode, opened, softmax, masks, visible, answers, scheme } = model;
  /** Rows that have their cells: the first ones, and of a long text those near what is in sight. */
  const first = signal(isLong(meta) ? 0 : Math.min(n, ROWS_PER_FRAME));
  const near = signal<ReadonlySet<number>>(new Set());
  const changed = signal<readonly Changed[] | null>(null);
  /** The cell that Tab enters, where the reader has been; else that of the focus token. */
  const visited = signal<CellPlace | null>(null);
  const entry = computed((): CellPlace => {
    const { token } = selection.value;
    const position = visible.value.find((i) => i === token) ?? visible.value[0] ?? 0;
    return visited.value ?? { position, column: "token" };
  });
  const pair = nextSentence({ ...context, signal: until });

  const list = (): HTMLElement | null => host.querySelector(".aw-predictions-list");
  const rowAt = (position: number): HTMLElement | null =>
    host.querySelector(`.aw-position[data-position="${position}"]`);
  const columnsOf = (position: number): readonly Column[] => {
    const maskable = rowAt(position)?.querySelector(".aw-mask-token") != null;
    const guesses = answers.value[position]?.guesses.map((_, k) => k + 1);
    return [
      "token",
      ...(maskable ? (["mask"] as const) : []),
      ...(guesses ? (["original", ...guesses] as const) : []),
    ];
  };

  function View() {
    const { token } = selection.value;
    const open = opened.value;
    const shown = new Set(visible.value);
    const listed = current.value;
    return (
      <div
        class={act === null ? "aw-predictions" : "aw-predictions aw-can-mask"}
        dir="ltr"
        aria-busy={model.busy.value ? "true" : undefined}
      >
        <Head
          source={source}
          topK={TOP_K}
          mode={mode.value}
          shown={listed?.mode ?? null}
          choose={show}
        />
        <MaskedStrip
          source={source}
          answers={answers.value}
          show={(token) => state.set({ token })}
        />
        {pair !== null && <div class="aw-pair-place" ref={(place) => place?.append(pair)} />}
        {changed.value !== null && <Intact changed={changed.value} context={context} />}
        <MaskedProgress
          n={n}
          progress={model.progress.value}
          cancel={model.cancel}
          resume={() => show("masked")}
        />
        <p class="aw-predictions-status" role="status">
          {model.status.value}
        </p>
        <div
          class={`aw-predictions-list${n > ROWS_PER_FRAME ? " is-long" : ""}`}
          role="grid"
          aria-label="Predictions by position"
          aria-rowcount={n + 1}
          aria-colcount={COLUMNS}
          onClick={onClick}
          onKeyDown={onKey}
        >
          {listed !== null && <HeaderRow topK={listed.topK} masks={act !== null} />}
          {listed !== null &&
            meta.tokens.text.flatMap((_, i) => [
              <Row
                key={i}
                position={i}
                meta={meta}
                scheme={scheme.value}
                answer={answers.value[i] ?? null}
                filled={i < first.value || near.value.has(i)}
                hidden={!shown.has(i)}
                focused={i === token}
                masked={act === null ? null : masks.value.has(i)}
                entry={entry.value.position === i ? entry.value.column : null}
                expanded={open?.position === i ? open.from : null}
              />,
              open?.position === i && <SoftmaxRow key="softmax" />,
            ])}
        </div>
      </div>
    );
  }

  function SoftmaxRow() {
    const [open, found, shown] = [opened.value, softmax.value, current.value];
    return (
      <div role="row" class="aw-softmax-row">
        <div role="gridcell" class="aw-softmax" aria-colspan={COLUMNS}>
          {found !== null && "failure" in found && <p class="aw-view-note">{found.failure}</p>}
          {found !== null && "softmax" in found && open !== null && shown !== null && (
            <SoftmaxPanel
              {...found}
              originalId={originalIdAt(meta, open.position)}
              scheme={scheme.value}
              mode={shown.mode}
              context={context}
              choose={(tokenId) => {
                opened.value = { ...open, tokenId };
              }}
            />
          )}
        </div>
      </div>
    );
  }

  // -- what the reader does ---------------------------------------------------------------------

  const show = (wanted: typeof mode.value): void => void model.show(wanted);

  function onClick({ target }: MouseEvent): void {
    const place = placeOf(target);
    if (place === null) return;
    visited.value = place;
    const { position, column } = place;
    const { token } = state.get();
    if (column === "mask") model.toggleMask(position);
    else if (column === "token") state.set({ token: token === position ? null : position });
    else if (opened.value?.position === position && opened.value.from === column) {
      opened.value = null;
    } else {
      if (token !== position) state.set({ token: position });
      const { original, guesses } = itemAt(answers.value, position);
      const { id } = column === "original" ? original : itemAt(guesses, column - 1);
      opened.value = { position, tokenId: id, from: column };
    }
  }

  function onKey(event: KeyboardEvent): void {
    const open = opened.value;
    if (event.key === "Escape" && open !== null) {
      consume(event);
      opened.value = null;
      focusOn({ position: open.position, column: open.from });
      return;
    }
    const place = placeOf(event.target);
    if (place === null) return;
    const next = nextCell(event, place, visible.value, columnsOf);
    if (next === null) return;
    consume(event);
    focusOn(next);
    reveal(next.position);
  }

  function focusOn(place: CellPlace): void {
    if (place.position >= first.value) near.value = new Set(near.value).add(place.position);
    visited.value = place;
    const shown = list();
    const cell = shown && (cellAt(shown, place) ?? cellAt(shown, { ...place, column: "token" }));
    cell?.focus({ preventScroll: true });
  }

  let frame = 0;

  /** Bring a row in sight with the next frame: measuring now would lay the page out once more. */
  function reveal(position: number, softmax = false): void {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      const [shown, row] = [list(), rowAt(position)];
      const wanted = softmax ? (row?.nextElementSibling as HTMLElement | null) : row;
      if (shown !== null && wanted !== null && !wanted.hidden) scrollTo(shown, wanted);
    });
  }

  // -- what follows from a change ---------------------------------------------------------------

  watch(() => {
    const { token } = selection.value;
    void current.value;
    visited.value = null;
    if (token !== null && visible.value.includes(token)) reveal(token);
  }, until);
  watch(() => {
    if (softmax.value !== null && opened.value !== null) reveal(opened.value.position, true);
  }, until);

  let filling = 0;
  watch(() => {
    if (current.value === null || isLong(meta) || first.value >= n) return;
    filling = requestAnimationFrame(() => {
      first.value = Math.min(n, first.value + ROWS_PER_FRAME);
    });
  }, until);

  let observer: IntersectionObserver | null = null;
  mount(host, View, until, () => {
    const shown = list();
    if (!isLong(meta) || observer !== null || shown === null || current.value === null) return;
    const rows = new Set<number>();
    let told = false;
    const change = (act: () => void): void => {
      act();
      if (!told)
        queueMicrotask(() => {
          told = false;
          near.value = new Set(rows);
        });
      told = true;
    };
    const positionOf = ({ dataset }: HTMLElement): number => Number(dataset.position);
    observer = whenNear(
      shown,
      NEAR_PX,
      (row) => change(() => rows.add(positionOf(row))),
      (row) =>
        change(() => opened.value?.position === positionOf(row) || rows.delete(positionOf(row))),
    );
    for (const row of shown.querySelectorAll(".aw-position")) observer.observe(row);
  });
  copyExactValues(host, until);
  askChanged({ ...context, signal: until }).then(
    (found) => {
      changed.value = found;
    },
    () => undefined, // a saved page may lack it
  );
  show(mode.value);

  return {
    dispose() {
      cancelAnimationFrame(frame);
      cancelAnimationFrame(filling);
      observer?.disconnect();
      stop.abort();
      render(null, host);
    },
    table: () => current.value && predictionsTable(current.value, meta.tokens, state.get().special),
    options: () => ({ mode: current.value?.mode ?? "as_is" }),
  };
}
