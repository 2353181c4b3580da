/**
 * The views whose code comes after the first picture. In a notebook the kernel sends it, once a page; in a saved page
 * it is there from the beginning.
 */

import type { printing } from "../export/print";
import type { Stage } from "../figures/matrix";
import { SliceFailure } from "../protocol/failure";
import type { Drawn, Slice, SliceRequest } from "../protocol/types";

export type Draw = (element: HTMLElement, stage: Stage) => Drawn;
type ViewName = "inside" | "sentences" | "task" | "tree";
export type LaterViews = Readonly<Record<ViewName, Draw>> & { readonly printing: typeof printing };
/** The loader's way from the code that a kernel sent to the views in it; rejects code of another build. */
export type Link = (code: Uint8Array) => Promise<LaterViews>;

/** What the kernel is asked for. */
export const CODE: SliceRequest = { kind: "code" };

let views: LaterViews | null = null;
let link: Link | null = null;
let linking: Promise<LaterViews> | null = null;
const waiting = new Set<() => void>();

/** The views are here: draw them where somebody waits. */
export function provide(found: LaterViews): void {
  views = found;
  const asked = [...waiting];
  waiting.clear();
  for (const listener of asked) listener();
}

export function linkWith(given: Link): void {
  link = given;
}

export const laterView = (name: ViewName): Draw | null => views?.[name] ?? null;
export const laterPrinting = (): typeof printing | null => views?.printing ?? null;

/** Call `listener` when the views are here; until then the way back. */
export function whenProvided(listener: () => void): () => void {
  waiting.add(listener);
  return () => waiting.delete(listener);
}

/** Take what the kernel answered to `CODE`. Rejects with a `SliceFailure`. */
export async function acceptCode({ arrays }: Slice): Promise<void> {
  const code = arrays.get("code")?.data;
  if (link === null || !(code instanceof Uint8Array)) throw new SliceFailure("No code came.");
  linking ??= link(code);
  try {
    const found = await linking;
    if (views === null) provide(found);
  } catch (error) {
    linking = null;
    throw new SliceFailure(
      `The page and the kernel have different versions of attn_widget (${String(error)}).`,
      "Run the cell again.",
    );
  }
}
