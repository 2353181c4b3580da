/** The whole model as a map with its real sizes; a stage's real numbers; a token that walks through it. */

import { computed, signal } from "@preact/signals-core";
import { render } from "preact";
import { consume } from "../../draw/dom";
import { byTouch } from "../../draw/touch";
import { standalone } from "../../draw/vector";
import {
  type Architecture,
  type StageBox,
  type StageId,
  type Step,
  stagesOf,
  stepOf,
  walkOf,
} from "../../figures/derive/stages";
import { copyExactValues } from "../../figures/format";
import { headName, schemeOf, tokenName } from "../../figures/names";
import { asking } from "../../protocol/asking";
import { isAbort, messageOf } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import type { State } from "../../state/selection";
import { modeSignal, mount, selectionOf, widthOf } from "../../ui/mount";
import { SentenceLine } from "../../ui/sentence";
import type { DrawView, ViewContext } from "../contract";
import { Link, Name } from "./bars";
import { type Content, type StageContext, tableOf } from "./content";
import { architecture, type Changes, changes, hiddenScale } from "./data";
import { type Bars, createMap, type MapData } from "./map/map";
import { Parameters } from "./map/parameters";
import { ChangeLegend, ChangeWords, layerWords, stageWords, zoneNames } from "./map/words";
import { createNearWords } from "./near-words";
import { createPanel, missingFrom, type Shared, type Shown } from "./panel/panel";
import { askReading, type Reading } from "./reading";
import { type Absence, absence } from "./saved";
import { InsideSentence, mostUnusual } from "./sentence";
import { savedOnly } from "./stages/attention";
import { CONTENTS } from "./stages/stages";
import { createTargetLens } from "./target-lens";

const FIRST: StageId = "token";
const TAP = "A tap opens a stage.";
const HINT =
  "A click or Enter opens a stage. Keys: ← → move along the pipeline, ↑ ↓ or [ ] change the layer, n and p take the token to the next or previous stage.";

/** The open stage, restored after another view or another text. */
const OPENED = new WeakMap<State, { id: StageId; shared: Shared }>();

const OF_A_HEAD: ReadonlySet<StageId> = new Set(["qkv", "scores", "weights", "head_output"]);

