/** Two runs and their difference: another text in a live widget, and pages of two runs. */

import { required } from "../../protocol/required";
import type { Source } from "../../protocol/types";
import { type LazyCode, lazyCode } from "../../views/contract";
import type { Feature, WidgetContext, WidgetPart } from "../../views/feature";
import { askCode } from "../../views/lazy-views";

type LiveComparison = ReturnType<LazyCode["liveComparison"]>;

/** The comparison of a live widget, whose code comes with that of the lazy views when it is first wanted. */
function lazyComparison(context: WidgetContext): WidgetPart {
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
    button: {
      label: "compare",
      title: "Compare with another text",
      part: "compare-button",
      press: (anchor) => void use(({ choose }) => choose(anchor)),
    },
    traits: {
      // Python has made a comparison.
      _compared: (is) => is && void use(({ open }) => open()),
    },
    renew(run) {
      source = run;
      comparison?.renew(run);
    },
    dispose: () => comparison?.dispose(),
  };
}

export const comparison: Feature = { uses: ["exports"], widget: lazyComparison };
