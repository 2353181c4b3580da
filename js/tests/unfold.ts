/** Opens what is folded: by the summary, as a reader does. */

/** All, or the part `name`. */
export function unfold(element: Element, name = ""): void {
  const folded = `[data-aw-part^="fold-${name}"]:not([open])`;
  for (const part of element.querySelectorAll<HTMLDetailsElement>(folded)) {
    part.open = true;
    part.dispatchEvent(new Event("toggle"));
  }
}
