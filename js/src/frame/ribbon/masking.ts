/** Masked tokens: what a click in a ribbon hides and shows again, and the buttons for it. */

import { h } from "../../draw/dom";
import { explain } from "../../protocol/failure";
import type { ViewContext } from "../../views/contract";
import { cornerToggle, type RibbonMemory } from "./tools";

export interface Masking {
  /** Mask tokens, or show them again if one of them is masked. */
  flip(tokens: readonly number[], special: boolean, name: string): void;
  /** The buttons of the corner; none where the run cannot be repeated. */
  readonly tools: readonly HTMLElement[];
}

export function createMasking(
  ribbon: HTMLElement,
  stage: ViewContext,
  memory: RibbonMemory,
): Masking {
  const { act, signal } = stage;
  const masked = stage.source.meta.masked.map(({ token }) => token);

  function set(next: readonly number[]): void {
    memory.wanted = next;
    act?.({ kind: "mask", tokens: next }).catch((error: unknown) => {
      memory.wanted = null;
      const { message, hint } = explain(error);
      stage.report(message, hint);
    });
  }

  function buttons(): HTMLElement[] {
    const toggle = cornerToggle(
      "mask",
      "mask",
      "A click on a token masks it and reruns the text (key x)",
      memory.masking,
      (on) => {
        memory.masking = on;
        ribbon.classList.toggle("aw-masking", on);
      },
    );
    ribbon.classList.toggle("aw-masking", memory.masking);
    if (masked.length === 0) return [toggle];
    const all = h("button", { class: "aw-corner", "data-aw-part": "unmask" }, "unmask all");
    all.addEventListener("click", () => set([]), { signal });
    return [toggle, all];
  }

  return {
    flip(tokens, special, name) {
      if (act === null) return;
      const now = memory.wanted ?? masked;
      const on = !tokens.some((token) => now.includes(token));
      if (on && special) {
        stage.announce("Special tokens are not masked.");
        return;
      }
      const others = now.filter((token) => !tokens.includes(token));
      set(on ? [...others, ...tokens].sort((a, b) => a - b) : others);
      stage.announce(`${name} ${on ? "masked" : "as in the text"}, running.`);
    },
    tools: act === null ? [] : buttons(),
  };
}
