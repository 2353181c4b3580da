/** Scrolling one element alone: `scrollIntoView` would move the notebook, too. */

/** Scroll up or down until what lies between `top` and `bottom` (px of its content) is in sight. */
export function scrollDown(scroller: Element, top: number, bottom: number): void {
  const { scrollTop, clientHeight } = scroller;
  if (top < scrollTop) scroller.scrollTop = top;
  else if (bottom > scrollTop + clientHeight) scroller.scrollTop = bottom - clientHeight;
}

/** Scroll to the left or right until what lies between `left` and `right` (px of its content) is in sight. */
export function scrollAcross(scroller: Element, left: number, right: number): void {
  const { scrollLeft, clientWidth } = scroller;
  if (left < scrollLeft) scroller.scrollLeft = left;
  else if (right > scrollLeft + clientWidth) scroller.scrollLeft = right - clientWidth;
}
