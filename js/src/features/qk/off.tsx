/** Heads that bring most to a score, switched off together: each press is a run of its own, without all that are pressed. */

import { signal } from "@preact/signals-core";
import { headName } from "../../figures/names";
import { headsOff } from "../../protocol/meta";
import { itemAt } from "../../protocol/required";
import { Button } from "../../ui/controls";
import type { PinnedCell, ViewContext } from "../../views/contract";
import { type Found, SIDES } from "./data";
import type { Head, Panel } from "./panel";

/** Heads that are offered besides those that are off. */
const OFFERED = 6;
const same = (a: Head, b: Head): boolean => a[0] === b[0] && a[1] === b[1];

/** Heads of both sides without which the contrast would be smaller, if all else held: the largest number first. */
export function largestHeads({ parts, sums, contrast }: Found): readonly Head[] {
  const sign = contrast < 0 ? -1 : 1;
  const brought = SIDES.flatMap((side) =>
    parts[side].flatMap(({ kind, layer, head }, at) =>
      kind === "head" && layer !== null && head !== null
        ? [{ of: [layer, head] as const, size: sign * itemAt(sums[side], at) }]
        : [],
    ),
  ).sort((a, b) => b.size - a.size);
  const heads: Head[] = [];
  for (const { of, size } of brought)
    if (size > 0 && heads.length < OFFERED && !heads.some((each) => same(each, of))) heads.push(of);
  return heads;
}

/**
 * Heads in the order of their buttons: one that has a place for this cell keeps it, whatever is switched off, so that the
 * button under the pointer stays what it is.
 */
function buttonsOf(panel: Panel, cell: string, off: readonly Head[], largest: readonly Head[]) {
  if (largest.length === 0) return off;
  const heads = panel.offered.cell === cell ? [...panel.offered.heads] : [];
  const has = (head: Head): boolean => heads.some((each) => same(each, head));
  const on = () => heads.filter((head) => !off.some((each) => same(each, head))).length;
  for (const head of off) if (!has(head)) heads.push(head);
  for (const head of largest) if (on() < OFFERED && !has(head)) heads.push(head);
  panel.offered = { cell, heads };
  return heads;
}

export function createOff({ source, act, announce, report }: ViewContext, panel: Panel) {
  const { parts, heads_off } = source.meta;
  /** As last chosen, a pending run included. */
  const wanted = signal<readonly Head[]>(headsOff(heads_off));
  function toggle(head: Head): void {
    const before = wanted.peek();
    const off = before.some((each) => same(each, head));
    const others = before.filter((each) => !same(each, head));
    const next = off ? others : [...others, head].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    wanted.value = next;
    announce(`${headName(...head)} ${off ? "on again" : "switched off"}.`);
    act?.({ kind: "switch_off", heads: next }).catch((error: unknown) => {
      wanted.value = before;
      report(error);
    });
  }
  return function Off({ found, cell }: { readonly found: Found; readonly cell: PinnedCell }) {
    // The heads of a model of two stacks have a stack in front of their numbers.
    if (act === null || parts) return null;
    const off = wanted.value;
    const heads = buttonsOf(panel, JSON.stringify(cell), off, largestHeads(found));
    if (heads.length === 0) return null;
    return (
      <div
        class="aw-qk-off aw-small"
        role="group"
        aria-label="Switch heads off"
        data-aw-part="qk-off"
      >
        <span class="aw-muted">switch off everywhere</span>
        {heads.map((head) => (
          <Button
            key={head.join(" ")}
            class="aw-item"
            data-layer={head[0]}
            data-head={head[1]}
            aria-pressed={off.some((each) => same(each, head))}
            title="Run the model without this head at every token"
            onClick={() => toggle(head)}
          >
            {headName(...head)}
          </Button>
        ))}
      </div>
    );
  };
}
