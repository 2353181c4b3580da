/** Heads switched off: struck out in the grid, by key or button, and all on again. */

import { h } from "../../draw/dom";
import { headName } from "../../figures/names";
import { explain } from "../../protocol/failure";
import type { ViewContext } from "../../views/contract";

type Head = readonly [layer: number, head: number];

export interface HeadsOff {
  /** Says how many are off, and switches all on again. */
  readonly element: HTMLElement;
  readonly isOff: (layer: number, head: number) => boolean;
  /** Switch a head off, or on again; another run follows. */
  toggle(layer: number, head: number): void;
  /** All heads on again. */
  clear(): void;
}

const same = ([a, b]: Head, [c, d]: Head): boolean => a === c && b === d;

export function createHeadsOff(
  { source, act, announce, report, signal }: ViewContext,
  changed: () => void,
): HeadsOff {
  const { heads_off: present = [] } = source.meta;
  /** As last chosen, a pending run included. */
  let wanted: readonly Head[] = present;
  const count = h("span", {});
  const all = h("button", { class: "aw-grid-most", "data-aw-part": "heads-on" }, "all on");
  const element = h("p", { class: "aw-grid-off", "data-aw-part": "heads-off" }, count, " ", all);
  all.hidden = act === null;
  all.addEventListener("click", () => ask([]), { signal });

  function label(): void {
    element.hidden = wanted.length === 0;
    const names = wanted.map(([layer, head]) => headName(layer, head));
    const listed = names.length <= 2 ? names.join(", ") : `${names.length} heads`;
    count.textContent = `${listed} switched off`;
    count.title = names.join(", ");
  }

  function show(): void {
    label();
    changed();
  }

  function ask(next: readonly Head[]): void {
    if (act === null) {
      announce("Switching heads off is a new run and needs a running kernel.");
      return;
    }
    const before = wanted;
    wanted = next;
    show();
    act({ kind: "switch_off", heads: next }).catch((error: unknown) => {
      wanted = before;
      show();
      const { message, hint } = explain(error);
      report(message, hint);
    });
  }

  const isOff = (layer: number, head: number): boolean =>
    wanted.some((one) => same(one, [layer, head]));
  label();
  return {
    element,
    isOff,
    toggle(layer, head) {
      const off = isOff(layer, head);
      announce(`${headName(layer, head)} ${off ? "on again" : "switched off"}.`);
      ask(off ? wanted.filter((one) => !same(one, [layer, head])) : [...wanted, [layer, head]]);
    },
    clear: () => ask([]),
  };
}
