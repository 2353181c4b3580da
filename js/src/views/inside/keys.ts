/** Keys of the view: n and p walk the token on and back, brackets change the layer. */

import { consume } from "../../draw/dom";

export interface InsideKeys {
  step(by: number): void;
  /** Another layer: on or back. */
  turn(by: number): void;
}

export function listenToKeys(root: HTMLElement, { step, turn }: InsideKeys, signal: AbortSignal) {
  const does: Readonly<Record<string, () => void>> = {
    n: () => step(1),
    p: () => step(-1),
    "[": () => turn(-1),
    "]": () => turn(1),
  };
  root.addEventListener(
    "keydown",
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target instanceof Element && event.target.matches("input, select, textarea"))
        return;
      const act = does[event.key];
      if (act === undefined) return;
      act();
      consume(event);
    },
    { signal },
  );
}
