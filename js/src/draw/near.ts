/** Rows of a long list that have their cells only while they are near what is in sight. */

/**
 * Call `enter` with the elements that come within `margin` px of what `root` shows, and `leave` with those that have
 * gone. An element that has the focus stays.
 */
export const whenNear = (
  root: HTMLElement,
  margin: number,
  enter: (row: HTMLElement) => void,
  leave: (row: HTMLElement) => void,
): IntersectionObserver =>
  new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        const row = target as HTMLElement;
        if (isIntersecting) enter(row);
        else if (!row.contains(row.ownerDocument.activeElement)) leave(row);
      }
    },
    { root, rootMargin: `${margin}px 0px` },
  );
