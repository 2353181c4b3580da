/**
 * The views whose code comes after the first picture. In a notebook the kernel sends it, once a page; in a saved page
 * it is there from the beginning.
 */

import type { Invoke } from "../protocol/comm/invoke";
import { SliceFailure } from "../protocol/failure";
import type { PastRun, Slice, SliceRequest, Source } from "../protocol/types";
import type { State } from "../state/selection";
import { type DrawView, giveParts, type LaterParts, type StartPrinting } from "./contract";
import { type LazyView, VIEWS } from "./index";

/** A live widget, for a second run in it. */
export interface LiveContext {
  /** Element that holds the widget, and the frame of its run. */
  readonly host: HTMLElement;
  readonly frame: HTMLElement;
  readonly source: Source;
  readonly state: State;
  readonly invoke: Invoke;
  readonly report: (message: string, hint?: string) => void;
  readonly history: () => readonly PastRun[];
}

/** The comparison of a live widget. */
export interface LiveComparison {
  /** Ask for the other text below `anchor`. */
  choose(anchor: HTMLElement): void;
  /** Show the comparison that Python has made. */
  open(): Promise<void>;
  /** Another run has taken A's place. */
  renew(source: Source): void;
  dispose(): void;
}

export type LazyCode = Readonly<Record<LazyView, DrawView>> &
  LaterParts & {
    readonly printing: StartPrinting;
    readonly liveComparison: (context: LiveContext) => LiveComparison;
  };
/** The loader's way from the code that a kernel sent to the views in it; rejects code of another build. */
export type Link = (code: Uint8Array) => Promise<LazyCode>;

/** Request to the kernel. */
export const CODE: SliceRequest = { kind: "code" };

let code: LazyCode | null = null;
let link: Link | null = null;
let linking: Promise<LazyCode> | null = null;
const waiting = new Set<() => void>();

/** The views have arrived: tell all listeners that wait for them. */
export function provide(found: LazyCode): void {
  code = found;
  giveParts(found);
  const asked = [...waiting];
  waiting.clear();
  for (const listener of asked) listener();
}

export function linkWith(given: Link): void {
  link = given;
}

/** The function that draws a view of a short or a long text; null while its code is not here. */
export const drawOf = (name: string, long = false): DrawView | null =>
  long && VIEWS[name]?.long === true
    ? (code?.long.views[name] ?? null)
    : (VIEWS[name]?.draw ?? code?.[name as LazyView] ?? null);
export const lazyComparison = (): LazyCode["liveComparison"] | null => code?.liveComparison ?? null;
export const lazyPrinting = (): StartPrinting | null => code?.printing ?? null;

/** Call `listener` when the views are here; until then the way back. */
export function whenProvided(listener: () => void): () => void {
  waiting.add(listener);
  return () => waiting.delete(listener);
}

/** Ask for the code where it is not here. Rejects with a `SliceFailure`. */
export async function askCode(source: Source, signal?: AbortSignal): Promise<void> {
  if (code === null) await acceptCode(await source.slice(CODE, signal && { signal }));
}

/** Take what the kernel answered to `CODE`. Rejects with a `SliceFailure`. */
export async function acceptCode({ arrays }: Slice): Promise<void> {
  const bytes = arrays.get("code")?.data;
  if (link === null || !(bytes instanceof Uint8Array)) throw new SliceFailure("No code arrived.");
  linking ??= link(bytes);
  try {
    const linked = await linking;
    if (code === null) provide(linked);
  } catch (error) {
    linking = null;
    throw new SliceFailure(
      `The page and the kernel have different versions of attn_widget (${String(error)}).`,
      "Run the cell again.",
    );
  }
}
