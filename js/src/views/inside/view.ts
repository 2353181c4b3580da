/** The whole model as a map with its real sizes; a stage's real numbers; a token that walks through it. */

import { onTheme } from "../../draw/color/theme";
import { h } from "../../draw/dom";
import { onResize } from "../../draw/resize";
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
import { copyExactValues, tokenLabel } from "../../figures/format";
import { headName, schemeOf } from "../../figures/names";
import { explain, isAbort } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import type { State } from "../../state/selection";
import type { ViewContext, ViewHandle } from "../contract";
import { type Content, type Place, tableOf } from "./content";
import { architecture, type Changes, changes, hiddenScale } from "./data";
import { listenToKeys } from "./keys";
import { type Bars, InsideMap } from "./map/map";
import { parameterBar } from "./map/parameters";
import { changeLegend, changeWords, layerWords, stageWords, zoneNames } from "./map/words";
import { nearWords } from "./near-words";
import { type Shared, StagePanel } from "./panel/panel";
import { type Absence, absence } from "./saved";
import { savedOnly } from "./stages/attention";
import { CONTENTS } from "./stages/stages";
import { targetLens } from "./target-lens";

const LATE_MS = 120;
const FIRST: StageId = "token";
const TAP = "A tap opens a stage.";
const HINT =
  "A click or Enter opens a stage. Keys: ← → move along the pipeline, ↑ ↓ or [ ] change the layer, n and p take the token to the next or previous stage.";

/** The open stage, restored after another view or another text. */
const OPENED = new WeakMap<State, { id: StageId; shared: Shared }>();

const OF_A_HEAD: ReadonlySet<StageId> = new Set(["qkv", "scores", "weights", "head_output"]);

