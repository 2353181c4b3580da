import type { Stage } from "../matrix";
import type { Drawn } from "../types";

export function tree(element: HTMLElement, _stage: Stage): Drawn {
  return { dispose: () => element.replaceChildren(), table: () => null };
}
