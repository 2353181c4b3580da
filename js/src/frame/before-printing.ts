/** Draws what is out of sight before the page is printed: a browser prints in one task, without a frame in between. */

import { measureNow } from "../draw/resize";
import { showUnseen } from "../draw/wait";

export function drawBeforePrinting(root: HTMLElement, until: AbortSignal): void {
  const draw = (): void => {
    measureNow(root);
    showUnseen(root);
  };
  window.addEventListener("beforeprint", draw, { signal: until });
  window.matchMedia?.("print").addEventListener("change", draw, { signal: until });
}
