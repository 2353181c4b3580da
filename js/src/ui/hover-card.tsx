/** The card next to what is pointed at. */

import type { ComponentChildren } from "preact";

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Between a point and its card, px. */
const GAP = 16;

/** Left and top of a card at a point of an area, px: below it, or above where only that fits; never beyond the left edge. */
export function cardPlace(
  { x, y }: { readonly x: number; readonly y: number },
  card: Size,
  area: Size,
): { readonly left: number; readonly top: number } {
  const [above, below] = [y - GAP - card.height, y + GAP];
  return {
    left: Math.round(Math.max(0, Math.min(x, area.width - card.width))),
    top: Math.round(below + card.height > area.height && above > 0 ? above : below),
  };
}

/** A card at a point of `area`'s content, px; hidden without one. */
export function HoverCard({
  at,
  area,
  children,
}: {
  readonly at: { readonly x: number; readonly y: number } | null;
  readonly area: () => Element | null;
  readonly children?: ComponentChildren;
}) {
  const place = (card: HTMLElement | null): void => {
    const scroller = area();
    if (card === null || at === null || scroller === null) return;
    const { left, top } = cardPlace(
      { x: at.x - scroller.scrollLeft, y: at.y - scroller.scrollTop },
      { width: card.offsetWidth, height: card.offsetHeight },
      { width: scroller.clientWidth, height: scroller.clientHeight },
    );
    card.style.left = `${left}px`;
    card.style.top = `${top}px`;
  };
  return (
    <div class="aw-tip" role="presentation" hidden={at === null} ref={place}>
      {children}
    </div>
  );
}
