/** One line under a view that stands alone: which model, which head, which text. */

import { h } from "../draw/dom";
import { placeName } from "../figures/names";
import { measureOf } from "../figures/quantities";
import { viewNamed } from "../views";
import type { ViewContext } from "../views/contract";
import { viewOf } from "./tabs";

export function caption(element: HTMLElement, stage: ViewContext): () => void {
  const { source, state, signal } = stage;
  const { model, text, text_pair, profile } = source.meta;
  const what = h("span", { class: "aw-caption-what" });
  const written = [text, text_pair].filter((part) => part !== null && part !== "").join(" / ");
  const of =
    profile === null
      ? h("bdi", { class: "aw-caption-text", title: written }, written)
      : h("span", { class: "aw-caption-text" }, `${profile.n_texts} texts`);
  element.append(h("strong", {}, model.name), what, profile === null && written === "" ? "" : of);

  function name(): void {
    const { layer, head, quantity, view } = state.get();
    const shown = viewNamed(viewOf(source.meta, view));
    const where = placeName({ layer, head, quantity: measureOf(quantity) });
    what.textContent = shown.head === "shown" ? where : shown.label;
  }
  name();
  state.on(["layer", "head", "quantity", "view"], name, signal);
  return () => element.replaceChildren();
}
