/** The whole model as a map with its real sizes; a stage's real numbers; a token that walks through it. */

import { computed } from "@preact/signals-core";
import { render } from "preact";
import { consume } from "../../draw/dom";
import { byTouch } from "../../draw/touch";
import { standalone } from "../../draw/vector";
import { unitOf, unitOfToken } from "../../figures/derive/units";
import { schemeOf, unitLabel } from "../../figures/names";
import { nothingToSee, wordsOf } from "../../figures/nothing-to-see";
import { toldLink } from "../../figures/told-link";
import { asking } from "../../protocol/asking";
import { isAbort, messageOf } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import type { Meta } from "../../protocol/types";
import { copyExactValues } from "../../ui/copy-exact";
import { mount, signalOf, widthOf } from "../../ui/mount";
import { SentenceLine } from "../../ui/sentence";
import type { DrawView, ViewContext } from "../../views/contract";
import type { Architecture, StageBox } from "./architecture";
import { Link } from "./bars";
import { tableOf } from "./content";
import type { Changes } from "./data";
import { createMap } from "./map/map";
import { Parameters } from "./map/parameters";
import { ChangeLegend, ChangeWords, layerWords, stageWords } from "./map/words";
import { createInsideModel, type InsideModel } from "./model";
import { createNearWords } from "./near-words";
import { createPanel } from "./panel/panel";
import { createPipeline } from "./pipeline";
import { askReading, type Reading } from "./reading";
import { InsideSentence, mostUnusual } from "./sentence";
import { askShares, takenFrom } from "./taken";
import { createTargetLens } from "./target-lens";

const TAP = "A tap opens a stage.";
const HINT =
  "A click or Enter opens a stage. Keys: ← → move along the pipeline, ↑ ↓ or [ ] change the layer, n and p take the token to the next or previous stage.";

/** The view in a sentence. */
function createSentence(
  { source, state, matrix, signal: until }: ViewContext,
  { changesOf, focus, layers }: InsideModel,
) {
  const { tokens, model } = source.meta;
  const words = wordsOf(tokens);
  const word = computed(
    () => words[unitOfToken(words, focus.value)] ?? unitOf(tokens, focus.value),
  );
  const readings = asking<{
    token: number;
    layer: number;
    reading: Reading | null;
    shares: ArrayLike<number> | null;
  }>(until);
  const askForReading = (): Promise<void> =>
    readings.ask(async (signal) => {
      const [token, { layer }] = [focus.peek(), state.get()];
      // A head that cannot be applied to a layer, or layers that are not known: the sentence speaks of what is.
      const without = (error: unknown): null => {
        if (isAbort(error)) throw error;
        return null;
      };
      // A decoder goes on after its last token.
      const at = model.predicts === "next" ? tokens.text.length - 1 : token;
      const reading = await askReading(source, at, signal).catch(without);
      const shares = several ? await askShares(source, layer, signal).catch(without) : null;
      return { token, layer, reading, shares };
    });
  /** A median needs two others; a word again and again is none. */
  const several =
    words.length > 2 && new Set(words.map(({ surface }) => surface.trim().toLowerCase())).size > 1;
  const scheme = schemeOf(tokens);
  function movedOf({ attention, ffn }: Changes) {
    const changes = [
      { part: "attention", values: attention },
      { part: "FFN", values: ffn },
    ] as const;
    const resting = model.predicts === "next" && tokens.special[0] === false ? 0 : -1;
    return several ? mostUnusual(changes, words, layers, resting) : null;
  }
  state.on(["token", "layer"], () => void askForReading(), until);
  void askForReading();
  const moved = computed(() => changesOf.answer.value && movedOf(changesOf.answer.value));
  const head = signalOf(matrix.get, (changed) => matrix.on(changed, until));
  const taken = computed(() => {
    const { shares = null, layer = 0 } = readings.answer.value ?? {};
    const told = toldLink(head.value, focus.value);
    return shares && takenFrom(shares, layer, word.value, words, told);
  });
  return function sentence() {
    const [found, read] = [changesOf.answer.value, readings.answer.value];
    const waits = found === null && changesOf.failure.value === null;
    if (waits || read?.token !== focus.value) return <SentenceLine />;
    const { reading } = read;
    if (reading === null && nothingToSee(tokens) !== null) return <SentenceLine silent />;
    if (reading === null && found === null) return <SentenceLine />;
    return (
      <InsideSentence
        noun={source.meta.wordless ? "tokens" : "words"}
        focus={word.value}
        reading={reading}
        taken={taken.value}
        moved={moved.value}
        tokens={tokens}
        nameOf={(unit) => unitLabel(unit, scheme)}
        choose={(token) => state.set({ token })}
      />
    );
  };
}

/** A stage with its size and parameters, a layer's bars, or what the keys do. */
function noteOf(
  at: StageBox | number | null,
  arch: Architecture,
  { bars, nameOf, focus }: InsideModel,
  { model }: Meta,
): string {
  if (typeof at === "number") return layerWords(at, bars.value, nameOf(focus.value));
  return at === null ? (byTouch() ? TAP : HINT) : stageWords(at, arch, model);
}

