/** Attention between sentences: which sentence looks at which, and through which tokens. */

import { computed, signal, untracked } from "@preact/signals-core";
import { render } from "preact";
import { byTouch } from "../../draw/touch";
import { copyExactValues } from "../../figures/format";
import { mixingDefinition } from "../../figures/quantities";
import { asking } from "../../protocol/asking";
import { messageOf } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import type { State } from "../../state/selection";
import { Button, Segmented, Select } from "../../ui/controls";
import { RampLegend } from "../../ui/legend";
import { modeSignal, mount, selectionOf, watch, widthOf } from "../../ui/mount";
import { Num } from "../../ui/number";
import { SentenceLine } from "../../ui/sentence";
import type { DrawView, ViewContext } from "../contract";
import { type Answer, ask, askedOf, carriedName, carriedOf } from "./answer";
import {
  type Aggregation,
  type Asked,
  asked,
  type CellPosition,
  matrixTable,
  ofTwoTexts,
  placeOfPair,
  type Scope,
  type SentenceMatrix,
  sentenceOf,
  strongestOther,
} from "./data";
import { createDrill, type Drilled } from "./drill";
import { Example } from "./example";
import { createGrid, keyName, oneLine, sentenceName } from "./grid";
import { SentencesSentence } from "./sentence";

interface Choice {
  readonly aggregation: Aggregation;
  readonly scope: Scope;
}

/** Choices of the reader, kept as long as the widget lives. */
const choices = new WeakMap<State, Choice>();

const MEANING: Record<Aggregation, string> = {
  mass: "Mass: the share of a row sentence's attention that lands on each column sentence; mean over its tokens.",
  max: "Max: the largest single weight between two sentences. It saturates near 1 in most models, so it only shows whether any link is strong.",
};
const CARRIED: Record<Aggregation, string> = {
  mass: "Mass: each column sentence's share of what a row sentence takes; mean over its tokens.",
  max: "Max: the largest single entry between two sentences.",
};
const ROLLOUT =
  "Attention rollout: the layers up to this one multiplied, half of each the identity.";

/** True for a text of one sentence, which has no other to look at. */
const isSingle = (shown: SentenceMatrix): boolean => shown.size === 1 && !ofTwoTexts(shown);

/** The column of a row without a strongest other sentence: its own, where there is one. */
const firstColumn = (shown: SentenceMatrix, a: number): number => (ofTwoTexts(shown) ? 0 : a);

const sameAsked = (asked: Asked, other: Asked): boolean =>
  (["aggregation", "layer", "head", "quantity"] as const).every((key) => asked[key] === other[key]);

