/** Copying a number that stands in text. */

/**
 * Inside `root`, copying a number that carries `data-aw-value` gives all its digits, also when they are
 * not all on screen.
 */
export function copyExactValues(root: HTMLElement, signal: AbortSignal): void {
  root.addEventListener(
    "copy",
    (event) => {
      const node = document.getSelection()?.getRangeAt(0).commonAncestorContainer;
      const element = node instanceof Element ? node : node?.parentElement;
      const value = element?.closest("[data-aw-value]")?.getAttribute("data-aw-value");
      if (value == null || event.clipboardData === null) return;
      event.clipboardData.setData("text/plain", value);
      event.preventDefault();
    },
    { signal },
  );
}
