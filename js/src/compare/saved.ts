/** Entry of the page of two runs: both lie in the page, and nothing is asked of anybody. */

import { h } from "../draw/dom";
import { createFrame } from "../frame/frame";
import { type Chunks, SnapshotSource } from "../protocol/snapshot";
import { acceptSelection } from "../state/binding";
import { withSaved } from "../state/saved";
import { createState, fit } from "../state/state";
import { openCompared } from "./data";
import { mount, type Run } from "./mount";

/** One run: its frame is drawn by the same code as a run that stands alone. */
async function openRun(chunks: Chunks): Promise<Run> {
  const source = await SnapshotSource.open(chunks);
  const plain = createState(acceptSelection(source.meta.snapshot.selection));
  plain.set(fit(plain.get(), source.meta));
  const state = withSaved(plain, source.meta.snapshot);
  const place = h("section", { class: "aw-page-run", hidden: true });
  let drawn = false;
  return {
    source,
    state,
    place,
    draw() {
      if (drawn) return;
      drawn = true;
      const frame = createFrame(state);
      place.append(frame.element);
      frame.show(source, null);
    },
  };
}

export async function openComparison(
  main: HTMLElement,
  chunks: readonly [a: Chunks, b: Chunks],
): Promise<void> {
  const compared = await openCompared(chunks[0]);
  const [a, b] = [await openRun(chunks[0]), await openRun(chunks[1])];
  const mounted = mount(document.documentElement, {
    compared,
    a,
    b,
    patching: null,
    memory: { patching: false, target: 0, of: "heads" },
    shown: "difference",
    tools: [],
  });
  const [bar, panel] = mounted.elements;
  main.replaceChildren(bar, a.place, b.place, panel);
  mounted.start();
}
