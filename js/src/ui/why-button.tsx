/** A button that asks the view Why about a target. */

import { visible } from "../figures/format";
import type { Source, Target } from "../protocol/types";
import type { State } from "../state/selection";
import { Button } from "./controls";

/** The request that the view Why begins with. */
export const whyRequest = (target: Target) =>
  ({ kind: "contributions", target, method: "decomposition" }) as const;

/** Nothing where the page holds no answer. */
export function WhyButton({
  context: { source, state },
  target,
  name,
}: {
  readonly context: { readonly source: Source; readonly state: State };
  readonly target: Target;
  readonly name: string;
}) {
  if (!(source.has?.(whyRequest(target)) ?? source.live)) return null;
  return (
    <Button
      class="aw-button aw-text-button"
      part="why-button"
      onClick={() => state.set({ target, view: "why" })}
    >
      Why <bdi>{visible(name)}</bdi>?
    </Button>
  );
}