export const inside: DrawView<ViewContext> = (host, context) => {
  const { source, state, announce, report, signal: until } = context;
  const { model, tokens } = source.meta;
  const layers = model.n_layers;
  const scheme = schemeOf(tokens);
  // Unique in the page: two widgets have a module each.
  const noteId = `aw-inside-${Math.random().toString(36).slice(2)}`;

  const selection = selectionOf(state, ["layer", "head", "token", "scale"], until);
  const mode = modeSignal(host, until);
  const parts = asking<Architecture>(until);
  const stages = computed(() =>
    parts.answer.value ? stagesOf(source.meta, parts.answer.value) : [],
  );
  const walk = computed(() => walkOf(stages.value, layers));
  const { id, shared: before } = OPENED.get(state) ?? { id: FIRST, shared: "stage" as Shared };
  const open = signal<StageId>(id);
  let shared = before;
  const pointed = signal<StageBox | number | null>(null);
  const changesOf = asking<Changes>(until);
  const stageOnScreen = asking<Shown>(until, (error) => {
    report(error);
    // The last good picture stays.
    open.value = stageOnScreen.answer.peek()?.stage.box.id ?? open.peek();
  });
  /** True while the numbers of the open stage are requested. */
  const pending = signal(false);
  let requests = 0;

  /** The focus token; without one the first that is no special token. */
  const focus = computed(() => selection.value.token ?? Math.max(0, tokens.special.indexOf(false)));
  const nameOf = (token: number): string => tokenName(tokens, token, scheme);
  const stageOf = (id: StageId): StageBox =>
    stages.value.find((stage) => stage.id === id) ?? itemAt(stages.value, 0);
  /** Why a stage cannot be shown for the focus token; null where it can. */
  const absent = (box: StageBox, layer = selection.value.layer): Absence | null => {
    const { head } = selection.value;
    return absence(source, box, { layer, head: head === "mean" ? null : head, token: focus.value });
  };
  const isThere = ({ id, layer }: Step): boolean =>
    absent(stageOf(id), layer ?? undefined) === null;

  /** Values of the focus token by layer. */
  const column = (values: Float32Array): number[] =>
    Array.from({ length: layers }, (_, layer) =>
      itemAt(values, layer * tokens.text.length + focus.value),
    );
  const bars = computed((): Bars | null => {
    const found = changesOf.answer.value;
    if (found === null) return null;
    const { attention, ffn, layers } = found;
    return { attention: column(attention), ffn: column(ffn), change: [...layers] };
  });
  const turns = computed(() => {
    const found = changesOf.answer.value;
    return found === null ? [] : column(found.path.cosines).map((cosine) => 1 - cosine);
  });
  /** Parts of the embeddings and heads that the model does not have are no boxes: the strips of the embeddings say why. */
  const isOfModel = ({ missing, zone }: StageBox): boolean =>
    missing === null || (zone !== "embeddings" && zone !== "output");
  const mapData = computed((): MapData | null => {
    const arch = parts.answer.value;
    if (arch === null) return null;
    const { layer } = selection.value;
    return {
      stages: stages.value
        .filter(isOfModel)
        .map((box) => ({ ...box, missing: absent(box)?.reason ?? null })),
      ...{ layers, layer, open: open.value, bars: bars.value },
      headings: zoneNames(layer, layers, arch.preNorm),
    };
  });

  const width = widthOf(host, 0, until);
  const { ModelMap, drawing } = createMap(
    mapData,
    width,
    {
      open: openStage,
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
      share(next) {
        shared = next;
        void load();
      },
    },
    until,
  );
  const readings = asking<{ token: number; reading: Reading | null }>(until);
  const askForReading = (): Promise<void> =>
    readings.ask(async (signal) => {
      const token = focus.peek();
      // A head that cannot be applied to a layer: the sentence speaks of the changes alone.
      const reading = await askReading(source, token, signal).catch((error: unknown) => {
        if (isAbort(error)) throw error;
        return null;
      });
      return { token, reading };
    });
  state.on(["token"], () => void askForReading(), until);
  void askForReading();
  /** Words, which the focus token is compared with. */
  const words = tokens.text.flatMap((_, i) =>
    tokens.special[i] !== true && /[\p{L}\p{N}]/u.test(tokens.surface[i] ?? "") ? [i] : [],
  );
  function Sentence() {
    const [found, read] = [changesOf.answer.value, readings.answer.value];
    const waits = found === null && changesOf.failure.value === null;
    if (waits || read?.token !== focus.value) return <SentenceLine />;
    const turn = firstLargest(turns.value);
    return (
      <InsideSentence
        token={nameOf(focus.value)}
        reading={read.reading}
        unusual={
          found &&
          mostUnusual(
            [
              { part: "attention", values: found.attention },
              { part: "FFN", values: found.ffn },
            ],
            focus.value,
            words,
            layers,
          )
        }
        turn={turn < 0 ? null : { layer: turn, cosine: 1 - itemAt(turns.value, turn) }}
      />
    );
  }
  const TargetLens = createTargetLens(context, () => focus.peek());
  const NearWords = createNearWords(context, () => focus.peek());

  function setLayer(layer: number): void {
    state.set({ layer: Math.min(Math.max(layer, 0), layers - 1) });
  }

  /** The layer or the head of a stage; empty for one before or after the layers. */
  function placeOf({ id, zone }: StageBox): string {
    const { layer, head } = state.get();
    if (OF_A_HEAD.has(id)) return headName(layer, head);
    return zone === "attention" || zone === "ffn" ? `L${layer}` : "";
  }

  function openStage(id: StageId): void {
    if (stages.peek().every((stage) => stage.id !== id)) return;
    open.value = id;
    follow();
    announce(stageOf(id).title);
  }

  /** The next stage that can be shown, on or back. */
  function nextStep(by: number): Step | undefined {
    const at = stepOf(walk.value, open.peek(), state.get().layer);
    const way = by > 0 ? walk.value.slice(at + 1) : walk.value.slice(0, Math.max(at, 0)).reverse();
    return way.find(isThere);
  }

  /** One stage on or back, into the next layer where this one ends. */
  function step(by: number): void {
    const next = nextStep(by);
    if (next === undefined) return;
    open.value = next.id;
    // One change, one request: the listener of the layer asks for what is open.
    if (next.layer !== null && next.layer !== state.get().layer) state.set({ layer: next.layer });
    else follow();
    announce(`${stageOf(next.id).title}${next.layer === null ? "" : `, layer ${next.layer}`}`);
  }

  let answered: Promise<Changes> | null = null;
  const askChanges = (): Promise<Changes> => {
    answered ??= changes(source, until).catch((error: unknown) => {
      answered = null;
      throw error;
    });
    return answered;
  };

  /** The open stage with its numbers, or why it has none. */
  async function ask(signal: AbortSignal): Promise<Shown> {
    const box = stageOf(open.peek());
    const { layer, head } = state.get();
    const token = focus.peek();
    const stage: StageContext = {
      ...{
        view: context,
        box,
        arch: parts.answer.peek() as Architecture,
        layer,
        token,
        mode,
        signal,
      },
      ...{ head: head === "mean" ? null : head, name: nameOf(token), changes: askChanges, goTo },
    };
    const where = placeOf(box);
    const at = stepOf(walk.peek(), box.id, layer);
    const instead = absent(box)?.instead ?? null;
    const shown = {
      stage,
      title: (
        <>
          {`${box.title}${where === "" ? "" : ` · ${where}`} · `}
          <Name text={stage.name} />
          <span class="aw-muted">{` ${token}`}</span>
        </>
      ),
      notice:
        state.get().token === null
          ? "No token is chosen, so this is the first one. Choose another in the text above."
          : "",
      count: at < 0 ? "" : `step ${at + 1} of ${walk.peek().length}`,
      ends: { first: nextStep(-1) === undefined, last: nextStep(1) === undefined },
      instead:
        instead === null
          ? null
          : { name: nameOf(instead), show: () => state.set({ token: instead }) },
      common: null,
    };
    if (box.missing !== null) return { ...shown, content: null, reason: box.missing };
    try {
      const [content, common]: [Content, number | null] = await Promise.all([
        CONTENTS[box.id](stage),
        shared === "walk" ? hiddenScale(source, token, signal).catch(savedOnly(source)) : null,
      ]);
      return { ...shown, content, common, reason: missingFrom(content) };
    } catch (error) {
      const last = stageOnScreen.answer.peek();
      if (isAbort(error) || (last !== null && last.content !== null)) throw error;
      report(error);
      return { ...shown, content: null, reason: messageOf(error) };
    }
  }

  async function load(): Promise<void> {
    if (parts.answer.peek() === null) return;
    OPENED.set(state, { id: open.peek(), shared });
    const request = ++requests;
    pending.value = true;
    await stageOnScreen.ask(ask);
    if (request === requests) pending.value = false;
  }

  function follow(): void {
    pointed.value = null;
    void load();
  }

  async function begin(): Promise<void> {
    await parts.ask((signal) => architecture(source, state.get().layer, signal));
    if (parts.answer.peek() === null || until.aborted) return;
    open.value = stageOf(open.peek()).id;
    if (!OPENED.has(state) && absent(stageOf(open.peek())) !== null) {
      open.value = walk.peek().find(isThere)?.id ?? open.peek();
    }
    follow();
    await changesOf.ask(askChanges);
  }

  function onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof Element && event.target.matches("input, select, textarea")) return;
    if (event.key === "n" || event.key === "p") step(event.key === "n" ? 1 : -1);
    else if (event.key === "]" || event.key === "[")
      setLayer(state.get().layer + (event.key === "]" ? 1 : -1));
    else return;
    consume(event);
  }

  /** A stage with its size and parameters, a layer's bars, or what the keys do. */
  function noteOf(at: StageBox | number | null, arch: Architecture): string {
    if (typeof at === "number") return layerWords(at, bars.value, nameOf(focus.value));
    return at === null ? (byTouch() ? TAP : HINT) : stageWords(at, arch, model);
  }

  /** The change from layer to layer in words, or why there is none. */
  function Words() {
    const why = changesOf.failure.value;
    if (why !== null) return `The change from layer to layer is not available: ${messageOf(why)}`;
    return (
      bars.value && (
        <ChangeWords bars={bars.value} turns={turns.value} token={nameOf(focus.value)} />
      )
    );
  }

  function Parts({ arch }: { readonly arch: Architecture }) {
    const at = pointed.value;
    return (
      <>
        <Sentence />
        <Parameters
          parameters={arch.parameters}
          marked={at === null || typeof at === "number" ? null : at.part}
        />
        <div class="aw-inside-map-frame">
          <ModelMap describedBy={noteId} />
        </div>
        <p class="aw-view-note aw-inside-note" id={noteId} data-aw-part="map-note">
          {noteOf(at, arch)}
        </p>
        <div class="aw-inside-keys aw-cluster aw-muted aw-tiny">
          {bars.value !== null && <ChangeLegend bars={bars.value} token={nameOf(focus.value)} />}
        </div>
        <p class="aw-inside-words" data-aw-part="changes">
          <Words />
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
