/** Predictions of the masked-LM head at every position, and the softmax behind each. */

import { effect, signal } from "@preact/signals-core";
import { render } from "preact";
import { isLong } from "../../protocol/meta";
import { copyExactValues } from "../../ui/copy-exact";
import { mount, setter, watch } from "../../ui/mount";
import { createNearRows } from "../../ui/near-rows";
import { type DrawView, lazyCode, type RunContext, type ViewHandle } from "../contract";
import { answeredId } from "./answers";
import { predictionsTable } from "./data";
import { Head, MaskedProgress, MaskedStrip, NoHead } from "./head";
import { askChanged, type Changed, Intact } from "./intact";
import { createInteraction } from "./interaction";
import { TOP_K } from "./lists";
import { createPredictionsModel } from "./model";
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
  const interaction = createInteraction(host, context, model, (position) => {
    if (position >= first.value) near.add(position);
  });
  const NextSentence = createNextSentence({ ...context, signal: until });
  const added = lazyCode.peek()?.addToPredictions?.(host, context) ?? null;

  function View() {
    const { token } = selection.value;
    const open = opened.value;
    const shown = new Set(visible.value);
    const listed = current.value;
    const next = mode.value === "next";
    const { value: entry } = interaction.entry;
    const continues = interaction.continuing();
    // A decoder has no mask token.
    const masking = act !== null && !next;
    const covered = added?.open.value === true;
    return (
      <div
        class={`aw-predictions${masking ? " aw-can-mask" : ""}${next ? " aw-next" : ""}`}
        dir="ltr"
        aria-busy={model.busy.value ? "true" : undefined}
      >
        {!covered && (
          <PredictionsSentence
            predictions={listed}
            subject={model.subject.value}
            meta={meta}
            scheme={scheme.value}
            choose={(token) => state.set({ token })}
          />
        )}
        {added !== null && <added.View />}
        <div hidden={covered}>
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
            onClick={interaction.onClick}
            onKeyDown={interaction.onKey}
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
                  entry={entry.position === i ? entry.column : null}
                  expanded={open?.position === i ? open.from : null}
                />,
                open?.position === i && <SoftmaxRow key="softmax" />,
              ])}
          </div>
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

  let growing = 0;
  watch(() => {
    if (current.value === null || isLong(meta) || first.value >= n) return;
    growing = requestAnimationFrame(() => {
      first.value = Math.min(n, first.value + ROWS_PER_FRAME);
    });
  }, until);

  mount(host, View, until, () => {
    const shown = interaction.list();
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
      cancelAnimationFrame(growing);
      render(null, host);
    },
    ...(added !== null && { svg: () => added.svg() }),
    table: async () => {
      if (added?.open.peek() === true) return added.table();
      await stopped();
      return current.value && predictionsTable(current.value, meta.tokens, state.get().special);
    },
    options: () => ({ mode: current.value?.mode ?? "as_is" }),
  };
}
