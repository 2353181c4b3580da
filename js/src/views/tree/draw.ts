/** The tree as SVG: edges as wide as their weights, tokens as pills, moved only where they have moved. */

import { svg } from "../../draw/strip";
import { exact, formatNumber } from "../../figures/format";
import {
  edgePath,
  INDEX_GAP,
  NUMBER_GAP,
  numberPlace,
  PILL_HEIGHT,
  ROW,
  type TreeBox,
  type TreeLayout,
} from "./layout";

/** Width of the edge of the largest weight, px; the least is what a screen still shows. */
export const EDGE = { most: 12, least: 0.75 } as const;
/** Width that a finger needs, px. */
const TARGET = 24;
const MOVE_MS = 200;
/** More tokens than this jump: moving them would stutter. */
const MOVED_MOST = 400;

export interface TreeLook {
  /** How far a weight may be off. */
  error(weight: number): number;
  /** 0..1 of the widest edge. */
  share(weight: number): number;
  /** Accessible description of a token. */
  spoken(box: TreeBox): string;
  /** The whole token, where the pill shows it cut. */
  whole(box: TreeBox): string | null;
  /** Index of the token in the text. */
  token(box: TreeBox): number;
}

interface Drawn {
  readonly group: SVGGElement;
  readonly edge: SVGElement;
  readonly number: SVGElement;
  box: TreeBox;
}

interface Place {
  readonly x: number;
  readonly y: number;
}

const CHEVRON = { open: "M2,-4L-2,0L2,4", closed: "M-2,-4L2,0L-2,4" } as const;

// Without a motion preference (in tests) nothing is animated.
const still = (): boolean =>
  window.matchMedia?.("(prefers-reduced-motion: reduce)").matches ?? true;

export interface TreePicture {
  readonly element: SVGSVGElement;
  draw(layout: TreeLayout, look: TreeLook): void;
  /** Names again, positions as they are. */
  describe(look: TreeLook): void;
  box(path: string): TreeBox | null;
  item(path: string): SVGGElement | null;
  /** Mark the way from the root to a token; null for none. */
  light(path: string | null): void;
  dispose(): void;
}

