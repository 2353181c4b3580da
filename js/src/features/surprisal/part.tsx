/**
 * The words of a text in the view Predictions: tokens of a word joined, a picture, and the ribbon by surprisal.
 *
 * `data-aw-part`: by-word, surprisal, words, words-progress, sentence.
 */

import { computed, signal } from "@preact/signals-core";
import { palette } from "../../draw/color/theme";
import { svg } from "../../draw/dom";
import { createRuler } from "../../draw/measure";
import { standalone } from "../../draw/vector";
import { schemeOf } from "../../figures/names";
import { onAbort } from "../../protocol/abort";
import { Task } from "../../protocol/task";
import type { State } from "../../state/selection";
import { NoAnswer } from "../../ui/answered";
import { Segmented } from "../../ui/controls";
import { memo } from "../../ui/memo";
import { onChange, selectionOf, watch, widthOf } from "../../ui/mount";
import { TaskProgress } from "../../ui/task-progress";
import type { AddedPart, RunContext, ViewContext } from "../../views/contract";
import { REQUEST, slicedWords, summaryOf, tokenValues, type Words, wordsTable } from "./data";
import { WordsList } from "./list";
import { SurprisalPicture } from "./picture";
import { WordsSentence } from "./sentence";

/** Words in the page; a file has all of them. */
const SHOWN = 600;

/** Selections of readers who have chosen words: the next run opens on them. */
const chosen = new WeakSet<State>();

const noteOf = ({ correction, masked }: Words): string =>
  masked
    ? "Each word masked as a whole, so that no piece of it gives it away: pseudo-surprisal, from both sides."
    : correction
      ? "−log2 of a word’s probability: the chain of its tokens, divided by where words end (Pimentel and Meister 2024)."
      : "−log2 of a word’s probability: the chain of its tokens.";

/** The picture on screen as a file; null where there is none. */
function pictureOf(host: HTMLElement): SVGSVGElement | null {
  const picture = host.querySelector<SVGSVGElement>(".aw-surprisal-svg");
  if (picture === null) return null;
  const [, , wide = 0, tall = 0] = (picture.getAttribute("viewBox") ?? "").split(" ").map(Number);
  const copy = standalone(picture, ".aw-surprisal-hit, title");
  copy.removeAttribute("role");
  return svg(
    "svg",
    { viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall },
    svg("title", {}, "Surprisal of each word, in bits; dashed: the mean"),
    svg("rect", { width: wide, height: tall, fill: palette(host).ground }),
    copy,
  );
}

export function wordsPart(
  host: HTMLElement,
  context: RunContext & Pick<ViewContext, "overlay">,
): AddedPart | null {
  const { source, state, overlay, announce, signal: until } = context;
  const { tokens, model } = source.meta;
  if (!(source.has?.(REQUEST) ?? source.live)) return null;

  const open = signal(chosen.has(state));
  const selection = selectionOf(state, ["token", "words"], until);
  const width = widthOf(host, 700, until);
  const ruler = createRuler(host);
  const scheme = schemeOf(tokens);
  const task = new Task<Words>(
    async (step) => slicedWords(await source.ask(REQUEST, step), tokens),
    until,
  );
  const words = computed(() => (open.value ? task.state.value.value : null));
  const choose = (token: number): void => state.set({ token });

  function set(on: boolean): void {
    open.value = on;
    if (on) chosen.add(state);
    else chosen.delete(state);
    const { status } = task.state.peek();
    if (!on) task.stop();
    else if (status !== "done" && status !== "running") void task.start();
  }
  if (open.peek()) void task.start();
  onChange(
    words,
    (now) => now !== null && announce(`Surprisal of ${now.rows.length} words.`),
    until,
  );
  if (overlay !== undefined) {
    watch(() => {
      const now = words.value;
      overlay.painted.value = now && {
        values: tokenValues(now, tokens.text.length, selection.value.words),
        verb: "surprises by",
      };
    }, until);
    onAbort(until, () => {
      overlay.painted.value = null;
    });
  }

  // A picture takes no keys: the table below it has a button for each word.
  host.addEventListener(
    "click",
    ({ target }) => {
      const word = (target as Element).closest<SVGElement>(".aw-surprisal-word");
      if (word !== null) choose(Number(word.dataset.token));
    },
    { signal: until },
  );

  const Progress = memo(function Progress(_: object) {
    const { status, done, total } = task.state.value;
    const running = status === "running";
    const shown = open.value && total !== null && (running || status === "stopped");
    return (
      <TaskProgress
        part="words-progress"
        label={
          model.predicts === "next" ? "Tokens that have been read" : "Masked inputs that have run"
        }
        unit="tokens"
        now={shown ? { done, total, running } : null}
        again="Start again"
        toggle={() => task.toggle()}
      />
    );
  });

  const Found = memo(function Found(_: object) {
    const now = words.value;
    if (now === null) return null;
    const summary = summaryOf(now);
    const rows = now.rows.slice(0, SHOWN);
    const { token } = selection.value;
    return (
      <>
        <p class="aw-view-note">
          {[
            noteOf(now),
            ...(summary === null ? [] : [`Dashed: the mean, ${summary.mean.toFixed(1)} bits.`]),
            ...now.notes,
            ...(rows.length < now.rows.length
              ? [`The first ${SHOWN} of ${now.rows.length} words; a table has all.`]
              : []),
          ].join(" ")}
        </p>
        {rows.length === 0 ? (
          <p class="aw-muted">This text has no word.</p>
        ) : (
          <>
            <div class="aw-surprisal aw-scroll">
              <SurprisalPicture
                words={rows}
                mean={summary?.mean ?? null}
                focus={token}
                measure={(text, size) => ruler.width(text, size, 400)}
                width={width.value}
              />
            </div>
            <WordsList words={now} {...{ rows, tokens, scheme, focus: token, choose }} />
          </>
        )}
      </>
    );
  });

  function View() {
    const { failure, status } = task.state.value;
    const now = words.value;
    const on = open.value;
    return (
      <section
        class="aw-surprisal-part-of"
        aria-label="Surprisal by word"
        aria-busy={on && status === "running" ? "true" : undefined}
      >
        {now !== null && <WordsSentence words={now} choose={choose} />}
        <Segmented<"tokens" | "words">
          label="Units of the predictions"
          part="by-word"
          name="unit"
          options={[
            ["tokens", "Tokens"],
            ["words", "Words", { title: "Surprisal of whole words, in bits" }],
          ]}
          value={on ? "words" : "tokens"}
          choose={(unit) => set(unit === "words")}
        />
        <Progress />
        {on && failure !== null && <NoAnswer failure={failure} again={() => void task.start()} />}
        <Found />
      </section>
    );
  }

  return {
    open,
    View,
    table: () => {
      const now = words.peek();
      return now && wordsTable(now);
    },
    svg: () => pictureOf(host),
  };
}
