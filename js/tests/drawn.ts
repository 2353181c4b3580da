import { type ComponentChild, render } from "preact";

/** The element of a component. */
export function drawn(part: ComponentChild): HTMLElement {
  const host = document.createElement("div");
  render(part, host);
  return host.firstElementChild as HTMLElement;
}
