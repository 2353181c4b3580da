import type { Stage } from "../matrix";
import type { Drawn } from "../types";

export function sentences(element: HTMLElement, _stage: Stage): Drawn {
  return { dispose: () => element.replaceChildren(), table: () => null };
}
