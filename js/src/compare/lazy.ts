/** The comparison of a live widget, whose code comes with that of the lazy views when it is first wanted. */

import { required } from "../protocol/required";
import type { Source } from "../protocol/types";
import { type LazyCode, lazyCode } from "../views/contract";
import { askCode } from "../views/lazy-views";

type LiveComparison = ReturnType<LazyCode["liveComparison"]>;
type LiveContext = Parameters<LazyCode["liveComparison"]>[0];

export function lazyComparison(context: Omit<LiveContext, "source">) {
  let source: Source | null = null;
  let comparison: LiveComparison | null = null;

  async function use(act: (comparison: LiveComparison) => unknown): Promise<void> {
    if (source === null) return;
    try {
      await askCode(source);
      const { liveComparison } = required(lazyCode.peek(), "The code of comparisons");
      comparison ??= liveComparison({ ...context, source });
      await act(comparison);
    } catch (error) {
      context.report(error);
    }
  }

  return {
    /** Ask for the other text below `anchor`. */
    choose: (anchor: HTMLElement) => void use(({ choose }) => choose(anchor)),
    /** Show the comparison that Python has made. */
    open: () => void use(({ open }) => open()),
    /** Another run is shown. */
    renew(run: Source) {
      source = run;
      comparison?.renew(run);
    },
    dispose: () => comparison?.dispose(),
  };
}
