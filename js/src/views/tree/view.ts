/** The influence tree of a token (docs/definitions.md, section 5), grown in the page from the matrix on screen. */

import { RAMP_SIZE, ramp } from "../../draw/color/ramp";
import { rampPosition } from "../../draw/color/scale";
import { modeOf, onTheme, palette } from "../../draw/color/theme";
import { h } from "../../draw/dom";
import { onResize } from "../../draw/resize";
import {
  errorOfProduct,
  type InfluenceTree,
  influenceTree,
  nodesThrough,
  type TreeNode,
} from "../../figures/derive/tree";
import { copyExactValues, formatNumber, tokenLabel } from "../../figures/format";
import { errorOf, type Matrix } from "../../figures/matrix";
import { matrixName, schemeOf, spokenMatrix, unitLabel } from "../../figures/names";
import { calledOf, isRolled } from "../../figures/quantities";
import { itemAt, required } from "../../protocol/required";
import type { ViewContext, ViewHandle } from "../contract";
import { type NodeFacts, nodeCard, spokenNode } from "./card";
import { createTreePicture, type TreeLook } from "./draw";
import { createTreeHead } from "./head";
import {
  densityOf,
  INDEX_GAP,
  type LayoutName,
  layoutTree,
  type TreeBox,
  type TreeLabel,
  type TreeLayout,
} from "./layout";
import { createTreeLegend } from "./legend";
import { createRuler } from "./measure";
import { treeNotes } from "./notes";
import { createEdgeScores } from "./scores";
import { standaloneTree } from "./svg";
import { treeTable } from "./table";
import { createTreeWalk } from "./walk";

/**
 * Tokens drawn at once; what lies deeper is folded. So many a browser lays out within a blink (a thousand
 * take it a second on a busy machine), and forces need more time for each.
 */
