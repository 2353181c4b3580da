/** Attention between sentences: which sentence looks at which, and through which tokens. */
import { computed, type ReadonlySignal, signal, untracked } from "@preact/signals-core";
import { render } from "preact";
import { byTouch } from "../../draw/touch";
import { mixingDefinition } from "../../figures/definitions";
import { toldLink } from "../../figures/told-link";
import { cellsTable } from "../../marks/cells";
import { type Place, samePlace } from "../../marks/navigate";
import { type Asking, asking } from "../../protocol/asking";
import { isAbort, messageOf } from "../../protocol/failure";
import type { TokenColumns } from "../../protocol/types";
import type { State } from "../../state/selection";
import { copyExactValues } from "../../ui/copy-exact";
import { modeSignal, mount, selectionOf, signalOf, watch, widthOf } from "../../ui/mount";
import { SentenceLine } from "../../ui/sentence";
import type { DrawView, ViewContext } from "../../views/contract";
import { type Choice, Controls, Readout } from "./controls";
import {
  type Aggregation,
  type Answer,
  ask,
  askedOf,
  carriedName,
  firstOf,
  keyName,
  nounsOf,
  ofTwoTexts,
  placeOfPair,
  type SentenceMatrix,
  sentenceName,
  sentenceOf,
  strongestOther,
  type TokenBlock,
} from "./data";
import { createDrill, type Drilled } from "./drill";
import { Example } from "./example";
import { createGrid } from "./grid";
import { otherSection } from "./section-sentence";
import { OneSentence, openingRow, SentencesSentence } from "./sentence";

/** Choices of the reader, kept as long as the widget lives. */
const choices = new WeakMap<State, Choice>();
/** Meaning of a cell, for attention weights and for other quantities. */
const MEANING: Record<Aggregation, readonly [weights: string, carried: string]> = {
  mass: [
    "Mass: the share of a row sentence's attention that lands on each column sentence; mean over its tokens.",
    "Mass: each column sentence's share of what a row sentence takes; mean over its tokens.",
  ],
  max: [
    "Max: the largest single weight between two sentences. It saturates near 1 in most models, so it only shows whether any link is strong.",
    "Max: the largest single entry between two sentences.",
  ],
};
const ROLLOUT =
  "Attention rollout: the layers up to this one multiplied, half of each the identity.";

/** True for a text of one sentence, which has no other to look at. */
const isSingle = (shown: SentenceMatrix): boolean => shown.size === 1 && !ofTwoTexts(shown);

/** The pair whose tokens are shown below; `focus` leads back to its cell. */
function createOpened(
  host: HTMLElement,
  { report, announce, signal: until }: ViewContext,
  answers: Asking<Answer>,
  focus: () => void,
) {
  /** A pair that opens by itself reports no failure. */
  const opened = signal<Place | null>(null);
  let silent = false;
  const blocks = asking<Drilled | null>(until, (error) => {
    if (!silent) report(error);
    if (drilled.peek() === null) close();
  });
  const drilled = computed(() => {
    const block = blocks.answer.value;
    return block?.place === opened.value ? block : null;
  });
  function close(): void {
    const inside = host.querySelector(".aw-drill")?.contains(document.activeElement);
    opened.value = null;
    void blocks.ask(async () => null);
    if (inside) focus();
  }
  /** Open the tokens of a pair below, or close them. */
  function toggle(at: Place): void {
    const same = samePlace(opened.peek(), at);
    close();
    if (same) return;
    opened.value = at;
    void fill();
  }
  async function fill(): Promise<void> {
    const [answer, place, before] = [answers.answer.peek(), opened.peek(), drilled.peek()];
    if (answer === null || place === null) return;
    const { matrix } = answer;
    await blocks.ask(async (signal) => ({
      ...{ place, matrix },
      block: await answer.block(place, { signal }),
    }));
    const [a, b] = [sentenceName(matrix, place.row), keyName(matrix, place.column)];
    if (before === null && drilled.peek() !== null && !isSingle(matrix))
      announce(`Tokens of ${a} and ${b} are open below.`);
    silent = false;
  }
  return {
    ...{ opened, blocks, drilled, close, toggle, fill },
    /** The pair of a text of one sentence. */
    openQuietly(): void {
      opened.value = { row: 0, column: 0 };
      silent = true;
    },
  };
}

/** The sentence to which a row's words are asked for: the one that it looks at most (of sections, for its length), where weights of all heads are shown. */
const bridgeTo = (matrix: SentenceMatrix, row: number, tokens: TokenColumns): number | null => {
  const { aggregation, layer, quantity } = matrix.asked;
  const shares = aggregation === "mass" && layer === null && quantity === null;
  if (!shares || matrix.size < 2 || ofTwoTexts(matrix)) return null;
  return matrix.sections === null ? strongestOther(matrix, row) : otherSection(matrix, row, tokens);
};

