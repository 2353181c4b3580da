/** Comparison texts: the classifier's answer to each, and its first token's attention. */

import { computed, type ReadonlySignal } from "@preact/signals-core";
import { directionOf } from "../../draw/text-line";
import type { Classification } from "../../figures/classes";
import { largest, maximum } from "../../figures/derive/matrix";
import { exact, formatNumber, formatPercent, visible } from "../../figures/format";
import { asking } from "../../protocol/asking";
import { itemAt } from "../../protocol/required";
import { largestFirst } from "../../protocol/ties";
import { Button } from "../../ui/controls";
import { RampLegend } from "../../ui/legend";
import { memo } from "../../ui/memo";
import { Num } from "../../ui/number";
import type { TaskContext } from "./context";
import { Gap, paintOf } from "./painted-row";

/** Columns of classes: those under comparison, and the text's likeliest. */
const MAX_CLASSES = 12;
/** Words from which on a text scrolls. */
const SCROLLED = 24;

interface ComparisonText {
  readonly text: string;
  readonly text_pair: string | null;
  readonly words: readonly string[];
  readonly before: readonly string[];
  readonly segments: readonly number[];
}

interface Texts {
  /** The text on screen is the first. */
  readonly texts: readonly ComparisonText[];
  readonly layers: readonly number[];
  /** `[texts, classes]`. */
  readonly logits: Float32Array;
  readonly probabilities: Float32Array;
  /** `[layers, words of all texts]`. */
  readonly weights: Float32Array;
}

export function createComparisonTexts(
  context: TaskContext,
  { labels, activation }: Classification,
  compared: ReadonlySignal<readonly number[]>,
) {
  const { source, act, selection, mode, signal: until } = context;
  const report = source.live ? context.report : () => undefined; // a saved page may lack them
  const { answer, ask } = asking<Texts>(until, report);
  const width = labels.length;
  if (!source.live || source.has?.({ kind: "beside" }) !== false)
    void ask(async (signal) => {
      const { data, arrays } = await source.ask({ kind: "beside" }, { signal });
      const floats = (name: string): Float32Array =>
        (arrays.get(name)?.data ?? new Float32Array(0)) as Float32Array;
      return {
        texts: data.texts as readonly ComparisonText[],
        layers: data.layers as readonly number[],
        logits: floats("logits"),
        probabilities: floats("probabilities"),
        weights: floats("weights"),
      };
    });

  /** Texts by class in the model's order, or by value; each with the place of its first word. */
  const sorted = computed(() => {
    const { texts, logits } = answer.value ?? { texts: [], logits: new Float32Array(0) };
    let total = 0;
    const all = texts.map((text, index) => {
      const start = total;
      total += text.words.length;
      const best = itemAt(largest(logits.subarray(index * width, (index + 1) * width), 1), 0);
      return { ...text, index, start, best };
    });
    if (activation !== "identity") all.sort((a, b) => a.best - b.best || a.index - b.index);
    else {
      const smallest = largestFirst(all.map(({ index }) => -itemAt(logits, index * width)));
      return { total, texts: smallest.map((index) => itemAt(all, index)) };
    }
    return { total, texts: all };
  });
  /** Row of `weights` for the selected layer, or for the last one. */
  const row = computed(() => {
    const layers = answer.value?.layers ?? [];
    const found = layers.indexOf(selection.value.layer);
    return found < 0 ? layers.length - 1 : found;
  });
  const weights = computed(() => {
    const { total } = sorted.value;
    return answer.value?.weights.subarray(row.value * total, (row.value + 1) * total) ?? [];
  });

  const Verdict = memo(({ index, best }: { readonly index: number; readonly best: number }) => (
    <dl class="aw-beside-classes">
      {[...new Set([best, ...compared.value])]
        .slice(0, MAX_CLASSES)
        .sort((a, b) => a - b)
        .map((label) => {
          const at = index * width + label;
          const [name, found] = [itemAt(labels, label), answer.value];
          const value = found?.[activation === "identity" ? "logits" : "probabilities"][at] ?? NaN;
          const format = activation === "identity" ? formatNumber : formatPercent;
          return (
            <div key={label} class={label === best ? "is-best" : undefined} data-class={label}>
              <dt>
                <bdi title={name}>{visible(name)}</bdi>
              </dt>
              <dd>
                <Num value={value} text={format(value)} />
              </dd>
            </div>
          );
        })}
    </dl>
  ));

  function Rows({ top }: { readonly top: number }) {
    const painter = { top, signed: false, scale: selection.value.scale, mode: mode.value };
    const show = ({ text, text_pair }: ComparisonText): void =>
      void act?.({ kind: "run", text, text_pair }).catch(context.report);
    return sorted.value.texts.map((text) => {
      const long = text.words.length > SCROLLED;
      return (
        <div
          key={text.index}
          class={`aw-beside-row${text.index === 0 ? " is-selected" : ""}`}
          data-text={text.index}
        >
          <Verdict index={text.index} best={text.best} />
          <div
            class="aw-first-text"
            dir={directionOf(text.text)}
            // A long text scrolls, by keys too.
            {...(long ? { tabIndex: 0, role: "group" as const, "aria-label": "The text" } : {})}
          >
            {text.words.map((word, i) => {
              const value = itemAt(weights.value, text.start + i);
              const pair = i > 0 && text.segments[i] !== text.segments[i - 1];
              const space = i > 0 && (pair || /\s/.test(itemAt(text.before, i)));
              return [
                <Gap key="gap" space={space} pair={pair} />,
                <span
                  key={i}
                  class="aw-first-token"
                  data-word={i}
                  data-aw-value={exact(value)}
                  title={`${visible(word)}  ${formatNumber(value)}`}
                  style={paintOf(value, painter)}
                >
                  {visible(word)}
                </span>,
              ];
            })}
          </div>
          {text.index > 0 && act !== null ? (
            <Button onClick={() => show(text)}>Show</Button>
          ) : (
            <span class="aw-class-best">{text.index === 0 && "this text"}</span>
          )}
        </div>
      );
    });
  }

  return memo(function ComparisonTexts() {
    const found = answer.value;
    const several = found !== null && found.texts.length > 1;
    const top = maximum(weights.value);
    return (
      <section
        class="aw-first"
        aria-label="Other texts"
        data-aw-part="beside"
        hidden={found === null || (!several && act === null)}
      >
        <div class="aw-panel-head">
          <h3 class="aw-title">Compared with other texts</h3>
          <span class="aw-muted">
            {several && `L${found.layers[row.value]} · mean of heads, first token over words`}
          </span>
          <RampLegend max={top} scale={selection.value.scale} mode={mode.value} hidden={!several} />
        </div>
        <div class="aw-beside-rows" data-aw-part="beside-rows">
          {several ? (
            <Rows top={top} />
          ) : (
            <p class="aw-hint">
              {"Run another text above to see both here. In Python: "}
              <code>show(text, compare_with=[…])</code>, for example with a text of each class.
            </p>
          )}
        </div>
      </section>
    );
  });
}
