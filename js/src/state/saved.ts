/** The selection of a saved page: on heads that the page contains, and for each part of its run. */

import { SavedSource } from "../protocol/saved/source";
import type { Meta, Part } from "../protocol/types";
import { acceptSelection } from "./binding";
import type { Selection, State } from "./selection";
import { createState, fit } from "./state";

/** The saved one that comes next in the direction of the wish; the nearest, beyond the ends. */
export function nearest(saved: readonly number[], wish: number, from: number): number {
  if (saved.includes(wish)) return wish;
  const after = saved.filter((index) => index > wish);
  const before = saved.filter((index) => index < wish);
  const ahead = wish > from ? after[0] : before.at(-1);
  return ahead ?? (wish > from ? before.at(-1) : after[0]) ?? from;
}

function withSaved(state: State, snapshotOf: () => NonNullable<Meta["snapshot"]>): State {
  const withinSaved = (change: Partial<Selection>): Partial<Selection> => {
    const { layer, head } = state.get();
    const { layers, heads } = snapshotOf();
    const moved: { layer?: number; head?: Selection["head"] } = {};
    if (change.layer !== undefined) moved.layer = nearest(layers, change.layer, layer);
    if (typeof change.head === "number") {
      moved.head = nearest(heads, change.head, typeof head === "number" ? head : -1);
    }
    return { ...change, ...moved };
  };
  return { ...state, set: (change) => state.set(withinSaved(change)) };
}

interface SavedRunState {
  readonly source: SavedSource;
  readonly state: State;
  /** The same selection without its limits. */
  readonly free: State;
  /** Call `show` with each part that is chosen and the selection in it; `fail` where the page lacks it. */
  followParts(
    show: (part: SavedSource, select: Partial<Selection>) => void,
    fail: (error: unknown) => void,
  ): void;
}

/** A run of a page, and its selection. Rejects where there is none. */
export async function openSaved(
  chunks: Parameters<typeof SavedSource.open>[0],
  view?: string,
): Promise<SavedRunState> {
  const source = await SavedSource.open(chunks);
  const free = createState(acceptSelection(source.meta.snapshot.selection));
  free.set({ ...fit(free.get(), source.meta), ...(view === undefined ? {} : { view }) });
  let shown = source;
  return {
    source,
    state: withSaved(free, () => shown.meta.snapshot),
    free,
    followParts(show, fail) {
      const remember = rememberParts();
      free.on(["part"], async ({ part }) => {
        if (part === null || part === shown.meta.part) return;
        try {
          const next = await source.part(part);
          if (free.get().part !== part) return;
          const change = remember(free.get(), shown.meta.part, next.meta);
          shown = next;
          show(next, change);
        } catch (error) {
          if (free.get().part === part) free.set({ part: shown.meta.part ?? null });
          fail(error);
        }
      });
    },
  };
}

/** Places in one text; decoder and cross-attention have the same focus token, that of the text that is written. */
const PLACES = ["layer", "head", "token", "pair", "group"] as const;
type Places = Pick<Selection, (typeof PLACES)[number]>;

/** Keeps the places of a part that is left, and gives those of the one that is entered. */
export function rememberParts(): (
  selection: Selection,
  left: Part | null | undefined,
  entered: Meta,
) => Partial<Selection> {
  const kept = new Map<Part, Places>();
  return (selection, left, entered) => {
    const { layer, head, token, pair, group } = selection;
    if (left) kept.set(left, { layer, head, token, pair, group });
    const { part, snapshot } = entered;
    const opens = { pair: null, group: [], token: null, ...accepted(snapshot) };
    const stored = (part && kept.get(part)) || opens;
    const written = left !== "encoder" && part !== "encoder";
    const wanted = { ...selection, ...stored, ...(written ? { token } : {}) };
    return { ...fit(wanted, entered), part: part ?? null };
  };
}

/** The places that a part was saved with. */
function accepted(snapshot: Meta["snapshot"]): Partial<Places> {
  const saved = acceptSelection(
    (snapshot as { readonly selection?: Record<string, unknown> } | undefined)?.selection ?? {},
  );
  return Object.fromEntries(
    PLACES.flatMap((key) => (saved[key] === undefined ? [] : [[key, saved[key]]])),
  );
}