/** Tokens from the row that is read to the sentence that it looks at most, for the words of the sentence. */
function createBridge(
  answers: Asking<Answer>,
  entry: ReadonlySignal<Place>,
  tokens: TokenColumns,
  until: AbortSignal,
) {
  const bridges = asking<{ of: SentenceMatrix; row: number; block: TokenBlock | null }>(until);
  watch(() => {
    const [answer, { row }] = [answers.answer.value, entry.value];
    const column = answer && bridgeTo(answer.matrix, row, tokens);
    if (answer === null || column === null) return;
    const { matrix: of, block } = answer;
    void bridges.ask(async (signal) => ({
      ...{ of, row },
      block: await block({ row, column }, { signal }).catch((error: unknown) => {
        if (isAbort(error)) throw error;
        return null;
      }),
    }));
  }, until);
  return {
    /** Null where it is of another row. */
    block: computed(() => {
      const { of, row, block = null } = bridges.answer.value ?? {};
      return of === answers.answer.value?.matrix && row === entry.value.row ? block : null;
    }),
    /** The first one is on its way. */
    waits: computed(() => {
      const { matrix } = answers.answer.value ?? {};
      const asked = matrix !== undefined && bridgeTo(matrix, entry.value.row, tokens) !== null;
      return asked && bridges.answer.value === null;
    }),
  };
}

function createModel(host: HTMLElement, context: ViewContext) {
  const { source, state, report, act, signal: until } = context;
  const followed = ["layer", "head", "quantity", "token", "pair", "scale"] as const;
  const selection = selectionOf(state, followed, until);
  const mode = modeSignal(host, until);
  const choice = signal<Choice>(choices.get(state) ?? { aggregation: "mass", scope: "all" });
  const wanted = computed(() =>
    askedOf(choice.value.aggregation, choice.value.scope, selection.value),
  );
  const answers = asking<Answer>(until, (error) => {
    report(error);
    refuse();
  });
  const matrix = computed(() => answers.answer.value?.matrix ?? null);
  const pair = createOpened(host, context, answers, () => focus());
  const { opened, drilled, close } = pair;
  const Drill = createDrill(context, { drilled, selection, mode, close });
  const { Grid, entry, pointed, show, focus } = createGrid({
    matrix,
    width: widthOf(host, 0, until),
    scale: computed(() => selection.value.scale),
    mode,
    opened,
    pinned: computed(() => matrix.value && placeOfPair(matrix.value, selection.value.pair)),
    paired: source.meta.text_pair !== null,
    open: pair.toggle,
    close() {
      const open = opened.peek() !== null;
      if (open) close();
      return open;
    },
  });
  const bridge = createBridge(answers, entry, source.meta.tokens, until);
  const head = signalOf(context.matrix.get, (changed) => context.matrix.on(changed, until));
  const told = computed(() => toldLink(head.value, selection.value.token));
  function choose(part: Partial<Choice>): void {
    choice.value = { ...choice.peek(), ...part };
    choices.set(state, choice.peek());
    void load();
  }
  async function load(): Promise<void> {
    const [of, shown] = [wanted.peek(), answers.answer.peek()];
    const same = JSON.stringify(shown?.matrix.asked) === JSON.stringify(of);
    await answers.ask((signal) =>
      same && shown !== null
        ? Promise.resolve(shown)
        : ask(of, source, { signal }, context.sections),
    );
  }
  /** The last good picture stays, and the controls name it. */
  function refuse(): void {
    const { aggregation, layer, head, quantity } = matrix.peek()?.asked ?? {};
    if (aggregation === undefined || quantity !== null || wanted.peek().quantity !== null) return;
    const scope = layer === null ? "all" : head === null ? "layer" : "head";
    choice.value = { aggregation, scope };
    choices.set(state, choice.peek());
  }
  let opening: Place | null = null;
  /** Read the row of the focus token's sentence; the first matrix opens at the pinned pair. */
  function follow(first = false): void {
    const shown = matrix.peek();
    if (shown === null || shown.size === 0) return;
    const { token, pair } = state.get();
    const row = sentenceOf(shown.tokens, token);
    const pinned = placeOfPair(shown, pair);
    if (pinned !== null && (first || pinned.row === row)) entry.value = pinned;
    else if (first) {
      opening = firstOf(shown, openingRow(shown));
      entry.value = opening;
    } else if (row >= 0 && row !== entry.peek().row) entry.value = firstOf(shown, row);
  }

  const run = (text: string): void => {
    act?.({ kind: "run", text, text_pair: null }).catch(report);
  };
  return {
    ...{ context, selection, mode, choice, wanted, answers, matrix, pair, bridge, told },
    ...{ entry, pointed, show, Drill, Grid, choose, load, follow, run: act && run },
    /** True of a row that the reader chose. */
    chosen: computed(() => entry.value !== opening),
  };
}

type Model = ReturnType<typeof createModel>;

