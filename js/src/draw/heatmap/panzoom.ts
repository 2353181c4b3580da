/** Pan and zoom of a plot by wheel, drag and pinch; d3-zoom's arithmetic without its transitions (50 kB). */

import { consume } from "../dom";

/** Content coordinates `c` appear at `k * c + x` (CSS pixels). */
export interface Transform {
  readonly k: number;
  readonly x: number;
  readonly y: number;
}

export const IDENTITY: Transform = { k: 1, x: 0, y: 0 };

/** Size of a plot (CSS pixels). */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Keep the content covering the plot: never zoomed out beyond it, never past its edges. */
export function constrain(
  { k, x, y }: Transform,
  { width, height }: Size,
  most: number,
): Transform {
  const scale = Math.min(Math.max(k, 1), Math.max(most, 1));
  const bound = (value: number, extent: number): number =>
    Math.min(0, Math.max(extent * (1 - scale), value));
  return { k: scale, x: bound(x, width), y: bound(y, height) };
}

/** Zoom by `factor` with the point `[px, py]` of the plot staying where it is. */
export function zoomAt(
  { k, x, y }: Transform,
  factor: number,
  [px, py]: readonly [number, number],
  size: Size,
  most: number,
): Transform {
  const next = Math.min(Math.max(k * factor, 1), Math.max(most, 1));
  const ratio = next / k;
  return constrain({ k: next, x: px - (px - x) * ratio, y: py - (py - y) * ratio }, size, most);
}

/** Pixels that a pointer may stray in a click. */
const CLICK_SLACK = 4;

interface PanZoomTarget {
  get(): Transform;
  set(transform: Transform): void;
  size(): Size;
  most(): number;
}

/** The factor of one wheel event, as d3-zoom has it. */
function wheelFactor({ deltaY, deltaMode }: WheelEvent): number {
  const pixels = deltaMode === 1 ? 0.05 : deltaMode === 2 ? 1 : 0.002;
  return 2 ** Math.min(Math.max(-deltaY * pixels * 4, -1), 1);
}

/** Listen on `pane`; plain wheel scrolls the page, with Ctrl, Cmd or a pinch it zooms, as on a map. */
export function panZoom(pane: HTMLElement, target: PanZoomTarget, signal: AbortSignal): void {
  const fingers = new Map<number, readonly [number, number]>();
  let strayed = 0;

  const at = (event: MouseEvent): readonly [number, number] => {
    const box = pane.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  pane.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      consume(event);
      target.set(zoomAt(target.get(), wheelFactor(event), at(event), target.size(), target.most()));
    },
    { signal, passive: false },
  );
  pane.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button !== 0) return;
      if (fingers.size === 0) strayed = 0;
      fingers.set(event.pointerId, at(event));
      if (target.get().k > 1) pane.setPointerCapture(event.pointerId);
    },
    { signal },
  );
  pane.addEventListener(
    "pointermove",
    (event) => {
      const from = fingers.get(event.pointerId);
      if (from === undefined) return;
      const to = at(event);
      const { k, x, y } = target.get();
      const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
      const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
      fingers.set(event.pointerId, to);
      strayed += Math.abs(dx) + Math.abs(dy);
      if (other !== undefined) {
        const apart = (p: readonly [number, number]) =>
          Math.hypot(p[0] - other[0], p[1] - other[1]);
        const center = [(to[0] + other[0]) / 2, (to[1] + other[1]) / 2] as const;
        const factor = apart(to) / Math.max(apart(from), 1);
        target.set(zoomAt(target.get(), factor, center, target.size(), target.most()));
      } else if (k > 1) {
        target.set(constrain({ k, x: x + dx, y: y + dy }, target.size(), target.most()));
      }
    },
    { signal },
  );
  const lift = (event: PointerEvent) => fingers.delete(event.pointerId);
  for (const type of ["pointerup", "pointercancel", "pointerleave"] as const) {
    pane.addEventListener(type, lift, { signal });
  }
  pane.addEventListener(
    "click",
    (event) => {
      // The end of a drag is no click.
      if (strayed > CLICK_SLACK && target.get().k > 1) event.stopPropagation();
    },
    { signal },
  );
}