export function createTreePicture(): TreePicture {
  const element = svg("svg", {
    class: "aw-tree-svg",
    role: "tree",
    "data-aw-part": "tree",
  }) as SVGSVGElement;
  const edges = svg("g", { class: "aw-tree-edges", "aria-hidden": "true" });
  const nodes = svg("g", { class: "aw-tree-nodes", role: "none" });
  element.append(edges, nodes);
  const drawn = new Map<string, Drawn>();
  let layout: TreeLayout | null = null;
  let frame = 0;

  function create(box: TreeBox): Drawn {
    const group = svg("g", {
      class: "aw-tree-node",
      role: "treeitem",
      tabindex: -1,
      "data-aw-part": "tree-node",
      "data-path": box.path,
    }) as SVGGElement;
    const number = svg("text", { class: "aw-tree-number aw-number", dy: "0.35em" });
    const edge = svg("path", { class: "aw-tree-edge", "data-path": box.path });
    return { group, edge, number, box };
  }

  /** The pill of a token, drawn around its left end. */
  function fill(
    { group, number }: Drawn,
    box: TreeBox,
    look: TreeLook,
    { name, density }: TreeLayout,
  ): void {
    const { node, width } = box;
    const { pad, chevron } = density;
    // The weight belongs to its token when it is drawn next to it.
    const beside = name === "tidy" ? Math.ceil(box.numberWidth) + NUMBER_GAP : 0;
    const hit = svg("rect", {
      class: "aw-tree-hit",
      x: -beside,
      y: -ROW / 2,
      width: width + beside,
      height: ROW,
    });
    const pill = svg("rect", {
      class: "aw-tree-pill",
      x: 0,
      y: -PILL_HEIGHT / 2,
      width,
      height: PILL_HEIGHT,
      rx: 4,
    });
    const text = svg("text", { class: "aw-tree-label", x: pad, dy: "0.35em" });
    text.textContent = box.label.text;
    const parts: SVGElement[] = [hit, pill, text];
    if (box.label.index !== null) {
      const x = pad + box.label.textWidth + INDEX_GAP;
      const index = svg("text", { class: "aw-tree-at", x: x.toFixed(1), dy: "0.35em" });
      index.textContent = box.label.index;
      parts.push(index);
    }
    const whole = look.whole(box);
    if (whole !== null) {
      const title = svg("title", {});
      title.textContent = whole;
      parts.unshift(title);
    }
    if (box.inner) {
      const toggle = svg("g", {
        class: "aw-tree-toggle",
        "aria-hidden": "true",
        transform: `translate(${width - chevron / 2 - 3},0)`,
      });
      toggle.append(
        svg("rect", {
          class: "aw-tree-hit",
          x: -chevron / 2 - 1,
          y: -ROW / 2,
          width: Math.max(TARGET, chevron + 4),
          height: ROW,
        }),
        svg("path", { class: "aw-tree-chevron", d: box.open ? CHEVRON.open : CHEVRON.closed }),
      );
      parts.push(toggle);
    }
    if (node.weight !== null) {
      const error = look.error(node.weight);
      number.textContent = formatNumber(node.weight, undefined, error);
      number.setAttribute("data-aw-value", exact(node.weight, error));
      parts.push(number);
    }
    // Spaces are not drawn; they part token and number for those who read the text.
    group.replaceChildren(...parts.flatMap((part) => [part, " "]));
    group.setAttribute("data-token", String(look.token(box)));
    group.style.setProperty("--aw-depth", `var(--aw-depth-${node.depth})`);
    group.classList.toggle("is-root", box.parent === null);
    group.classList.toggle("is-closed", box.inner && !box.open);
    group.setAttribute("aria-level", String(node.depth + 1));
    if (box.inner) group.setAttribute("aria-expanded", String(box.open));
    else group.removeAttribute("aria-expanded");
    group.setAttribute("aria-selected", String(box.parent === null));
    group.setAttribute("aria-label", nameOf(group, look.spoken(box)));
  }

  /** Put a token and its edge where `at` has it. */
  function place(entry: Drawn, at: (box: TreeBox) => Place): void {
    const { box, group, edge, number } = entry;
    const here = at(box);
    group.setAttribute("transform", `translate(${here.x},${here.y})`);
    if (box.parent === null || layout === null) return;
    const there = at(box.parent);
    const from = { ...box.parent, ...there, bend: there.x + box.parent.bend - box.parent.x };
    const to = { ...box, ...here };
    edge.setAttribute("d", edgePath(layout.name, from, to));
    const written = numberPlace(layout.name, to);
    number.setAttribute("x", String(written.x - here.x));
    number.setAttribute("y", String(written.y - here.y));
    number.setAttribute("text-anchor", written.anchor);
  }

  /** Children in the given order; what stands right is not touched, so that focus stays. */
  function order(parent: SVGElement, wanted: readonly SVGElement[]): void {
    let next = parent.firstChild;
    for (const child of wanted) {
      if (child === next) next = next.nextSibling;
      else parent.insertBefore(child, next);
    }
  }

  function draw(next: TreeLayout, look: TreeLook): void {
    cancelAnimationFrame(frame);
    const before = new Map([...drawn].map(([path, { box }]) => [path, { x: box.x, y: box.y }]));
    const reshaped = layout !== null && layout.name !== next.name;
    const first = layout === null;
    layout = next;
    const wanted = new Set(next.boxes.map(({ path }) => path));
    for (const [path, entry] of drawn) {
      if (wanted.has(path)) continue;
      entry.group.remove();
      entry.edge.remove();
      drawn.delete(path);
    }
    const siblings = new Map<TreeBox, number>();
    for (const { parent } of next.boxes) {
      if (parent !== null) siblings.set(parent, (siblings.get(parent) ?? 0) + 1);
    }
    const entries = next.boxes.map((box) => {
      const entry = drawn.get(box.path) ?? create(box);
      entry.box = box;
      drawn.set(box.path, entry);
      fill(entry, box, look, next);
      const { group, edge } = entry;
      group.setAttribute("aria-posinset", String(Math.max(box.node.order, 1)));
      group.setAttribute(
        "aria-setsize",
        String(box.parent === null ? 1 : (siblings.get(box.parent) ?? 1)),
      );
      if (box.node.weight !== null) {
        const width = Math.max(EDGE.least, EDGE.most * look.share(box.node.weight));
        edge.setAttribute("stroke-width", width.toFixed(2));
        edge.style.setProperty("--aw-depth", `var(--aw-depth-${box.node.depth})`);
      }
      return entry;
    });
    order(
      nodes,
      entries.map(({ group }) => group),
    );
    // Wide edges first: thin ones stay in sight.
    const lines = entries.filter(({ box }) => box.parent !== null);
    const weightOf = ({ box }: Drawn): number => box.node.weight ?? 0;
    lines.sort((a, b) => weightOf(b) - weightOf(a));
    order(
      edges,
      lines.map(({ edge }) => edge),
    );
    element.setAttribute("width", String(next.width));
    element.setAttribute("height", String(next.height));
    element.setAttribute("viewBox", `0 0 ${next.width} ${next.height}`);
    element.classList.toggle("is-force", next.name === "force");
    const moved = entries.some(({ box }) => {
      const was = before.get(box.path);
      return was !== undefined && (was.x !== box.x || was.y !== box.y);
    });
    const grown = entries.some(({ box }) => !before.has(box.path));
    if (first || !(moved || grown) || entries.length > MOVED_MOST || still()) {
      for (const entry of entries) place(entry, (box) => box);
      return;
    }
    /** Where a token comes from: its own place before, or that of the nearest token above it. */
    const origin = (box: TreeBox): Place => {
      for (let at: TreeBox | null = box; at !== null; at = at.parent) {
        const was = before.get(at.path);
        if (was !== undefined) return was;
      }
      return box;
    };
    glide(entries, origin, reshaped ? MOVE_MS * 1.2 : MOVE_MS);
  }

  function glide(entries: readonly Drawn[], origin: (box: TreeBox) => Place, time: number): void {
    const started = performance.now();
    const step = (): void => {
      const t = Math.min((performance.now() - started) / time, 1);
      const eased = 1 - (1 - t) ** 3;
      const at = (box: TreeBox): Place => {
        const from = origin(box);
        return { x: from.x + (box.x - from.x) * eased, y: from.y + (box.y - from.y) * eased };
      };
      for (const entry of entries) place(entry, t < 1 ? at : (box) => box);
      if (t < 1) frame = requestAnimationFrame(step);
    };
    step();
  }

  return {
    element,
    draw,
    describe(look) {
      for (const { group, box } of drawn.values()) {
        group.setAttribute("aria-label", nameOf(group, look.spoken(box)));
      }
    },
    box: (path) => drawn.get(path)?.box ?? null,
    item: (path) => drawn.get(path)?.group ?? null,
    light(path) {
      const highlighted = new Set<string>();
      for (let at = drawn.get(path ?? "")?.box ?? null; at !== null; at = at.parent) {
        highlighted.add(at.path);
      }
      element.classList.toggle("has-lit", highlighted.size > 1);
      for (const [key, { group, edge }] of drawn) {
        group.classList.toggle("is-lit", highlighted.has(key));
        edge.classList.toggle("is-lit", highlighted.has(key));
      }
    },
    dispose() {
      cancelAnimationFrame(frame);
      element.remove();
    },
  };
}

/** Accessible name of a node: its visible label first, for users of voice control. */
function nameOf(group: SVGElement, spoken: string): string {
  const written = [...group.querySelectorAll("text")].map((text) => text.textContent);
  return `${written.join(" ")}: ${spoken}`;
}
