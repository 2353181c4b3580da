/**
 * A page's address holds its view, head and token, so that a link to it opens there: `#view=tree&layer=3&head=5`. What is unfolded
 * is of this reader: the entry in the browser's history has it, so that a reload finds it.
 */

import type { Meta } from "../protocol/types";
import type { Selection, State } from "./selection";
import { fit } from "./state";

const KEPT = ["view", "layer", "head", "token"] as const;
const INDEX = /^\d{1,6}$/;
const MOST_FOLDS = 32;

/** The part of a selection that an address names; what is no such value is left out. */
export function fromAddress(hash: string): Partial<Selection> {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const index = (name: string): number | undefined => {
    const text = given.get(name) ?? "";
    return INDEX.test(text) ? Number(text) : undefined;
  };
  const [layer, token] = [index("layer"), index("token")];
  const head = given.get("head") === "mean" ? "mean" : index("head");
  const view = given.get("view");
  return {
    ...(view !== null && /^\w{1,20}$/.test(view) && { view }),
    ...(layer !== undefined && { layer }),
    ...(head !== undefined && { head }),
    ...(token !== undefined && { token }),
  };
}

const toAddress = (selection: Selection): string =>
  `#${new URLSearchParams(
    KEPT.flatMap((name) => (selection[name] === null ? [] : [[name, String(selection[name])]])),
  )}`;

/** Names of open parts in an entry of the history; what is no such value is left out. */
export function foldsIn(entry: unknown): ReadonlySet<string> {
  const folds = (entry as { readonly folds?: unknown } | null | undefined)?.folds;
  if (!Array.isArray(folds)) return new Set();
  const named = folds.slice(0, MOST_FOLDS);
  return new Set(named.filter((name) => typeof name === "string" && /^\w{1,20}$/.test(name)));
}

/** Open where the address points, and keep it up to date. */
export function keepAddress(state: State, meta: Meta, page: Window = window): void {
  const named = fromAddress(page.location.hash);
  if (Object.keys(named).length > 0) {
    const wish = { ...state.get(), ...named };
    state.set({ ...fit(wish, meta), view: wish.view });
  }
  const { folds } = state;
  const found = foldsIn(page.history.state);
  folds.value = found;
  const keep = (address?: string): void => {
    try {
      page.history.replaceState({ folds: [...folds.peek()] }, "", address);
    } catch {
      // A sandboxed frame has no address of its own.
    }
  };
  folds.subscribe((open) => {
    if (open !== found) keep();
  });
  state.on(KEPT, (selection) => keep(toAddress(selection)));
}
