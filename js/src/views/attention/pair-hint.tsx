/** Placeholder while no pair is pinned. */

import { byTouch } from "../../draw/touch";
import type { ViewContext } from "../contract";

/** Names of what stands below a pinned pair: "its arithmetic and “Why here?”". */
export const opensBelow = ({ pairs = [] }: Pick<ViewContext, "pairs">): string =>
  ["its arithmetic", ...pairs.flatMap(({ hint }) => hint ?? [])].join(" and ");

export function PairHint({
  empty,
  context,
}: {
  readonly empty: boolean;
  readonly context: Pick<ViewContext, "pairs">;
}) {
  const opens = opensBelow(context);
  return (
    <p class="aw-hint">
      {empty
        ? "The text has only special tokens, which are hidden. Switch them on in Display."
        : byTouch()
          ? `Tap a cell for its numbers; tap again to pin it and open ${opens}; hold labels to sum tokens.`
          : `Hover for numbers; click a cell to pin it and open ${opens}; Ctrl + click labels to sum tokens.`}
    </p>
  );
}