function View({ context, selection, mode, choice, wanted, answers, matrix, ...model }: Model) {
  const { source, state } = context;
  const { pair, bridge, told, entry, pointed, run, Drill, Grid } = model;
  const choose = (token: number): void => state.set({ token });
  const { opened, blocks, drilled } = pair;
  const shown = matrix.value;
  const why = shown === null ? answers.failure.value : null;
  const note = why === null ? (shown?.note ?? null) : messageOf(why);
  const { aggregation, quantity } = wanted.value;
  const [one, many] = nounsOf(context.sections);
  const [weights, carried] = MEANING[aggregation].map((text) => text.replaceAll("sentence", one));
  const single = shown !== null && isSingle(shown);
  const none = shown === null || shown.size === 0 || single;
  const busy = answers.busy.value;
  const block = drilled.value?.block ?? null;
  return (
    <div
      class={`aw-sentences${shown?.size === 0 ? " is-empty" : ""}`}
      dir="ltr"
      aria-busy={busy ? "true" : undefined}
    >
      {shown === null ? (
        <SentenceLine />
      ) : single ? (
        // Its tokens open by themselves; the line waits for them.
        opened.value !== null && block === null ? (
          <SentenceLine />
        ) : (
          <OneSentence
            block={shown.asked.layer === null && aggregation === "mass" ? block : null}
            tokens={source.meta.tokens}
            told={told.value}
            choose={choose}
            outside={shown.outside}
          />
        )
      ) : bridge.waits.value ? (
        <SentenceLine />
      ) : (
        <SentencesSentence
          matrix={shown}
          row={entry.value.row}
          block={bridge.block.value}
          tokens={source.meta.tokens}
          told={told.value}
          chosen={model.chosen.value}
          choose={choose}
        />
      )}
      {!single && (
        <Controls
          selection={selection.value}
          choice={choice.value}
          asked={wanted.value}
          shown={shown}
          choose={model.choose}
          mode={mode.value}
          weights={() => state.set({ quantity: "weights" })}
        />
      )}
      {!single && (
        <p class="aw-view-note" data-aw-part="meaning">
          {quantity === null ? weights : `${carried} ${mixingDefinition(quantity) ?? ROLLOUT}`}
        </p>
      )}
      <p class="aw-isa-note" data-aw-part="note" hidden={note === null || single}>
        {note}
      </p>
      <p class="aw-isa-waiting" hidden={!busy || shown !== null}>
        {`Comparing ${many} …`}
      </p>
      {single && !context.sections && (
        <Example mode={mode.value} causal={source.meta.mask !== undefined} run={run} />
      )}
      <div class="aw-isa-picture" hidden={none}>
        {!none && <Grid matrix={shown} />}
        <p class="aw-readout" data-aw-part="readout">
          {/* The cell under the pointer, else the one that Tab enters. */}
          {!none && <Readout shown={shown} at={pointed.value ?? entry.value} />}
        </p>
      </div>
      <div class="aw-isa-below">
        {drilled.value !== null && !single && <Drill busy={blocks.busy.value} />}
        {drilled.value === null && !none && (
          <p class="aw-hint aw-small aw-isa-hint">
            {byTouch() ? "Tap a cell" : "Click a cell, or press Enter on it,"} to see it token by
            token.
          </p>
        )}
      </div>
    </div>
  );
}

export const sentences: DrawView<ViewContext> = (host, context) => {
  const { state, signal: until } = context;
  const model = createModel(host, context);
  const { matrix, pair, wanted, show, load, follow } = model;

  state.on(["layer", "head", "quantity"], () => void load(), until);
  state.on(["token", "pair"], () => follow(), until);
  let first = true;
  watch(() => {
    const shown = matrix.value;
    if (shown === null || shown.size === 0) return;
    untracked(() => {
      if (first) follow(true);
      if (first && isSingle(shown)) {
        pair.openQuietly();
      }
      void pair.fill();
    });
    first = false;
  }, until);
  // Once laid out, the grid is at the row of which the sentence speaks.
  let placed = false;
  mount(
    host,
    () => View(model),
    until,
    () => {
      if (placed || !host.querySelector(".aw-isa-row.is-active")) return;
      placed = true;
      show();
    },
  );
  copyExactValues(host, until);
  void load();
  return {
    dispose: () => render(null, host),
    table() {
      const shown = matrix.peek();
      if (shown === null || shown.size === 0) return null;
      const { texts, keyTexts, raw, error } = shown;
      return cellsTable(["a", "b"], texts, keyTexts, raw, error);
    },
    options() {
      const of = matrix.peek()?.asked ?? wanted.peek();
      const { aggregation, layer, head, quantity } = of;
      if (quantity !== null) return { aggregation, over: carriedName(of) };
      if (layer === null) return { aggregation, over: "all layers and heads" };
      return { aggregation, over: head === null ? `L${layer}, all heads` : `L${layer} H${head}` };
    },
  };
};