/** The change from layer to layer in words, or why there is none. */
function changesInWords({ changesOf, bars, turns, nameOf, focus }: InsideModel) {
  const why = changesOf.failure.value;
  if (why !== null) return `The change from layer to layer is not available: ${messageOf(why)}`;
  return (
    bars.value && <ChangeWords bars={bars.value} turns={turns.value} token={nameOf(focus.value)} />
  );
}

export const inside: DrawView<ViewContext> = (host, context) => {
  const { source, state, signal: until } = context;
  const { tokens } = source.meta;
  // Unique in the page: two widgets have a module each.
  const noteId = `aw-inside-${Math.random().toString(36).slice(2)}`;

  const model = createInsideModel(host, context);
  const { selection, parts, stages, open, pointed, focus, nameOf, stageOf } = model;
  const { bars, setLayer, placeOf } = model;
  const pipeline = createPipeline(context, model, (...of) => goTo(...of));
  const { stageOnScreen, pending, step, follow, begin } = pipeline;
  const width = widthOf(host, 0, until);
  const { ModelMap, drawing } = createMap(
    model.mapData,
    width,
    {
      open: pipeline.openStage,
      layer: setLayer,
      point(at) {
        pointed.value = at;
      },
    },
    until,
  );
  const { Panel, goTo } = createPanel(
    {
      shown: stageOnScreen.answer,
      width,
      root: computed(() => selection.value.scale === "sqrt"),
      pending,
      late: stageOnScreen.busy,
      step,
      share: pipeline.share,
    },
    until,
  );
  const sentence = createSentence(context, model);
  const TargetLens = createTargetLens(context, () => focus.peek());
  const NearWords = createNearWords(context, () => focus.peek());

  function onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof Element && event.target.matches("input, select, textarea")) return;
    if (event.key === "n" || event.key === "p") step(event.key === "n" ? 1 : -1);
    else if (event.key === "]" || event.key === "[")
      setLayer(state.get().layer + (event.key === "]" ? 1 : -1));
    else return;
    consume(event);
  }

  function Parts({ arch }: { readonly arch: Architecture }) {
    const at = pointed.value;
    return (
      <>
        {sentence()}
        <Parameters
          parameters={arch.parameters}
          marked={at === null || typeof at === "number" ? null : at.part}
        />
        <div class="aw-inside-map-frame">
          <ModelMap describedBy={noteId} />
        </div>
        <p class="aw-view-note aw-inside-note" id={noteId} data-aw-part="map-note">
          {noteOf(at, arch, model, source.meta)}
        </p>
        <div class="aw-inside-keys aw-cluster aw-muted aw-tiny">
          {bars.value !== null && <ChangeLegend bars={bars.value} token={nameOf(focus.value)} />}
        </div>
        <p class="aw-inside-words" data-aw-part="changes">
          {changesInWords(model)}
        </p>
        {arch.notes.length > 0 && <p class="aw-view-note">{arch.notes.join(" ")}</p>}
        <Panel />
        <TargetLens />
        <NearWords />
      </>
    );
  }

  function View() {
    const [arch, why, busy] = [parts.answer.value, parts.failure.value, parts.busy.value];
    return (
      // biome-ignore lint/a11y/noStaticElementInteractions: keys of the view, wherever the focus is in it
      <div
        class="aw-inside"
        dir="ltr"
        aria-busy={arch === null && why === null ? "true" : undefined}
        onKeyDown={onKey}
      >
        {arch !== null && <Parts arch={arch} />}
        {arch === null && busy && <p class="aw-view-note">Loading the parts of the model …</p>}
        {arch === null && !busy && why !== null && (
          <div class="aw-empty" data-aw-part="empty">
            <p class="aw-empty-title">The inside of this model cannot be shown</p>
            <p>{messageOf(why)}</p>
            <Link act={() => void begin()}>Ask again</Link>
          </div>
        )}
      </div>
    );
  }

  state.on(["layer", "head", "token", "scale"], follow, until);
  mount(host, View, until);
  copyExactValues(host, until);
  void begin();

  return {
    dispose: () => render(null, host),
    table() {
      const { content, stage } = stageOnScreen.answer.peek() ?? {};
      if (content == null || stage === undefined) return null;
      const table = tableOf(content, stage.token, itemAt(tokens.text, stage.token));
      // A saved page may have none of the open stage's numbers: a header alone is no table.
      return table.rows.length === 0 ? null : table;
    },
    part: (of) =>
      of === "svg"
        ? "A part of the view: the map of the model. The PNG also has the numbers of the open stage."
        : null,
    svg() {
      const map = drawing();
      return map === null ? null : standalone(map);
    },
    options: () => ({
      stage: open.peek(),
      over: stages.peek().length === 0 ? "" : placeOf(stageOf(open.peek())),
    }),
  };
};

declare module "../../views/contract" {
  interface LazyCode {
    readonly inside: typeof inside;
  }
}
