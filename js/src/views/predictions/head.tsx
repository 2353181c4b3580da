/** Above the list: the choice of the input, its legend, how far a masked run is, and the run's masked tokens. */

import { formatCount, visible } from "../../figures/format";
import type { Source } from "../../protocol/types";
import { Segmented } from "../../ui/controls";
import { Percent } from "../../ui/number";
import { type Answer, maskedAt } from "./answers";
import { type Mode, predictionsRequest } from "./data";

const MODES = [
  ["as_is", "As is"],
  ["masked", "Masked"],
] as const;
/** Guesses that are named for a masked token: the list below has them all. */
const NAMED = 3;

/** Description of a mode's input. */
function noteOf(mode: Mode, n: number, masked: number): string {
  if (mode === "masked")
    return `Each of the ${formatCount(n)} positions replaced by the mask token in turn: the model has to guess.`;
  return masked === 0
    ? "The unmasked input: at each position the model also sees the token itself."
    : `The input with ${formatCount(masked)} masked ${masked === 1 ? "token" : "tokens"}: at every other ` +
        "position the model also sees the token itself.";
}

export function Head({
  source,
  topK,
  mode,
  shown,
  choose,
}: {
  readonly source: Source;
  readonly topK: number;
  readonly mode: Mode;
  /** The mode that is on screen; null before the first. */
  readonly shown: Mode | null;
  readonly choose: (mode: Mode) => void;
}) {
  const { live, meta } = source;
  const needsKernel = !live && !source.has?.(predictionsRequest("masked", topK));
  return (
    <header class="aw-predictions-head">
      <Segmented
        label="Input of the predictions"
        name="mode"
        options={MODES.map(([own, text]) => [
          own,
          <>
            {text}
            {own === "masked" && needsKernel && <small> needs a kernel</small>}
          </>,
        ])}
        value={mode}
        choose={choose}
      />
      <p class="aw-view-note">
        {shown && noteOf(shown, meta.tokens.text.length, meta.masked.length)}
      </p>
      <p class="aw-marks">
        <span class="aw-mark">
          <i class="aw-mark-bar" aria-hidden="true" />
          probability, 0 to 100%
        </span>
        <span class="aw-mark">
          <i class="aw-mark-original" aria-hidden="true" />
          the original token
        </span>
      </p>
    </header>
  );
}

export const NoHead = ({ model }: { readonly model: string }) => (
  <div class="aw-empty">
    <p class="aw-empty-title">No predictions: this model has no masked-LM head</p>
    <p>
      <bdi>{model}</bdi> has an encoder, but no head that turns hidden states into words. A
      checkpoint trained for masked-language modeling has such a head, and so has the embedded
      model: <code>show(text)</code>.
    </p>
  </div>
);

/** `23 / 60 tokens`, a line that grows, and a button to stop or to go on. */
export function MaskedProgress({
  n,
  progress,
  cancel,
  resume,
}: {
  readonly n: number;
  readonly progress: { readonly done: number; readonly running: boolean } | null;
  readonly cancel: () => void;
  readonly resume: () => void;
}) {
  const { done, running } = progress ?? { done: 0, running: false };
  const count = `${formatCount(done)} / ${formatCount(n)} tokens`;
  return (
    <div class="aw-masked-progress" data-aw-part="masked-progress" hidden={progress === null}>
      <span
        class="aw-masked-bar"
        role="progressbar"
        aria-label="Masked inputs that have run"
        aria-valuemin={0}
        aria-valuemax={n}
        aria-valuenow={done}
      >
        <span class="aw-masked-fill" style={{ inlineSize: `${(100 * done) / n}%` }} />
      </span>
      <span role="status">{running ? count : `Stopped: ${count}`}</span>
      <button type="button" class="aw-plain-button" onClick={running ? cancel : resume}>
        {running ? "Cancel" : "Go on"}
      </button>
    </div>
  );
}

/** One line for every masked token of this run: the original, its rank, and the model's own answer. */
export function MaskedStrip({
  source: { meta },
  answers,
  show,
}: {
  readonly source: Source;
  readonly answers: readonly Answer[];
  readonly show: (position: number) => void;
}) {
  const lines = meta.masked.filter(({ token }) => token < answers.length);
  if (lines.length === 0) return null;
  return (
    <ul class="aw-masked-strip" data-aw-part="masked">
      {lines.map(({ token }) => (
        <MaskedLine
          key={token}
          position={token}
          text={maskedAt(meta, token)?.text ?? ""}
          answer={answers[token] as Answer}
          show={show}
        />
      ))}
    </ul>
  );
}

function MaskedLine({
  position,
  text,
  answer: { original, guesses },
  show,
}: {
  readonly position: number;
  readonly text: string;
  readonly answer: Answer;
  readonly show: (position: number) => void;
}) {
  const name = visible(text);
  return (
    <li data-token={position}>
      <button
        type="button"
        class="aw-masked-was"
        data-token={position}
        aria-label={`${position} ${name}: show its row`}
        onClick={() => show(position)}
      >
        <span class="aw-number aw-muted">{position}</span> <bdi dir="ltr">{name}</bdi>
      </button>
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
}
