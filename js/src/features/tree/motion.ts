/** Moves tokens and their edges from where they stood before a drawing to where they stand after it. */

import type { TreeBox, TreeLayout } from "./layout";

/** More tokens than this jump: moving them would stutter. */
const MOVED_MAX = 400;
const TIMING = { duration: 200, easing: "cubic-bezier(0.215, 0.61, 0.355, 1)" } as const;

type Boxes = ReadonlyMap<string, TreeBox>;

/** Start of a token's movement: its own place before, or that of the nearest token above it. */
function origin(box: TreeBox, before: Boxes): TreeBox {
  for (let at: TreeBox | null = box; at !== null; at = at.parent) {
    const was = before.get(at.path);
    if (was !== undefined) return { ...box, x: was.x, y: was.y, bend: was.x + box.bend - box.x };
  }
  return box;
}

/** Let what is drawn of `layout` in `svg` come from `before`. Without a motion preference (in tests) nothing moves. */
export function glide(svg: Element, before: Boxes, { placement, boxes }: TreeLayout): void {
  const still = window.matchMedia?.("(prefers-reduced-motion: reduce)").matches ?? true;
  if (still || before.size === 0 || boxes.length > MOVED_MAX) return;
  const elements = new Map(
    [...svg.querySelectorAll<SVGElement>("[data-path]")].map((element) => [
      `${element.localName} ${element.dataset.path}`,
      element,
    ]),
  );
  for (const box of boxes) {
    const from = origin(box, before);
    const parent = box.parent && origin(box.parent, before);
    if (from.x !== box.x || from.y !== box.y) {
      const at = ({ x, y }: TreeBox) => ({ transform: `translate(${x}px, ${y}px)` });
      elements.get(`g ${box.path}`)?.animate([at(from), at(box)], TIMING);
    }
    if (box.parent === null || parent === null) continue;
    const [first, last] = [placement.edge(parent, from), placement.edge(box.parent, box)];
    if (first === last) continue;
    const along = (d: string) => ({ d: `path("${d}")` });
    elements.get(`path ${box.path}`)?.animate([along(first), along(last)], TIMING);
  }
}
