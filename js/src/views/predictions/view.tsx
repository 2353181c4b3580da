/** Predictions of the masked-LM head at every position, and the softmax behind each. */

import { computed, effect, signal } from "@preact/signals-core";
import { render } from "preact";
import { consume } from "../../draw/dom";
import { copyExactValues } from "../../figures/format";
import { isLong } from "../../figures/long/levels";
import { itemAt, required } from "../../protocol/required";
import { mount, setter, watch } from "../../ui/mount";
import { createNearRows } from "../../ui/near-rows";
import type { DrawView, RunContext, ViewHandle } from "../contract";
import { answeredId, type Column } from "./answers";
import { predictionsTable } from "./data";
import { Head, MaskedProgress, MaskedStrip, NoHead } from "./head";
import { askChanged, type Changed, Intact } from "./intact";
import { type CellPlace, cellAt, nextCell, placeOf, scrollTo } from "./list";
import { createPredictionsModel, TOP_K } from "./model";
import { createNextSentence } from "./pair";
import { HeaderRow, Row } from "./rows";
import { PredictionsSentence } from "./sentence";
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
      <NoHead model={context.source.meta.model} />
    </div>,
    host,
  );
  return { dispose: () => render(null, host), table: () => null };
};

function draw(host: HTMLElement, context: RunContext): ViewHandle {
  const { source, state, act, signal: until } = context;
  const { meta } = source;
  const n = meta.tokens.text.length;

  const model = createPredictionsModel(context, until);
  const { selection, current, mode, opened, softmax, masks, visible, answers, scheme } = model;
  /** Rows that have their cells: the first ones, and of a long text those near what is in sight. */
  const first = signal(isLong(meta) ? 0 : Math.min(n, ROWS_PER_FRAME));
  const near = createNearRows(NEAR_PX, (row) => opened.peek()?.position === row, until);
  const changed = signal<readonly Changed[] | null>(null);
  /** The cell that Tab enters, where the reader has been; else that of the focus token. */
  const visited = signal<CellPlace | null>(null);
  const entry = computed((): CellPlace => {
    const { token } = selection.value;
    const position = visible.value.find((i) => i === token) ?? visible.value[0] ?? 0;
    return visited.value ?? { position, column: "token" };
  });
  const NextSentence = createNextSentence({ ...context, signal: until });

  /** A click on a guess continues the text with it. */
  const continuing = (): boolean => model.goOn !== null && mode.value === "next";
  const list = (): HTMLElement | null => host.querySelector(".aw-predictions-list");
  const rowAt = (position: number): HTMLElement | null =>
    host.querySelector(`.aw-position[data-position="${position}"]`);
  const columnsOf = (position: number): readonly Column[] => {
    const maskable = rowAt(position)?.querySelector(".aw-mask-token") != null;
    const guesses = answers.value[position]?.guesses.map((_, k) => k + 1);
    return [
      "token",
      ...(maskable ? (["mask"] as const) : []),
      ...(guesses ? ["original" as const, ...guesses] : []),
    ];
  };

  function View() {
    const { token } = selection.value;
    const open = opened.value;
    const shown = new Set(visible.value);
    const listed = current.value;
    const next = mode.value === "next";
    const continues = continuing();
    // A decoder has no mask token.
    const masking = act !== null && !next;
    return (
      <div
        class={`aw-predictions${masking ? " aw-can-mask" : ""}${next ? " aw-next" : ""}`}
        dir="ltr"
        aria-busy={model.busy.value ? "true" : undefined}
      >
        <PredictionsSentence
          predictions={listed}
          shown={visible.value}
          meta={meta}
          scheme={scheme.value}
        />
        <Head model={model} source={source} />
        <MaskedStrip model={model} source={source} state={state} />
        {NextSentence !== null && <NextSentence />}
        {changed.value !== null && <Intact changed={changed.value} context={context} />}
        <MaskedProgress model={model} source={source} />
        <p class="aw-predictions-status aw-small" role="status">
          {model.status.value}
        </p>
        <div
          class={`aw-predictions-list aw-scroll aw-small${n > ROWS_PER_FRAME ? " is-long" : ""}`}
          role="grid"
          aria-label="Predictions by position"
          aria-rowcount={n + 1}
          aria-colcount={COLUMNS}
          onClick={onClick}
          onKeyDown={onKey}
        >
          {listed !== null && <HeaderRow topK={listed.topK} masks={masking} next={next} />}
          {listed !== null &&
            meta.tokens.text.flatMap((_, i) => [
              <Row
                key={i}
                position={i}
                meta={meta}
                scheme={scheme.value}
                answer={answers.value[i] ?? null}
                filled={i < first.value || near.has(i)}
                hidden={!shown.has(i)}
                focused={i === token}
                next={next}
                continues={continues}
                masked={masking ? masks.value.has(i) : null}
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
              originalId={answeredId(shown.mode, meta, open.position)}
              scheme={scheme.value}
              mode={shown.mode}
              context={context}
              goOn={model.goOn}
              choose={(tokenId) => {
                opened.value = { ...open, tokenId };
              }}
            />
          )}
        </div>
      </div>
    );
  }

  // -- input ---------------------------------------------------------------------

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
      const { original, guesses } = required(answers.value[position], "The answer");
      const { id } =
        column === "original" ? (original ?? itemAt(guesses, 0)) : itemAt(guesses, column - 1);
      if (column !== "original" && continuing()) {
        model.goOn?.(position, id);
        return;
      }
      if (token !== position) state.set({ token: position });
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
    if (place.position >= first.value) near.add(place.position);
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

  // -- effects of a change ---------------------------------------------------------------

  watch(() => {
    const { token } = selection.value;
    void current.value;
    visited.value = null;
    if (token !== null && visible.value.includes(token)) reveal(token);
  }, until);
  watch(() => {
    if (softmax.value !== null && opened.value !== null) reveal(opened.value.position, true);
  }, until);

  let growing = 0;
  watch(() => {
    if (current.value === null || isLong(meta) || first.value >= n) return;
    growing = requestAnimationFrame(() => {
      first.value = Math.min(n, first.value + ROWS_PER_FRAME);
    });
  }, until);

  mount(host, View, until, () => {
    const shown = list();
    if (isLong(meta) && shown !== null && current.value !== null)
      near.follow(shown, shown.querySelectorAll(".aw-position"));
  });
  copyExactValues(host, until);
  /** A table has every position: rows that are still computed are waited for. */
  const stopped = () =>
    new Promise<void>((done) => {
      const release = effect(() => {
        if (model.progress.value?.running === true) return;
        done();
        queueMicrotask(() => release());
      });
    });
  askChanged({ ...context, signal: until }).then(
    setter(changed),
    () => undefined, // a saved page may lack it
  );
  model.show(mode.value, false);

  return {
    dispose() {
      cancelAnimationFrame(frame);
      cancelAnimationFrame(growing);
      render(null, host);
    },
    table: async () => {
      await stopped();
      return current.value && predictionsTable(current.value, meta.tokens, state.get().special);
    },
    options: () => ({ mode: current.value?.mode ?? "as_is" }),
  };
}
