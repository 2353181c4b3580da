/** A button that asks the view Why about a target. */

import { visible } from "../../figures/format";
import type { Source, Target } from "../../protocol/types";
import type { State } from "../../state/selection";
import { h } from "../dom";

/** The request that the view Why begins with. */
export const whyRequest = (target: Target) =>
  ({ kind: "contributions", target, method: "decomposition" }) as const;

/** Null without an answer: a saved page that was not made to explain this. */
export function whyButton(
  { source, state }: { readonly source: Source; readonly state: State },
  target: Target,
  name: string,
): HTMLElement | null {
  if (!(source.has?.(whyRequest(target)) ?? source.live)) return null;
  const made = h(
    "button",
    { class: "aw-button aw-text-button", "data-aw-part": "why-button" },
    "Why ",
    h("bdi", {}, visible(name)),
    "?",
  );
  made.addEventListener("click", () => state.set({ target, view: "why" }));
  return made;
}