const DRAWN_MOST: Readonly<Record<LayoutName, number>> = { tidy: 600, force: 300 };
const TRAIL_MOST = 4;
const NUMBER_SIZE = 11;
const INDEX_SIZE = 10;
/** Room where nothing has been laid out yet, px. */
const ROOM = 640;
export function tree(element: HTMLElement, stage: ViewContext): ViewHandle {
  const { source, state, signal, matrix: store } = stage;
  const { tokens } = source.meta;
  const scheme = schemeOf(tokens);
  // A model whose mask forbids cells: rollout is exactly 0 where no path is allowed.
  const masks = source.arrays.has("possible");

  let matrix: Matrix | null = null;
  let grown: InfluenceTree | null = null;
  let layout: TreeLayout | null = null;
  let layoutName: LayoutName = "tidy";
  let room = ROOM;
  let openLevels = 0;
  /** By path: what the reader has opened or closed. Kept from head to head. */
  const toggled = new Map<string, boolean>();
  let trail: number[] = [];
  let lastRoot: number | null = null;
  /** Names that several units have. */
  let repeated: ReadonlySet<string> = new Set();
  /** Units of the matrix that the tree is grown from. */
  let units: Matrix["units"] = [];

  const head = createTreeHead(state, signal, {
    back: reroot,
    choose(name) {
      layoutName = name;
      head.setLayout(name);
      draw();
      walk.center();
    },
  });
  const picture = createTreePicture();
  const legend = createTreeLegend();
  const walk = createTreeWalk(
    picture,
    {
      card: (box) => nodeCard(facts(box)),
      toggle,
      choose: (box) => reroot(tokenAt(box.node)),
      back() {
        const earlier = trail.at(-1);
        if (earlier !== undefined) reroot(earlier);
        return earlier !== undefined;
      },
    },
    signal,
  );
  const empty = h("p", { class: "aw-empty", hidden: true });
  const wait = h("p", { class: "aw-hint aw-tree-wait" }, "Loading the weights …");
  const root = h(
    "div",
    { class: "aw-tree", dir: "ltr" },
    head.element,
    h("div", { class: "aw-tree-legends" }, legend.element),
    wait,
    walk.element,
    empty,
  );
  element.append(root);
  head.setLayout(layoutName);
  head.show({ root: null, matrix: "", trail: [], note: "" });
  copyExactValues(root, signal);

  room = root.clientWidth || ROOM;
  const ruler = createRuler(element);
  const scores = createEdgeScores(stage);

  const unitAt = (node: TreeNode) => itemAt(units, node.unit);
  const tokenAt = (node: TreeNode): number => unitAt(node).token;
  const nameOf = (unit: Matrix["units"][number]): string => unitLabel(unit, scheme);
  const paths = new WeakMap<TreeNode, string>();
  function pathOf(node: TreeNode): string {
    let path = paths.get(node);
    if (path === undefined) {
      const own = String(tokenAt(node));
      path = node.parent === null ? own : `${pathOf(node.parent)}/${own}`;
      paths.set(node, path);
    }
    return path;
  }
  const isOpen = (node: TreeNode): boolean => toggled.get(pathOf(node)) ?? node.depth < openLevels;
  function labelOf(node: TreeNode): TreeLabel {
    const { label: size, labelMost } = densityOf(room);
    const unit = unitAt(node);
    const name = nameOf(unit);
    const label = ruler.fit(name, size, node.parent === null ? 600 : 400, labelMost);
    // Only where a name alone does not say which token is meant.
    const index = repeated.has(name) ? String(unit.token) : null;
    const more = index === null ? 0 : INDEX_GAP + ruler.width(index, INDEX_SIZE, 400);
    return { text: label.text, textWidth: label.width, index, width: label.width + more };
  }

  /** Default root of the tree: the first word. */
  function firstWord({ units }: Matrix): number {
    const word = units.findIndex((unit) => !unit.special && /[\p{L}\p{N}]/u.test(unit.surface));
    if (word >= 0) return word;
    const plain = units.findIndex((unit) => !unit.special);
    return Math.max(plain, 0);
  }

  const shapeOf = () => {
    const { top_k, depth } = state.get();
    return { topK: top_k, depth };
  };

  /** Grow the tree of the present selection and draw it. */
  function update(): void {
    matrix = store.get();
    if (matrix === null || signal.aborted) return;
    wait.hidden = true;
    const shown = matrix;
    const { size, weights, quantity } = shown;
    if (size === 0) {
      showEmpty();
      return;
    }
    if (units !== shown.units) {
      units = shown.units;
      const seen = new Set<string>();
      const twice = (name: string): boolean => seen.size === seen.add(name).size;
      repeated = new Set(units.map(nameOf).filter(twice));
    }
    const chosen = shown.unitOf(state.get().token);
    const start = chosen >= 0 ? chosen : firstWord(shown);
    const allowed =
      isRolled(quantity) && masks
        ? Uint8Array.from(weights, (weight) => (weight > 0 ? 1 : 0))
        : shown.allowed;
    grown = influenceTree({ weights, allowed, size }, start, shapeOf());
    const startToken = itemAt(units, start).token;
    if (lastRoot !== null && lastRoot !== startToken) {
      const known = trail.indexOf(startToken);
      trail = known >= 0 ? trail.slice(0, known) : [...trail, lastRoot].slice(-TRAIL_MOST);
    }
    trail = trail.filter((earlier) => shown.unitOf(earlier) >= 0);
    const moved = lastRoot !== startToken;
    lastRoot = startToken;
    draw();
    if (moved) walk.center();
    void loadScores(shown);
  }

  function showEmpty(): void {
    grown = layout = null;
    walk.element.hidden = true;
    empty.hidden = false;
    empty.textContent =
      "No tokens are shown: the text has only special ones, and they are switched off below.";
    head.show({ root: null, matrix: "", trail: [], note: "" });
  }

  /** Lay out and draw what is open. */
  function draw(): void {
    if (matrix === null || grown === null) return;
    const shown = matrix;
    const limit = DRAWN_MOST[layoutName];
    const totals = nodesThrough(shown.size, shapeOf());
    openLevels = totals.filter((total) => total <= limit).length - 1;
    walk.element.hidden = false;
    empty.hidden = true;
    const { scale } = state.get();
    layout = layoutTree(grown, layoutName, room, {
      label: labelOf,
      number: (node) =>
        node.weight === null
          ? 0
          : ruler.width(
              formatNumber(node.weight, undefined, errorOf(shown, node.weight)),
              NUMBER_SIZE,
              400,
            ),
      path: pathOf,
      open: isOpen,
    });
    root.style.setProperty("--aw-tree-label", `${layout.density.label}px`);
    const next = layout;
    walk.settle(next, () => picture.draw(next, look(shown)));
    picture.element.setAttribute(
      "aria-label",
      `What ${nameOf(unitAt(grown.root))} attends to: ${spokenMatrix(shown)}`,
    );
    legend.show(
      {
        quantity: quantityName(),
        depth: state.get().depth,
        max: shown.max,
        scale,
        error: errorOf(shown, shown.max),
      },
      (text) => ruler.width(text, NUMBER_SIZE, 400),
      room,
    );
    legend.element.classList.toggle("aw-tree-alone", layout.boxes.length === 1);
    color();
    head.show({
      root: { name: nameOf(unitAt(grown.root)), token: tokenAt(grown.root) },
      matrix: matrixName(shown),
      trail: trail.map((token) => ({
        name: nameOf(itemAt(shown.units, shown.unitOf(token))),
        token,
      })),
      note: treeNotes(
        {
          matrix: shown,
          token: state.get().token,
          root: nameOf(unitAt(grown.root)),
          children: grown.childrenOf(grown.root).length,
          totals,
          open: openLevels,
          limit,
        },
        tokens,
      ),
    });
  }

  const quantityName = (): string => calledOf(matrix?.quantity ?? "weights");

  const look = (shown: Matrix): TreeLook => ({
    share: (weight) => rampPosition(weight, shown.max, state.get().scale),
    spoken: (box) => spokenNode(facts(box)),
    whole: (box) => (box.label.text === nameOf(unitAt(box.node)) ? null : nameOf(unitAt(box.node))),
    token: (box) => tokenAt(box.node),
    error: (weight) => errorOf(shown, weight),
  });

  /** Colors of the levels, in the theme that is on. */
  function color(): void {
    const { css } = ramp("depth", modeOf(element));
    const { depth } = state.get();
    root.style.setProperty("--aw-depth-0", "var(--aw-ink)");
    for (let level = 1; level <= depth; level++) {
      const share = depth > 1 ? (level - 1) / (depth - 1) : 0;
      root.style.setProperty(
        `--aw-depth-${level}`,
        itemAt(css, Math.round(share * (RAMP_SIZE - 1))),
      );
    }
  }

  const scoreOf = ({ parent, unit }: TreeNode): number | null =>
    matrix === null || parent === null ? null : scores.of(matrix, parent.unit, unit);

  async function loadScores(shown: Matrix): Promise<void> {
    await scores.load(shown);
    if (layout === null || signal.aborted || matrix !== shown) return;
    picture.describe(look(shown));
    walk.refresh();
  }

  function facts({ node, parent }: Pick<TreeBox, "node" | "parent">): NodeFacts {
    // A token on screen is one of a grown tree.
    const [shown, whole] = [required(matrix, "The matrix"), required(grown, "The tree")];
    const unit = unitAt(node);
    return {
      node,
      name: nameOf(unit),
      word: unit.special ? null : tokenLabel(unit.text, scheme, unit.surface).word,
      token: unit.token,
      parent:
        parent === null ? null : { name: nameOf(unitAt(parent.node)), token: tokenAt(parent.node) },
      siblings: parent === null ? 0 : whole.childrenOf(parent.node).length,
      children: whole.childrenOf(node).length,
      score: scoreOf(node),
      scoreAbsent: scores.absent(shown),
      quantity: quantityName(),
      errors: {
        weight: node.weight === null ? 0 : errorOf(shown, node.weight),
        product: errorOfProduct(node, (weight) => errorOf(shown, weight)),
        score: shown.scoreError ?? 0,
      },
    };
  }

  function toggle(box: TreeBox, open: boolean): void {
    toggled.set(box.path, open);
    draw();
    stage.announce(`${nameOf(unitAt(box.node))} ${open ? "opened" : "closed"}`);
  }

  function reroot(token: number): void {
    walk.hideCard();
    if (state.get().token === token) return;
    state.set({ token });
    const first = layout?.boxes[0];
    if (first === undefined) return;
    stage.announce(`Root: ${nameOf(unitAt(first.node))}, ${facts(first).children} children`);
    walk.enter();
  }

  onResize(
    root,
    (width) => {
      if (width === room) return;
      room = width;
      draw();
    },
    signal,
  );
  onTheme(element, color, signal);
  store.on(update, signal);
  state.on(["token", "top_k", "depth", "scale"], update, signal);

  return {
    dispose() {
      picture.dispose();
      element.replaceChildren();
    },
    table: async () =>
      matrix === null || grown === null ? null : treeTable(grown, matrix, shapeOf(), scores),
    svg() {
      if (layout === null || matrix === null || grown === null) return null;
      const name = `What ${nameOf(unitAt(grown.root))} attends to, ${matrixName(matrix)}`;
      return standaloneTree(picture.element, legend.element, {
        ground: palette(element).ground,
        name,
      });
    },
  };
}
