/** Actions of the keys and the bar on the whole widget. */

import { explain } from "../protocol/failure";
import { itemAt } from "../protocol/required";
import type { ViewContext } from "../views/contract";
import { askCode } from "../views/lazy-views";
import type { FrameModel } from "./outline";
import { viewsOf } from "./tabs";

export function createActions(
  root: HTMLElement,
  { state, run, keysOpen }: FrameModel,
  { report, announce }: Pick<ViewContext, "report" | "announce">,
) {
  return {
    toggleKeys: () => {
      keysOpen.value = !keysOpen.peek();
      const { source } = run.peek() ?? {};
      if (!keysOpen.peek() || source === undefined) return;
      const list = root.querySelector(':scope [data-aw-part="keys"]');
      askCode(source).then(() => list?.scrollIntoView({ block: "nearest" }), report);
    },
    closeKeys: () => {
      const open = keysOpen.peek();
      keysOpen.value = false;
      return open;
    },
    toggleFullScreen: () => {
      const change = document.fullscreenElement
        ? document.exitFullscreen()
        : root.requestFullscreen();
      change.catch((reason: unknown) =>
        report({ message: "Full screen is not allowed here.", hint: explain(reason).message }),
      );
    },
    openView: (index: number) => {
      const shown = run.peek();
      const view = shown === null ? undefined : viewsOf(shown.source.meta)[index];
      if (view !== undefined) state.set({ view });
    },
    nextPart: () => {
      const { parts, part } = run.peek()?.source.meta ?? {};
      if (!parts || !part || parts.length < 2) return false;
      const next = itemAt(parts, (parts.indexOf(part) + 1) % parts.length);
      state.set({ part: next });
      announce(`Part: ${next}`);
      return true;
    },
  };
}

export type Actions = ReturnType<typeof createActions>;
