/** Above the list: the choice of the input, its legend, how far a masked run is, and the run's masked tokens. */

import { formatCount, visible } from "../../figures/format";
import type { Source } from "../../protocol/types";
import type { State } from "../../state/selection";
import { Button, Segmented } from "../../ui/controls";
import { Percent } from "../../ui/figure";
import { TaskProgress } from "../../ui/task-progress";
import { type Mode, predictionsRequest } from "./data";
import { TOP_K } from "./lists";
import type { PredictionsModel } from "./model";

/** Guesses that are named for a masked token: the list below has them all. */
const NAMED = 3;

/** Description of a mode's input. */
function noteOf(mode: Mode, n: number, masked: number, continues: boolean): string {
  if (mode === "next")
    return continues
      ? "After each token: what follows, and the likeliest tokens. A click on one of these continues the text with it; a click on what follows opens the softmax."
      : "After each token: the token that follows, from what stands before it.";
  if (mode === "masked")
    return `Each of the ${formatCount(n)} positions replaced by the mask token in turn: the model has to guess.`;
  return masked === 0
    ? "The unmasked input: at each position the model also sees the token itself."
    : `The input with ${formatCount(masked)} masked ${masked === 1 ? "token" : "tokens"}: at every other ` +
        "position the model also sees the token itself.";
}

interface HeadProps {
  readonly model: PredictionsModel;
  readonly source: Source;
}

/** The choice of the input, and the legend. */
export function Head({ model, source }: HeadProps) {
  const { live, meta } = source;
  const shown = model.current.value?.mode ?? null;
  const needsKernel = !live && !source.has?.(predictionsRequest("masked", TOP_K));
  const next = model.mode.value === "next";
  const note =
    shown && noteOf(shown, meta.tokens.text.length, meta.masked.length, model.goOn !== null);
  return (
    <header class="aw-predictions-head">
      {!next && (
        <Segmented
          label="Input of the predictions"
          name="mode"
          options={[
            ["as_is", "As is"],
            ["masked", <>Masked{needsKernel && <small> needs a kernel</small>}</>],
          ]}
          value={model.mode.value}
          choose={(mode) => void model.show(mode)}
        />
      )}
      <p class="aw-view-note">{note}</p>
      <p class="aw-marks">
        <span class="aw-mark">
          <i class="aw-mark-bar" aria-hidden="true" />
          probability, 0 to 100%
        </span>
        <span class="aw-mark">
          <i class="aw-mark-original" aria-hidden="true" />
          {next ? "the token that follows" : "the original token"}
        </span>
      </p>
    </header>
  );
}

export const NoHead = ({ model: { name, predicts } }: Pick<Source["meta"], "model">) => {
  const next = predicts === "next";
  return (
    <div class="aw-empty">
      <p class="aw-empty-title">
        {`No predictions: this model has no ${next ? "language-model" : "masked-LM"} head`}
      </p>
      <p>
        <bdi>{name}</bdi>
        {` has ${next ? "a decoder" : "an encoder"}, but no head that turns hidden states into words. A checkpoint trained for ${next ? "next tokens" : "masked-language modeling"} has such a head, and so has the embedded model: `}
        <code>show(text)</code>.
      </p>
    </div>
  );
};

/** Progress of a masked run. */
export function MaskedProgress({ model, source }: HeadProps) {
  const now = model.progress.value;
  return (
    <TaskProgress
      part="masked-progress"
      label="Masked inputs that have run"
      unit="tokens"
      now={now && { ...now, total: source.meta.tokens.text.length }}
      toggle={() => (now?.running ? model.cancel() : void model.show("masked"))}
    />
  );
}

/** One line for every masked token of this run: the original, its rank, and the model's own answer. */
export function MaskedStrip({
  model,
  source: { meta },
  state,
}: HeadProps & { readonly state: State }) {
  const answers = model.answers.value;
  const lines = meta.masked.flatMap(({ token, text }) => {
    const answer = answers[token] ?? null;
    const original = answer?.original ?? null;
    return answer === null || original === null ? [] : [{ token, text, ...answer, original }];
  });
  if (lines.length === 0) return null;
  return (
    <ul class="aw-masked-strip" data-aw-part="masked">
      {lines.map(({ token, text, original, guesses }) => {
        const name = visible(text);
        return (
          <li key={token} data-token={token}>
            <Button
              class="aw-flat aw-masked-was"
              data-token={token}
              label={`${token} ${name}: show its row`}
              onClick={() => state.set({ token })}
            >
              <span class="aw-number aw-muted">{token}</span> <bdi dir="ltr">{name}</bdi>
            </Button>
            <span class="aw-muted" aria-hidden="true">
              →
            </span>
            {guesses.slice(0, NAMED).map(({ id, label, probability }) => (
              <span key={id} class="aw-masked-guess">
                <bdi dir="ltr">{label.text}</bdi> <Percent value={probability} />
              </span>
            ))}
            <span class="aw-masked-rank" data-aw-rank={original.rank}>
              <bdi dir="ltr">{name}</bdi>
              {`: rank ${formatCount(original.rank)}, `}
              <Percent value={original.probability} />
            </span>
          </li>
        );
      })}
    </ul>
  );
}
