/** Heads switched off: struck out in the grid, by key or button, and all on again; and a head by its numbers. */

import { signal } from "@preact/signals-core";
import { headName } from "../../figures/names";
import { type HeadOff, PARTS, placeOff } from "../../protocol/meta";
import { itemAt } from "../../protocol/required";
import { Button } from "../../ui/controls";
import type { ViewContext } from "../../views/contract";

const same = (a: HeadOff, b: HeadOff): boolean => String(a) === String(b);
/** In the order in which a run lists them, so that the label stays when the run has come. */
const inOrder = (heads: readonly HeadOff[]): readonly HeadOff[] => {
  const key = (off: HeadOff): readonly number[] => {
    const [part, layer, head] = placeOff(off);
    return [part === null ? 0 : PARTS.indexOf(part), layer, head];
  };
  return [...heads].sort((a, b) => {
    const [from, to] = [key(a), key(b)];
    const at = from.findIndex((number, i) => number !== to[i]);
    return at < 0 ? 0 : itemAt(from, at) - itemAt(to, at);
  });
};

export function createHeadsOff({ source, act, announce, report }: ViewContext) {
  const { part, parts } = source.meta;
  /** A head of the part that is shown, as a run names it. */
  const named = (layer: number, head: number): HeadOff =>
    part && parts ? [part, layer, head] : [layer, head];
  /** As last chosen, a pending run included. */
  const wanted = signal<readonly HeadOff[]>(source.meta.heads_off ?? []);

  /** Another run follows. */
  function ask(next: readonly HeadOff[]): void {
    if (act === null) {
      announce("Switching heads off is a new run and needs a running kernel.");
      return;
    }
    const before = wanted.peek();
    wanted.value = next;
    act({ kind: "switch_off", heads: next }).catch((error: unknown) => {
      wanted.value = before;
      report(error);
    });
  }

  const isOff = (layer: number, head: number): boolean =>
    wanted.value.some((each) => same(each, named(layer, head)));
  return {
    isOff,
    toggle(layer: number, head: number): void {
      const now = wanted.peek();
      const off = isOff(layer, head);
      announce(`${headName(layer, head)} ${off ? "on again" : "switched off"}.`);
      ask(
        off
          ? now.filter((each) => !same(each, named(layer, head)))
          : inOrder([...now, named(layer, head)]),
      );
    },
    clear: () => ask([]),
    /** Names of the heads that are off, and a button to switch them on. */
    View() {
      const names = wanted.value.map((off) => {
        const [of, layer, head] = placeOff(off);
        return of === null || of === part
          ? headName(layer, head)
          : `${of} ${headName(layer, head)}`;
      });
      const listed = names.length <= 2 ? names.join(", ") : `${names.length} heads`;
      return (
        <p class="aw-grid-off" data-aw-part="heads-off" hidden={names.length === 0}>
          <span title={names.join(", ")}>{listed} switched off</span>{" "}
          <Button
            class="aw-grid-most"
            part="heads-on"
            hidden={act === null}
            onClick={() => ask([])}
          >
            all on
          </Button>
        </p>
      );
    },
  };
}

const PAUSE_MS = 900;

/** Takes keys; calls `found` after `3.5`. Whether a key was part of a number. */
export function createTyping(
  found: (layer: number, head: number) => void,
): (key: string) => boolean {
  let typed = "";
  let typing: ReturnType<typeof setTimeout> | undefined;
  return (key) => {
    if (!/^[\d.]$/.test(key)) return false;
    clearTimeout(typing);
    typed += key;
    typing = setTimeout(() => {
      typed = "";
    }, PAUSE_MS);
    const match = /^(\d+)\.(\d+)$/.exec(typed);
    if (match !== null) found(Number(match[1]), Number(match[2]));
    return true;
  };
}
