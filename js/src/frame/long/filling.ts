/** How many layers of a long text are drawn in the grid, and the way to stop the rest or go on. */

import { h } from "../../draw/dom";
import { inFrames } from "../../draw/long/frames";
import { isFilled } from "../../figures/filling";
import type { ViewContext } from "../../views/contract";

/**
 * A line below the grid of heads; what `draw` does for a layer that has come is done in frames. Returns the way to end
 * that.
 */
export function fillingLine(
  { source, filling }: Pick<ViewContext, "source" | "filling">,
  grid: Element,
  draw: (layer: number) => void,
): () => void {
  if (!filling) return () => undefined;
  const { n_layers: layers, n_heads: heads } = source.meta.model;
  const words = h("span", { role: "status" });
  const toggle = h("button", { class: "aw-plain", "data-aw-part": "filling" });
  const element = h("p", { class: "aw-grid-filling" }, words, toggle);
  grid.after(element);
  toggle.addEventListener("click", () => filling.toggle());
  const frames = inFrames();
  const isHere = (layer: number): boolean => {
    for (let head = 0; head < heads; head++) {
      if (!isFilled(source, layer * heads + head)) return false;
    }
    return true;
  };
  const drawn = Array.from({ length: layers }, (_, layer) => isHere(layer));
  const show = (): void => {
    const { done, total, state, message } = filling;
    element.hidden = state === "done";
    const stopped = state === "stopped";
    words.textContent = `${stopped ? message || "Stopped:" : "Computing heads:"} ${done} of ${total} layers`;
    toggle.textContent = stopped ? "Go on" : "Stop";
  };
  show();
  const stop = filling.on(() => {
    show();
    drawn.forEach((was, layer) => {
      if (was || !isHere(layer)) return;
      drawn[layer] = true;
      frames.add(layer, () => draw(layer));
    });
  });
  return () => {
    stop();
    frames.stop();
    element.remove();
  };
}
