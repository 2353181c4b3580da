/** Opens what is folded: by the summary, as a reader does. */

export function unfold(element: Element): void {
  for (const folded of element.querySelectorAll<HTMLDetailsElement>(".aw-fold:not([open])")) {
    folded.open = true;
    folded.dispatchEvent(new Event("toggle"));
  }
}
