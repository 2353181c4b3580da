/** Which tokens the reader has masked: a switch at each of them starts another run. */

import { explain } from "../../protocol/failure";
import type { RunContext } from "../contract";

export interface Masks {
  /** As last chosen, pending runs included. */
  tokens(): ReadonlySet<number>;
  /** Mask a token, or show it again, with the other masks as they are; a new run follows. */
  toggle(position: number, button: HTMLElement): void;
}

export function createMasks({ source, act, announce, report }: RunContext): Masks {
  const { masked, tokens } = source.meta;
  let masks: ReadonlySet<number> = new Set(masked.map(({ token }) => token));
  return {
    tokens: () => masks,
    toggle(position, button) {
      if (act === null) return;
      const before = masks;
      const next = new Set(before);
      if (!next.delete(position)) next.add(position);
      masks = next;
      button.setAttribute("aria-pressed", String(next.has(position)));
      const name = masked.find(({ token }) => token === position)?.text ?? tokens.text[position];
      announce(`${name} ${next.has(position) ? "masked" : "as in the text"}: running.`);
      act({ kind: "mask", tokens: [...next].sort((a, b) => a - b) }).catch((error: unknown) => {
        masks = before;
        button.setAttribute("aria-pressed", String(before.has(position)));
        const { message, hint } = explain(error);
        report(message, hint);
      });
    },
  };
}
