/** The selection and the widget's synced traits, kept the same in both directions. */

import { QUANTITIES, SCALES, THEMES } from "../catalog/selection";
import { onAbort } from "../protocol/abort";
import { PARTS } from "../protocol/meta";
import type { Activity, PastRun, Progress } from "../protocol/types";
import type { Selection, State } from "./selection";
import { createState, DEFAULT_SELECTION, SELECTION_KEYS } from "./state";

/** The part of anywidget's model that is used here. */
export interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(event: string, listener: (...values: unknown[]) => void): void;
  off(event: string, listener: (...values: unknown[]) => void): void;
}

const isIndex = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 0;
const oneOf =
  (values: readonly string[]) =>
  (value: unknown): boolean =>
    values.includes(value as string);

/** A trait may be missing in an older saved page, or set to nonsense by hand: then the default stands. */
const ACCEPTS: { readonly [K in keyof Selection]: (value: unknown) => boolean } = {
  part: (value) => value === null || oneOf(PARTS)(value),
  layer: isIndex,
  head: (value) => value === "mean" || isIndex(value),
  token: (value) => value === null || isIndex(value),
  pair: (value) =>
    value === null || (Array.isArray(value) && value.length === 2 && value.every(isIndex)),
  metric: (value) => typeof value === "string",
  view: (value) => typeof value === "string",
  quantity: oneOf(QUANTITIES),
  group: (value) => Array.isArray(value) && value.every(isIndex),
  top_k: (value) => isIndex(value) && value > 0,
  depth: (value) => isIndex(value) && value > 0,
  special: (value) => typeof value === "boolean",
  words: (value) => typeof value === "boolean",
  target: (value) => value === null || isRecord(value),
  method: (value) => typeof value === "string",
  scale: oneOf(SCALES),
  theme: oneOf(THEMES),
  height: (value) => value === null || (typeof value === "number" && value > 0),
  chrome: (value) => typeof value === "boolean",
};

/** Keeps those values from outside that a selection may hold; the rest takes defaults. */
export function acceptSelection(values: Readonly<Record<string, unknown>>): Partial<Selection> {
  return Object.fromEntries(
    SELECTION_KEYS.filter((key) => ACCEPTS[key](values[key])).map((key) => [key, values[key]]),
  );
}

/** Call a trait's listener whenever the trait changes, until `until` is aborted. */
export function onTraits(
  model: Pick<Model, "on" | "off">,
  listeners: Readonly<Record<string, () => void>>,
  until: AbortSignal,
): void {
  for (const [trait, listener] of Object.entries(listeners)) {
    model.on(`change:${trait}`, listener);
    onAbort(until, () => model.off(`change:${trait}`, listener));
  }
}

function traitOf(model: Pick<Model, "get">, key: keyof Selection): unknown {
  const value = model.get(key);
  return value !== undefined && ACCEPTS[key](value) ? value : DEFAULT_SELECTION[key];
}

/** The selection that the traits hold. */
export const readSelection = (model: Pick<Model, "get">): Selection =>
  Object.fromEntries(
    SELECTION_KEYS.map((key) => [key, traitOf(model, key)]),
  ) as unknown as Selection;

/**
 * A state synced with the model in both directions, until `until` is aborted. While `waits` is true it follows the
 * part alone: the other traits belong to another run, whose layers and tokens the one that is drawn may not have.
 */
export function bindState(
  model: Model,
  until: AbortSignal,
  waits: () => boolean = () => false,
): State {
  const state = createState(readSelection(model));
  const follow = (key: keyof Selection) => () => {
    if (key !== "part" && waits()) return;
    state.set({ [key]: traitOf(model, key) });
    // The kernel knows of it.
    state.touched.delete(key);
  };
  onTraits(model, Object.fromEntries(SELECTION_KEYS.map((key) => [key, follow(key)])), until);
  let latest = state.get();
  const write = (selection: Selection): void => {
    const changed = SELECTION_KEYS.filter((key) => selection[key] !== latest[key]);
    latest = selection;
    const stale = changed.filter(
      (key) => JSON.stringify(model.get(key)) !== JSON.stringify(selection[key]),
    );
    for (const key of stale) model.set(key, selection[key]);
    if (stale.length > 0) model.save_changes();
  };
  state.on(SELECTION_KEYS, write, until);
  return state;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

function readProgress(value: unknown): Progress | null {
  if (!isRecord(value) || typeof value.label !== "string") return null;
  const { done, total } = value;
  const counted = Number.isFinite(done) && Number.isFinite(total) && (total as number) > 0;
  return {
    label: value.label,
    done: counted ? (done as number) : 0,
    total: counted ? (total as number) : 0,
  };
}

const isRun = (value: unknown): value is PastRun =>
  isRecord(value) &&
  typeof value.text === "string" &&
  (value.text_pair == null || typeof value.text_pair === "string");

/** Actions of the kernel for this widget, from its traits. */
export function readActivity(model: Pick<Model, "get">): Activity {
  const { message, hint } = (model.get("error") ?? {}) as Record<string, unknown>;
  const history = model.get("history");
  return {
    status: String(model.get("status") ?? "ready"),
    progress: readProgress(model.get("progress")),
    history: Array.isArray(history) ? history.filter(isRun) : [],
    error:
      typeof message === "string" && message !== ""
        ? { message, hint: typeof hint === "string" ? hint : "" }
        : null,
  };
}
