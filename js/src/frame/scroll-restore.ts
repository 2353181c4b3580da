/** Restores keyboard focus and scroll positions after a redraw. */

/** Attributes that identify an element within its part. */
const NAMES = [
  "data-aw-part",
  "data-view",
  "data-token",
  "data-layer",
  "data-head",
  "data-metric",
  "data-column",
  "data-part",
] as const;
/** Numbers may have to come from the kernel before a place is there again. */
const PATIENCE_MS = 1500;

const nameOf = (element: Element): string =>
  NAMES.map((name) => {
    const value = element.getAttribute(name);
    return value === null ? "" : `[${name}="${CSS.escape(value)}"]`;
  }).join("");

/** A selector of `element` below `root` that also finds its successor, or null when nothing names it. */
export function address(element: Element, root: Element): string | null {
  const steps: string[] = [];
  for (let at: Element | null = element; at !== null && at !== root; at = at.parentElement) {
    const name = nameOf(at);
    if (name !== "") steps.unshift(name);
    else if (at === element) {
      const [first] = at.classList;
      if (first === undefined) return null;
      steps.unshift(`.${CSS.escape(first)}`);
    }
  }
  return steps.join(" ");
}

/** Elements that have been scrolled: asking each one in a page would lay it out, at every key of a typed text. */
export function followScrolls(root: HTMLElement, until: AbortSignal): ReadonlySet<HTMLElement> {
  const scrolled = new Set<HTMLElement>();
  const keep = ({ target }: Event): void => {
    for (const element of scrolled) if (!root.contains(element)) scrolled.delete(element);
    if (target instanceof HTMLElement) scrolled.add(target);
  };
  root.addEventListener("scroll", keep, { capture: true, passive: true, signal: until });
  return scrolled;
}

/**
 * Remember the place inside `root`; the returned function goes back to it, as soon as what was focused or
 * scrolled returns to its place, unless the reader acts first.
 */
export function rememberPlace(
  root: HTMLElement,
  scrolled: ReadonlySet<HTMLElement>,
): (signal: AbortSignal) => void {
  const active = root.ownerDocument.activeElement;
  let focus =
    active !== null && active !== root && root.contains(active) ? address(active, root) : null;
  let scrolls = [...scrolled]
    .filter((element) => root.contains(element))
    .filter(({ scrollTop, scrollLeft }) => scrollTop > 0 || scrollLeft > 0)
    .flatMap((element) => {
      const at = element.matches("textarea, input") ? null : address(element, root);
      return at === null ? [] : [{ at, top: element.scrollTop, left: element.scrollLeft }];
    });
  return (signal) => {
    if (focus === null && scrolls.length === 0) return;
    const started = performance.now();
    const stop = new AbortController();
    const document = root.ownerDocument;
    for (const type of ["pointerdown", "wheel", "keydown"] as const) {
      root.addEventListener(type, () => stop.abort(), { signal: stop.signal, passive: true });
    }
    const attempt = (): void => {
      if (signal.aborted) stop.abort();
      if (stop.signal.aborted) return;
      if (focus !== null) {
        const now = document.activeElement;
        const target = root.querySelector<HTMLElement>(focus);
        // The reader went elsewhere meanwhile.
        if (now !== null && now !== document.body && !root.contains(now)) focus = null;
        else if (target !== null) {
          if (target !== now) target.focus({ preventScroll: true });
          focus = null;
        }
      }
      scrolls = scrolls.filter(({ at, top, left }) => {
        const scroller = root.querySelector<HTMLElement>(at);
        if (scroller === null) return true;
        scroller.scrollTop = top;
        scroller.scrollLeft = left;
        // Not there yet: what it scrolls over is still growing.
        return Math.abs(scroller.scrollTop - top) > 1 || Math.abs(scroller.scrollLeft - left) > 1;
      });
      if ((focus === null && scrolls.length === 0) || performance.now() - started > PATIENCE_MS) {
        stop.abort();
      } else requestAnimationFrame(attempt);
    };
    attempt();
  };
}
