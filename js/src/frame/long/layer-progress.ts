/** Progress of the layers of a long text below the head grid, and a button to stop and to go on. */

import { h } from "../../draw/dom";
import { inFrames } from "../../draw/long/frames";
import { isComputed } from "../../figures/layer-progress";
import { onAbort } from "../../protocol/abort";
import { onChange } from "../../ui/mount";
import type { ViewContext } from "../../views/contract";

/** A line below the grid of heads; what `draw` does for a layer that has come is done in frames. */
export function layerProgressLine(
  { source, layerProgress, signal }: Pick<ViewContext, "source" | "layerProgress" | "signal">,
  grid: Element,
  draw: (layer: number) => void,
): void {
  if (!layerProgress) return;
  const { n_layers: layers, n_heads: heads } = source.meta.model;
  const words = h("span", { role: "status" });
  const toggle = h("button", { class: "aw-plain", "data-aw-part": "layer-progress" });
  const element = h("p", { class: "aw-grid-progress" }, words, toggle);
  grid.after(element);
  toggle.addEventListener("click", () => layerProgress.toggle());
  const frames = inFrames();
  const isHere = (layer: number): boolean => {
    for (let head = 0; head < heads; head++) {
      if (!isComputed(source, layer * heads + head)) return false;
    }
    return true;
  };
  const drawn = Array.from({ length: layers }, (_, layer) => isHere(layer));
  const show = (): void => {
    const { done, total, status, failure } = layerProgress.state.peek();
    element.hidden = status === "done";
    const stopped = status !== "running";
    words.textContent = `${stopped ? (failure?.message ?? "Stopped:") : "Computing heads:"} ${done} of ${total} layers`;
    toggle.textContent = stopped ? "Go on" : "Stop";
  };
  show();
  const follow = (): void => {
    show();
    drawn.forEach((was, layer) => {
      if (was || !isHere(layer)) return;
      drawn[layer] = true;
      frames.add(layer, () => draw(layer));
    });
  };
  onChange(layerProgress.state, follow, signal);
  onAbort(signal, () => {
    frames.stop();
    element.remove();
  });
}