export function inside(element: HTMLElement, stage: ViewContext): ViewHandle {
  const { source, state, signal, announce } = stage;
  const { model, tokens } = source.meta;
  const n = tokens.text.length;
  const layers = model.n_layers;
  const scheme = schemeOf(tokens);
  const root = h("div", { class: "aw-inside", dir: "ltr" });
  element.append(root);
  copyExactValues(root, signal);

  let arch: Architecture | null = null;
  let stages: StageBox[] = [];
  let walk: Step[] = [];
  let known: Changes | null = null;
  let { id: open, shared } = OPENED.get(state) ?? { id: FIRST, shared: "stage" as Shared };
  let shown: { content: Content; place: Place } | null = null;
  let asking: AbortController | null = null;

  /** The focus token, or, without one, the first that is no special token. */
  const focus = (): { token: number; chosen: boolean } => {
    const { token } = state.get();
    if (token !== null) return { token, chosen: true };
    return { token: Math.max(0, tokens.special.indexOf(false)), chosen: false };
  };
  const nameOf = (token: number): string =>
    tokenLabel(itemAt(tokens.text, token), scheme, tokens.surface[token]).text;
  const nameElement = (token: number): HTMLElement => h("bdi", { dir: "ltr" }, nameOf(token));
  const stageOf = (id: StageId): StageBox =>
    stages.find((stage) => stage.id === id) ?? itemAt(stages, 0);
  /** Why a stage cannot be shown of the focus token; null where it can. */
  const absent = (box: StageBox, layer = state.get().layer): Absence | null => {
    const { head } = state.get();
    return absence(source, box, {
      layer,
      head: head === "mean" ? null : head,
      token: focus().token,
    });
  };
  const isThere = ({ id, layer }: Step): boolean =>
    absent(stageOf(id), layer ?? undefined) === null;

  // The line below the map has an id of its own: two widgets on a page have a module each.
  const noteId = `aw-inside-${Math.random().toString(36).slice(2)}`;
  const note = h("p", {
    class: "aw-view-note aw-inside-note",
    id: noteId,
    "data-aw-part": "map-note",
  });
  const words = h("p", { class: "aw-inside-words", "data-aw-part": "changes" });
  const legend = h("div", { class: "aw-inside-keys" });
  const map = new InsideMap(
    { open: (id) => openStage(id), layer: setLayer, point: explainBox },
    noteId,
    signal,
  );
  const panel = new StagePanel(
    {
      step,
      share(next) {
        shared = next;
        void load();
      },
    },
    signal,
  );
  let parameters: ReturnType<typeof parameterBar> | null = null;
  const lens = targetLens(stage);
  const near = nearWords(stage, () => focus().token);

  function setLayer(layer: number): void {
    state.set({ layer: Math.min(Math.max(layer, 0), layers - 1) });
  }

  /** Which layer or head a stage is of; empty for one before or after the layers. */
  function placeOf({ id, zone }: StageBox): string {
    const { layer, head } = state.get();
    if (OF_A_HEAD.has(id)) return headName(layer, head);
    return zone === "attention" || zone === "ffn" ? `L${layer}` : "";
  }

  function openStage(id: StageId): void {
    if (stages.every((stage) => stage.id !== id)) return;
    open = id;
    drawMap();
    void load();
    announce(stageOf(id).title);
  }

  /** The next stage that can be shown, on or back. */
  function nextStep(by: number): Step | undefined {
    const at = stepOf(walk, open, state.get().layer);
    const way = by > 0 ? walk.slice(at + 1) : walk.slice(0, Math.max(at, 0)).reverse();
    return way.find(isThere);
  }

  /** One stage on or back, into the next layer where this one ends. */
  function step(by: number): void {
    const next = nextStep(by);
    if (next === undefined) return;
    open = next.id;
    const { layer } = state.get();
    // One change, one drawing: the listener of the layer draws what is open.
    if (next.layer !== null && next.layer !== layer) state.set({ layer: next.layer });
    else follow();
    announce(`${stageOf(open).title}${next.layer === null ? "" : `, layer ${next.layer}`}`);
  }

  function bars(): Bars | null {
    if (known === null) return null;
    const { token } = focus();
    const column = (values: Float32Array): number[] =>
      Array.from({ length: layers }, (_, layer) => itemAt(values, layer * n + token));
    return {
      attention: column(known.attention),
      ffn: column(known.ffn),
      change: [...known.layers],
    };
  }

  function drawMap(): void {
    if (arch === null) return;
    const { layer } = state.get();
    const boxes = stages.map((box) => ({ ...box, missing: absent(box)?.reason ?? null }));
    const headings = zoneNames(layer, layers, arch.preNorm);
    map.show({ stages: boxes, layers, layer, open, headings, bars: bars() });
    say();
    explainBox(null);
  }

  /** Which layer changes the most, in words. */
  function say(): void {
    const shown = bars();
    if (shown === null || known === null) return;
    const { token } = focus();
    const { cosines } = known.path;
    const turns = Array.from({ length: layers }, (_, l) => 1 - itemAt(cosines, l * n + token));
    words.replaceChildren(...changeWords(shown, turns, nameOf(token)));
    legend.replaceChildren(...changeLegend(shown, nameOf(token)));
  }

  /** The line below the map: a stage with its size and parameters, or a layer's bars. */
  function explainBox(at: StageBox | number | null): void {
    parameters?.mark(at !== null && typeof at !== "number" ? at.part : null);
    if (arch === null) return;
    if (typeof at === "number") note.textContent = layerWords(at, bars(), nameOf(focus().token));
    else if (at === null) note.textContent = byTouch() ? TAP : HINT;
    else note.textContent = stageWords(at, arch, model);
  }

  let answered: Promise<Changes> | null = null;
  const ask = (): Promise<Changes> => {
    answered ??= changes(source, signal).catch((error: unknown) => {
      answered = null;
      throw error;
    });
    return answered;
  };

  /** A way to the token of which a saved page has the open stage. */
  function showOf(token: number): HTMLElement {
    const button = h("button", { class: "aw-inside-link" }, "Show those of ");
    button.append(nameElement(token));
    button.addEventListener("click", () => state.set({ token }), { signal });
    return button;
  }

  function rest(): void {
    panel.element.removeAttribute("aria-busy");
    panel.element.classList.remove("is-late");
  }

  async function load(): Promise<void> {
    if (arch === null) return;
    asking?.abort();
    const mine = new AbortController();
    asking = mine;
    OPENED.set(state, { id: open, shared });
    const box = stageOf(open);
    const { layer, head, scale } = state.get();
    const { token, chosen } = focus();
    const wanted = AbortSignal.any([signal, mine.signal]);
    const place: Place = {
      stage,
      box,
      arch,
      layer,
      head: head === "mean" ? null : head,
      token,
      name: nameOf(token),
      root,
      signal: wanted,
      changes: ask,
      goTo: (index) => panel.goTo(index),
    };
    const where = placeOf(box);
    const header = (): void =>
      panel.head(
        [
          box.title,
          ...(where === "" ? [] : [" · ", where]),
          " · ",
          nameElement(token),
          h("span", { class: "aw-muted" }, ` ${token}`),
        ],
        box.about,
        chosen
          ? ""
          : "No token is chosen, so this is the first one. Choose another in the text above.",
        walk,
        stepOf(walk, box.id, layer),
        { first: nextStep(-1) === undefined, last: nextStep(1) === undefined },
      );
    if (box.missing !== null) {
      header();
      panel.absent(box.missing);
      panel.element.dataset.stage = box.id;
      rest();
      shown = null;
      return;
    }
    // Said at once, shown when it lasts.
    panel.element.setAttribute("aria-busy", "true");
    const late = setTimeout(() => panel.element.classList.add("is-late"), LATE_MS);
    try {
      const [content, scaleOfAll] = await Promise.all([
        CONTENTS[box.id](place),
        shared === "walk" ? hiddenScale(source, token, wanted).catch(savedOnly(source)) : null,
      ]);
      if (mine.signal.aborted) return;
      shown = { content, place };
      header();
      panel.fill(place, content, scaleOfAll, scale === "sqrt");
      const instead = absent(box)?.instead ?? null;
      if (instead !== null) panel.offer(showOf(instead));
    } catch (error) {
      if (isAbort(error) || mine.signal.aborted) return;
      const { message, hint } = explain(error);
      // The last good picture stays; without one the reason stands where it would be.
      if (shown === null) {
        header();
        panel.absent(`${message} ${hint}`.trim());
      } else {
        open = shown.place.box.id;
        drawMap();
      }
      stage.report(message, hint);
    } finally {
      clearTimeout(late);
      if (asking === mine) rest();
    }
  }

  function follow(): void {
    drawMap();
    void load();
  }

  async function begin(): Promise<void> {
    root.setAttribute("aria-busy", "true");
    const late = setTimeout(() => {
      root.replaceChildren(h("p", { class: "aw-view-note" }, "Loading the parts of the model …"));
    }, LATE_MS);
    try {
      arch = await architecture(source, state.get().layer, signal);
    } catch (error) {
      if (isAbort(error) || signal.aborted) return;
      root.replaceChildren(unknown(error));
      return;
    } finally {
      clearTimeout(late);
      root.removeAttribute("aria-busy");
    }
    stages = stagesOf(source.meta, arch);
    walk = walkOf(stages, layers);
    open = stageOf(open).id;
    if (!OPENED.has(state) && absent(stageOf(open)) !== null) open = walk.find(isThere)?.id ?? open;
    parameters = parameterBar(arch.parameters);
    const mapFrame = h("div", { class: "aw-inside-map-frame" }, map.element);
    root.replaceChildren(
      parameters.element,
      mapFrame,
      note,
      legend,
      words,
      ...(arch.notes.length === 0 ? [] : [h("p", { class: "aw-view-note" }, arch.notes.join(" "))]),
      panel.element,
      lens,
      near,
    );
    onResize(
      root,
      (width) => {
        map.resize(width);
        panel.resize(width);
      },
      signal,
    );
    onTheme(root, () => panel.recolor(), signal);
    follow();
    try {
      known = await ask();
      drawMap();
    } catch (error) {
      if (isAbort(error) || signal.aborted) return;
      const { message, hint } = explain(error);
      words.textContent =
        `The change from layer to layer is not available: ${message} ${hint}`.trim();
    }
  }

  function unknown(error: unknown): HTMLElement {
    const { message, hint } = explain(error);
    const again = h("button", { class: "aw-inside-link" }, "Ask again");
    again.addEventListener("click", () => void begin(), { signal });
    return h(
      "div",
      { class: "aw-empty", "data-aw-part": "empty" },
      h("p", { class: "aw-empty-title" }, "The inside of this model cannot be shown"),
      h("p", {}, `${message} ${hint}`.trim()),
      again,
    );
  }

  listenToKeys(root, { step, turn: (by) => setLayer(state.get().layer + by) }, signal);
  state.on(["layer", "head", "token", "scale"], follow, signal);
  void begin();

  return {
    dispose() {
      asking?.abort();
      root.remove();
    },
    table() {
      if (shown === null) return null;
      const { content, place } = shown;
      const table = tableOf(content, place.token, itemAt(tokens.text, place.token));
      // A saved page may have none of the open stage's numbers: a header alone is no table.
      return table.rows.length === 0 ? null : table;
    },
    part: (of) =>
      of === "svg"
        ? "A part of the view: the map of the model. The PNG also has the numbers of the open stage."
        : null,
    svg: () => (arch === null ? null : standalone(map.element)),
    options: () => ({ stage: open, over: stages.length === 0 ? "" : placeOf(stageOf(open)) }),
  };
}
