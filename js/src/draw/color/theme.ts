/** Light or dark, and the colors that canvases need: the host's where it has them, else our own. */

import { onAbort } from "../../protocol/abort";
import type { Theme } from "../../state/selection";
import type { Mode } from "./ramp";

export const ROOT_CLASS = "attn-widget";

/** Theme that the host page declares; null if it declares none. */
function hostMode(): Mode | null {
  const { body, documentElement: html } = document;
  const jupyter = body.dataset.jpThemeLight;
  if (jupyter !== undefined) return jupyter === "true" ? "light" : "dark";
  const code = body.dataset.vscodeThemeKind;
  if (code !== undefined) return code.includes("light") ? "light" : "dark";
  const named = html.getAttribute("theme") ?? html.dataset.theme ?? body.dataset.theme ?? "";
  if (/dark/i.test(named) || html.classList.contains("dark") || body.classList.contains("dark")) {
    return "dark";
  }
  if (
    /light/i.test(named) ||
    html.classList.contains("light") ||
    body.classList.contains("light")
  ) {
    return "light";
  }
  return null;
}

/** Theme of Bootstrap, as in Shiny, where JupyterLab's variables stay light. */
function bootstrapMode(): Mode | null {
  const mode = document.documentElement.dataset.bsTheme;
  return mode === "light" || mode === "dark" ? mode : null;
}

const preference = (): MediaQueryList => window.matchMedia("(prefers-color-scheme: dark)");

/** Keep `root`'s `data-theme` and `data-palette` right; returns a function that applies another wish. */
export function followTheme(root: HTMLElement, wish: () => Theme, signal: AbortSignal): () => void {
  const apply = () => {
    const host = hostMode();
    const seen: Mode = host ?? bootstrapMode() ?? (preference().matches ? "dark" : "light");
    const wanted = wish();
    const mode = wanted === "auto" ? seen : wanted;
    // The host's variables suit the host's theme only.
    const palette = host === mode ? "host" : "own";
    held.delete(root);
    if (root.dataset.theme !== mode) root.dataset.theme = mode;
    if (root.dataset.palette !== palette) root.dataset.palette = palette;
  };
  const observer = new MutationObserver(apply);
  for (const element of [document.body, document.documentElement]) {
    observer.observe(element, {
      attributes: true,
      attributeFilter: [
        "class",
        "theme",
        "data-theme",
        "data-bs-theme",
        "data-jp-theme-light",
        "data-jp-theme-name",
        "data-vscode-theme-kind",
      ],
    });
  }
  const media = preference();
  media.addEventListener("change", apply, { signal });
  onAbort(signal, () => observer.disconnect());
  apply();
  return apply;
}

/** The mode in which an element of a widget is drawn. */
export function modeOf(element: Element): Mode {
  const root = element.closest<HTMLElement>(`.${ROOT_CLASS}`);
  return root?.dataset.theme === "dark" ? "dark" : "light";
}

/** Call `listener` whenever the widget around `element` changes its colors. */
export function onTheme(element: Element, listener: () => void, signal: AbortSignal): void {
  const root = element.closest<HTMLElement>(`.${ROOT_CLASS}`);
  if (root === null) return;
  const observer = new MutationObserver(listener);
  observer.observe(root, { attributes: true, attributeFilter: ["data-theme", "data-palette"] });
  onAbort(signal, () => observer.disconnect());
}

export interface Palette {
  readonly mode: Mode;
  readonly ink: string;
  readonly muted: string;
  readonly line: string;
  readonly ground: string;
  readonly accent: string;
  readonly font: string;
}

/** Colors of widgets whose pictures are all being drawn. */
const held = new WeakMap<Element, Palette>();

/**
 * Read the colors of a widget now for all pictures of its next frame: each would lay out again what the others have changed.
 * Later pictures read them again, as a host may change them unseen.
 */
export function holdPalette(root: Element): void {
  // Without frames, nothing would end it.
  if (!root.isConnected || document.hidden) return;
  held.delete(root);
  const colors = palette(root);
  held.set(root, colors);
  const end = (): void => void (held.get(root) === colors && held.delete(root));
  requestAnimationFrame(() => setTimeout(end));
}

const PROBED =
  "color:var(--aw-ink);background-color:var(--aw-muted);border-top-color:var(--aw-line);border-right-color:var(--aw-ground);border-bottom-color:var(--aw-accent)";

/** Colors and font as a canvas takes them: custom properties resolved by a probe. */
export function palette(element: Element): Palette {
  const shared = held.get(element.closest(`.${ROOT_CLASS}`) ?? element);
  if (shared !== undefined) return shared;
  const probe = document.createElement("span");
  probe.hidden = true;
  // All at once: between two that are read the browser would find out the style of the page again.
  probe.style.cssText = PROBED;
  element.append(probe);
  const found = getComputedStyle(probe);
  const colors = {
    mode: modeOf(element),
    ink: found.color,
    muted: found.backgroundColor,
    line: found.borderTopColor,
    ground: found.borderRightColor,
    accent: found.borderBottomColor,
    font: found.fontFamily,
  };
  probe.remove();
  return colors;
}
