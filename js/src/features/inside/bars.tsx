/** Bars in lists below the strips, and links to what they are about. */

import type { ComponentChildren } from "preact";
import { Button } from "../../ui/controls";

/** A bar as long as its share of the largest. */
export const Bar = ({ share }: { readonly share: number }) => (
  <span class="aw-inside-unit-track">
    <i aria-hidden="true" style={{ inlineSize: `${100 * share}%` }} />
  </span>
);

export const Link = ({
  act,
  children,
}: {
  readonly act: () => void;
  readonly children: ComponentChildren;
}) => (
  <Button class="aw-link aw-inside-link" onClick={act}>
    {children}
  </Button>
);

/** A token in text: isolated, so that a right-to-left one leaves its neighbors in place. */
export const Name = ({ text }: { readonly text: string }) => <bdi dir="ltr">{text}</bdi>;