export const sentences: DrawView<ViewContext> = (host, context) => {
  const { source, state, report, announce, signal: until } = context;
  const { meta } = source;
  const selection = selectionOf(
    state,
    ["layer", "head", "quantity", "token", "pair", "scale"],
    until,
  );
  const mode = modeSignal(host, until);
  const choice = signal<Choice>(choices.get(state) ?? { aggregation: "mass", scope: "all" });
  const {
    answer: answered,
    failure,
    busy,
    ask: askMatrix,
  } = asking<Answer>(until, (error) => {
    report(error);
    refuse();
  });
  const matrix = computed(() => answered.value?.matrix ?? null);
  const carried = computed(() => carriedOf(selection.value));
  /** The pair whose tokens are to be shown below, and what is shown of it. */
  const opened = signal<CellPosition | null>(null);
  /** True while tokens load without a click: then a failure is not reported. */
  let unasked = false;
  const blocks = asking<Drilled | null>(until, (error) => {
    if (!unasked) report(error);
    if (drilled.peek() === null) close();
  });
  const drilled = computed(() => {
    const block = blocks.answer.value;
    return block !== null && block.place === opened.value ? block : null;
  });

  const { Drill, map } = createDrill(context, { drilled, selection, mode, close });
  const { Grid, place, pointed, focus } = createGrid({
    matrix,
    width: widthOf(host, 0, until),
    scale: computed(() => selection.value.scale),
    mode,
    opened,
    pinned: computed(() => matrix.value && placeOfPair(matrix.value, selection.value.pair)),
    paired: meta.text_pair !== null,
    open: (place) => toggle(place),
    close() {
      if (opened.peek() === null) return false;
      close();
      return true;
    },
  });

  function choose(part: Partial<Choice>): void {
    choice.value = { ...choice.peek(), ...part };
    choices.set(state, choice.peek());
    void load();
  }

  async function load(): Promise<void> {
    const { layer, head } = state.get();
    const { aggregation, scope } = choice.peek();
    const quantity = carried.peek();
    const of =
      quantity === null
        ? asked(aggregation, scope, layer, head)
        : askedOf(aggregation, quantity, { layer, head });
    const shown = answered.peek();
    if (shown !== null && sameAsked(shown.matrix.asked, of)) await askMatrix(async () => shown);
    else await askMatrix((signal) => ask(of, source, { signal }));
  }

  /** The last good picture stays, and the controls name it. */
  function refuse(): void {
    const { aggregation, layer, head, quantity } = matrix.peek()?.asked ?? {};
    if (aggregation === undefined || quantity !== null || carried.peek() !== null) return;
    choice.value = {
      aggregation,
      scope: layer === null ? "all" : head === null ? "layer" : "head",
    };
    choices.set(state, choice.peek());
  }

  /** The first matrix opens at the pinned pair, or in the row of the focus token. */
  function begin(shown: SentenceMatrix): void {
    const { token, pair } = state.get();
    const a = Math.max(0, sentenceOf(shown, token));
    place.value = placeOfPair(shown, pair) ?? {
      a,
      b: strongestOther(shown, a) ?? firstColumn(shown, a),
    };
    if (isSingle(shown)) toggle({ a: 0, b: 0 }, true);
  }

  function close(): void {
    const inside = map.element.closest(".aw-drill")?.contains(document.activeElement) === true;
    opened.value = null;
    void blocks.ask(async () => null);
    if (inside) focus();
  }

  /** Open the tokens of a pair below, or close them. */
  function toggle(at: CellPosition, silently = false): void {
    const same = opened.peek()?.a === at.a && opened.peek()?.b === at.b;
    close();
    if (same) return;
    opened.value = at;
    unasked = silently;
    void fill();
  }

  async function fill(): Promise<void> {
    const [answer, at, shown] = [answered.peek(), opened.peek(), drilled.peek()];
    if (answer === null || at === null) return;
    await blocks.ask(async (signal) => ({
      place: at,
      matrix: answer.matrix,
      block: await answer.block(at.a, at.b, { signal }),
    }));
    if (shown === null && drilled.peek() !== null && !isSingle(answer.matrix)) {
      announce(`Tokens of ${sentenceName(at.a)} and ${sentenceName(at.b)} are open below.`);
    }
    unasked = false;
  }

  /** Read the row of the focus token's sentence. */
  function follow(): void {
    const shown = matrix.peek();
    if (shown === null || shown.size === 0) return;
    const { token, pair } = state.get();
    const a = sentenceOf(shown, token);
    const pinned = placeOfPair(shown, pair);
    if (pinned !== null && pinned.a === a) place.value = pinned;
    else if (a >= 0 && a !== place.peek().a)
      place.value = { a, b: strongestOther(shown, a) ?? firstColumn(shown, a) };
  }

  function Controls() {
    const { layer, head } = selection.value;
    const { aggregation, scope } = choice.value;
    const shown = matrix.value;
    return (
      <div class="aw-panel-head aw-isa-controls">
        <Segmented
          label="Aggregation"
          part="aggregation"
          name="aggregation"
          options={[
            ["mass", "Mass"],
            ["max", "Max"],
          ]}
          value={aggregation}
          choose={(next) => choose({ aggregation: next })}
        />
        {carried.value === null ? (
          <Select<Scope>
            label="Layers and heads"
            part="scope"
            options={[
              ["all", "All heads"],
              ["layer", `Layer L${layer}`],
              // The mean head of a layer is the layer.
              ...(head === "mean" ? [] : [["head", `Head L${layer} H${head}`] as const]),
            ]}
            value={scope === "head" && head === "mean" ? "layer" : scope}
            choose={(next) => choose({ scope: next })}
          />
        ) : (
          <div class="aw-cluster" data-aw-part="sentences-carried">
            <strong>{carriedName(askedOf(aggregation, carried.value, { layer, head }))}</strong>
            <Button
              class="aw-plain-button"
              part="to-weights"
              onClick={() => state.set({ quantity: "weights" })}
            >
              Attention weights instead
            </Button>
          </div>
        )}
        <div class="aw-isa-legend aw-cluster" hidden={shown === null || shown.size === 0}>
          {shown !== null && (
            <RampLegend
              max={shown.max}
              error={shown.error(shown.max)}
              scale={selection.value.scale}
              mode={mode.value}
            />
          )}
          <span class="aw-isa-key aw-inline aw-muted aw-small">
            <i aria-hidden="true" />
            strongest other
          </span>
        </div>
      </div>
    );
  }

  /** The cell under the pointer, else the one that Tab enters. */
  function Readout() {
    const shown = matrix.value;
    if (shown === null || shown.size === 0) return null;
    const { a, b } = pointed.value ?? place.value;
    const value = itemAt(shown.values, a * shown.width + b);
    const quote = (name: string, text: string) => (
      <span class="aw-ellipsis">
        <strong>{name}</strong> <bdi dir="auto">{oneLine(text)}</bdi>
      </span>
    );
    return (
      <>
        {quote(sentenceName(a), itemAt(shown.texts, a))}
        <span class="aw-isa-arrow" aria-hidden="true">
          →
        </span>
        {a === b && !ofTwoTexts(shown) ? (
          <span class="aw-ellipsis aw-muted">itself</span>
        ) : (
          quote(keyName(shown, b), itemAt(shown.keyTexts, b))
        )}
        {Number.isNaN(value) ? <span>–</span> : <Num value={value} error={shown.error(value)} />}
      </>
    );
  }

  const { act } = context;
  const runText =
    act === null
      ? null
      : (text: string): void => {
          act({ kind: "run", text, text_pair: null }).catch(report);
        };

  function View() {
    const shown = matrix.value;
    const why = shown === null ? failure.value : null;
    const note = why === null ? (shown?.note ?? null) : messageOf(why);
    const { aggregation } = choice.value;
    const kind = shown?.size === 0 ? " is-empty" : "";
    const single = shown !== null && isSingle(shown);
    const apart = shown === null || shown.size === 0 || single;
    return (
      <div class={`aw-sentences${kind}`} dir="ltr" aria-busy={busy.value ? "true" : undefined}>
        {shown === null ? (
          <SentenceLine />
        ) : (
          <SentencesSentence matrix={shown} row={place.value.a} />
        )}
        {!single && <Controls />}
        {!single && (
          <p class="aw-view-note" data-aw-part="meaning">
            {carried.value === null
              ? MEANING[aggregation]
              : `${CARRIED[aggregation]} ${mixingDefinition(carried.value) ?? ROLLOUT}`}
          </p>
        )}
        <p class="aw-isa-note" data-aw-part="note" hidden={note === null || single}>
          {note}
        </p>
        <p class="aw-isa-waiting" hidden={!busy.value || shown !== null}>
          Comparing sentences …
        </p>
        {single && (
          <Example mode={mode.value} causal={source.meta.mask !== undefined} run={runText} />
        )}
        <div class="aw-isa-picture" hidden={apart}>
          {shown !== null && !apart && <Grid matrix={shown} />}
          <p class="aw-readout" data-aw-part="readout">
            <Readout />
          </p>
        </div>
        <div class="aw-isa-below">
          {drilled.value !== null && !single && <Drill busy={blocks.busy.value} />}
          {drilled.value === null && !apart && (
            <p class="aw-hint aw-small aw-isa-hint">
              {byTouch()
                ? "Tap a cell to see it token by token."
                : "Click a cell, or press Enter on it, to see it token by token."}
            </p>
          )}
        </div>
      </div>
    );
  }

  state.on(["layer", "head", "quantity"], () => void load(), until);
  state.on(["token", "pair"], follow, until);
  let first = true;
  watch(() => {
    const shown = matrix.value;
    if (shown === null || shown.size === 0) return;
    untracked(() => {
      if (first) begin(shown);
      else void fill();
    });
    first = false;
  }, until);
  mount(host, View, until);
  copyExactValues(host, until);
  void load();
  return {
    dispose: () => render(null, host),
    table: () => {
      const shown = matrix.peek();
      return shown === null || shown.size === 0 ? null : matrixTable(shown);
    },
    options() {
      const of = matrix.peek()?.asked ?? asked(choice.peek().aggregation, "all", 0, "mean");
      const { layer, head, aggregation, quantity } = of;
      if (quantity !== null) return { aggregation, over: carriedName(of) };
      if (layer === null) return { aggregation, over: "all layers and heads" };
      const over = head === null ? `L${layer}, all heads` : `L${layer} H${head}`;
      return { aggregation, over };
    },
  };
};
