/** State of the view Inside as signals: the stages of the model, the open one, and what each layer changes. */

import { computed, signal } from "@preact/signals-core";
import { headName, schemeOf, tokenName } from "../../figures/names";
import { asking } from "../../protocol/asking";
import { itemAt } from "../../protocol/required";
import type { State } from "../../state/selection";
import { modeSignal, selectionOf } from "../../ui/mount";
import type { ViewContext } from "../../views/contract";
import {
  type Architecture,
  type StageBox,
  type StageId,
  type Step,
  stagesOf,
  walkOf,
} from "./architecture";
import { type Changes, changes } from "./data";
import type { Bars, MapData } from "./map/map";
import { zoneNames } from "./map/words";
import type { Shared } from "./panel/panel";
import { type Absence, absence } from "./saved";

const FIRST: StageId = "token";

/** The open stage, restored after another view or another text. */
export const OPENED = new WeakMap<State, { id: StageId; shared: Shared }>();

const OF_A_HEAD: ReadonlySet<StageId> = new Set(["qkv", "scores", "weights", "head_output"]);

export function createInsideModel(host: HTMLElement, context: ViewContext) {
  const { source, state, signal: until } = context;
  const { model, tokens } = source.meta;
  const layers = model.n_layers;
  const scheme = schemeOf(tokens);
  const selection = selectionOf(state, ["layer", "head", "token", "scale"], until);
  const mode = modeSignal(host, until);
  const parts = asking<Architecture>(until);
  const stages = computed(() =>
    parts.answer.value ? stagesOf(source.meta, parts.answer.value) : [],
  );
  const walk = computed(() => walkOf(stages.value, layers));
  const open = signal<StageId>(OPENED.get(state)?.id ?? FIRST);
  const pointed = signal<StageBox | number | null>(null);
  const changesOf = asking<Changes>(until);
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

  let answered: Promise<Changes> | null = null;
  const askChanges = (): Promise<Changes> => {
    answered ??= changes(source, until).catch((error: unknown) => {
      answered = null;
      throw error;
    });
    return answered;
  };

  function setLayer(layer: number): void {
    state.set({ layer: Math.min(Math.max(layer, 0), layers - 1) });
  }

  /** The layer or the head of a stage; empty for one before or after the layers. */
  function placeOf({ id, zone }: StageBox): string {
    const { layer, head } = state.get();
    if (OF_A_HEAD.has(id)) return headName(layer, head);
    return zone === "attention" || zone === "ffn" ? `L${layer}` : "";
  }

  return {
    ...{
      layers,
      selection,
      mode,
      parts,
      stages,
      walk,
      open,
      pointed,
      changesOf,
      askChanges,
      focus,
    },
    ...{ nameOf, stageOf, absent, isThere, bars, turns, mapData, setLayer, placeOf },
  };
}

export type InsideModel = ReturnType<typeof createInsideModel>;
