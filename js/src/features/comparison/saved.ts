/** Entry of the page of two runs: both lie in the page, and nothing is asked of anybody. */

import { h } from "../../draw/dom";
import { createFrame, type Frame } from "../../frame/frame";
import type { Chunks } from "../../protocol/saved/run";
import { openSaved } from "../../state/saved";
import type { OpenPair } from "../../views/contract";
import { openCompared } from "./data";
import { mount, type Run } from "./mount";

/** One run: its frame is drawn by the same code as a run that stands alone. */
async function openRun(
  chunks: Chunks,
  view: string | undefined,
): Promise<Run & { dispose(): void }> {
  const { source, state } = await openSaved(chunks, view);
  const place = h("section", { class: "aw-page-run", hidden: true });
  let frame: Frame | null = null;
  return {
    source,
    state,
    place,
    draw() {
      if (frame !== null) return;
      frame = createFrame(state);
      place.append(frame.element);
      frame.show(source, null);
    },
    dispose: () => frame?.dispose(),
  };
}

/** They get the keys of the whole page, which shows one comparison at a time. */
export const openComparison: OpenPair = async (
  place,
  chunks,
  { wanted = () => true, view } = {},
) => {
  const compared = await openCompared(chunks[0]);
  const [a, b] = [await openRun(chunks[0], view), await openRun(chunks[1], view)];
  if (!wanted()) return null;
  const mounted = mount(document.documentElement, {
    compared,
    a,
    b,
    patching: null,
    memory: { patching: false, target: 0, of: "heads" },
    shown: "difference",
  });
  const [bar, panel] = mounted.elements;
  place.replaceChildren(bar, a.place, b.place, panel);
  mounted.start();
  return () => {
    mounted.dispose();
    a.dispose();
    b.dispose();
    place.replaceChildren();
  };
};
