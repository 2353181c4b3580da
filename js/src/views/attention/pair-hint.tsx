/** Placeholder while no pair is pinned. */

import { byTouch } from "../../draw/touch";

export const PairHint = ({ empty }: { readonly empty: boolean }) => (
  <p class="aw-hint">
    {empty
      ? "The text has only special tokens, which are hidden. Switch them on in Display."
      : byTouch()
        ? "Tap a cell for its numbers; tap again to pin it and open its arithmetic; hold labels to sum tokens."
        : "Hover for numbers; click a cell to pin it and open its arithmetic; " +
          "Ctrl + click labels to sum tokens."}
  </p>
);
