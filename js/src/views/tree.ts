/** The influence tree of a token (Definitions, section 5), grown in the page from the matrix on screen. */

import {
  edgesOf,
  type InfluenceTree,
  influenceTree,
  nodesThrough,
  type TreeNode,
} from "../derive/tree";
import { fitText } from "../draw/canvas";
import { h } from "../draw/dom";
import { copyExactValues, formatCount, formatNumber, tokenLabel } from "../draw/format";
import { onResize } from "../draw/gauge";
import { RAMP_SIZE, ramp } from "../draw/ramp";
import { rampPosition } from "../draw/scale";
import { modeOf, onTheme, palette } from "../draw/theme";
import { type Matrix, type Stage, scoresAbsent } from "../matrix";
import { matrixName, schemeOf, spokenMatrix, unitLabel } from "../names";
import { explain, isAbort, SliceFailure } from "../source/failure";
import type { Drawn, Table } from "../types";
import { type NodeFacts, nodeCard, spokenNode } from "./tree-card";
import { createTreePicture, type TreeLook } from "./tree-draw";
import { createTreeHead } from "./tree-head";
import {
  densityOf,
  type LayoutName,
  layoutTree,
  type TreeBox,
  type TreeLayout,
} from "./tree-layout";
import { createTreeLegend } from "./tree-legend";
import { standaloneTree } from "./tree-svg";

/** Tokens drawn at once; what lies deeper is folded. Forces need more time for each. */
const DRAWN_MOST: Readonly<Record<LayoutName, number>> = { tidy: 2_000, force: 300 };
/** As many as `influence()` gives in Python. */
const TABLE_MOST = 20_000;
const TRAIL_MOST = 4;
const NUMBER_SIZE = 11;
/** Room where nothing has been laid out yet, px. */
const ROOM = 640;
const COLUMNS = [
  ...["parent", "token", "parent_token", "child_token", "depth", "weight", "product", "score"],
] as const;

export function tree(element: HTMLElement, stage: Stage): Drawn {
  const { source, state, signal, matrix: store } = stage;
  const { tokens } = source.meta;
  const scheme = schemeOf(tokens);
  const n = tokens.text.length;
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
  /** Where Tab enters the tree. */
  let entry = "";
  let carded: string | null = null;
  let scores: { key: string; values: Float32Array | null; absent: string | null } | null = null;

  const { head, stop: stopHead } = createTreeHead(state, signal, {
    back: (token) => reroot(token, false),
    choose(name) {
      layoutName = name;
      head.setLayout(name);
      draw();
    },
  });
  const picture = createTreePicture();
  const legend = createTreeLegend();
  const tip = h("div", { class: "aw-tip", role: "presentation", hidden: true });
  const scroller = h("div", { class: "aw-tree-scroll" }, picture.element);
  const pane = h("div", { class: "aw-tree-pane", hidden: true }, scroller, tip);
  const empty = h("p", { class: "aw-empty", hidden: true });
  const wait = h("p", { class: "aw-hint aw-tree-wait" }, "Asking for the weights …");
  const root = h(
    "div",
    { class: "aw-tree", dir: "ltr" },
    head.element,
    h("div", { class: "aw-tree-legends" }, legend.element),
    wait,
    pane,
    empty,
  );
  element.append(root);
  head.setLayout(layoutName);
  head.show({ root: null, matrix: "", trail: [], note: "" });
  copyExactValues(root, signal);

  room = root.clientWidth || ROOM;
  const pen = document.createElement("canvas").getContext("2d");
  const { font } = palette(element);
  const widths = new Map<string, number>();
  function widthOf(text: string, size: number, weight: number): number {
    const key = `${size} ${weight} ${text}`;
    let width = widths.get(key);
    if (width === undefined) {
      if (pen !== null) pen.font = `${weight} ${size}px ${font}`;
      width = pen?.measureText(text).width ?? text.length * size * 0.55;
      widths.set(key, width);
    }
    return width;
  }

  const unitAt = (node: TreeNode) => matrix!.units[node.unit]!;
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
  const fitted = new Map<string, { text: string; width: number }>();
  function labelOf(node: TreeNode): { text: string; width: number } {
    const weight = node.parent === null ? 600 : 400;
    const { label: size, labelMost: most } = densityOf(room);
    const name = nameOf(unitAt(node));
    const key = `${weight} ${most} ${name}`;
    let found = fitted.get(key);
    if (found === undefined) {
      let text = name;
      if (widthOf(name, size, weight) > most && pen !== null) {
        pen.font = `${weight} ${size}px ${font}`;
        text = fitText(pen, name, most);
      }
      found = { text, width: widthOf(text, size, weight) };
      fitted.set(key, found);
    }
    return found;
  }

  /** Where the tree starts when nobody has said: the first word. */
  function firstWord({ units }: Matrix): number {
    const word = units.findIndex((unit) => !unit.special && /[\p{L}\p{N}]/u.test(unit.surface));
    return word >= 0
      ? word
      : Math.max(
          0,
          units.findIndex((unit) => !unit.special),
        );
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
    const { size, units, weights, quantity } = matrix;
    if (size === 0) {
      showEmpty();
      return;
    }
    const { token } = state.get();
    const chosen = matrix.unitOf(token);
    const start = chosen >= 0 ? chosen : firstWord(matrix);
    const allowed =
      quantity === "rollout" && masks
        ? Uint8Array.from(weights, (weight) => (weight > 0 ? 1 : 0))
        : matrix.allowed;
    grown = influenceTree({ weights, allowed, size }, start, shapeOf());
    const startToken = units[start]!.token;
    if (lastRoot !== null && lastRoot !== startToken) {
      const known = trail.indexOf(startToken);
      trail = known >= 0 ? trail.slice(0, known) : [...trail, lastRoot].slice(-TRAIL_MOST);
    }
    trail = trail.filter((earlier) => matrix!.unitOf(earlier) >= 0);
    const moved = lastRoot !== startToken;
    lastRoot = startToken;
    draw();
    if (moved) center();
    void loadScores(matrix);
  }

  function showEmpty(): void {
    grown = layout = null;
    pane.hidden = true;
    empty.hidden = false;
    empty.textContent =
      "No tokens are shown: the text has only special ones, and they are switched off below.";
    head.show({ root: null, matrix: "", trail: [], note: "" });
  }

  function noteOf(limit: number): string {
    if (matrix === null || grown === null) return "";
    const { token } = state.get();
    const notes: string[] = [];
    const name = nameOf(unitAt(grown.root));
    if (matrix.unitOf(token) < 0) {
      const hidden = token !== null && tokens.special[token];
      notes.push(
        hidden
          ? `${tokens.text[token]} is hidden with the special tokens: the tree starts at ${name}.`
          : `No token is chosen: the tree starts at ${name}. Choose one in the text above, or here.`,
      );
    }
    if (grown.childrenOf(grown.root).length === 0) {
      notes.push(
        matrix.size === 1
          ? "It is the only token shown: there is nothing else to attend to."
          : "The model’s mask lets it see no other token.",
      );
    }
    const totals = nodesThrough(matrix.size, shapeOf());
    if (openLevels < totals.length - 1) {
      notes.push(
        `Level ${openLevels + 1} and below are folded: the whole tree could have ` +
          `${formatCount(totals.at(-1)!)} tokens, ${formatCount(limit)} are drawn at most. Open any token to look on.`,
      );
    }
    return notes.join(" ");
  }

  /** Lay out and draw what is open. */
  function draw(): void {
    if (matrix === null || grown === null) return;
    const shown = matrix;
    const limit = DRAWN_MOST[layoutName];
    const totals = nodesThrough(shown.size, shapeOf());
    openLevels = totals.filter((total) => total <= limit).length - 1;
    pane.hidden = false;
    empty.hidden = true;
    const { scale } = state.get();
    layout = layoutTree(grown, layoutName, room, {
      label: labelOf,
      number: (node) =>
        node.weight === null ? 0 : widthOf(formatNumber(node.weight), NUMBER_SIZE, 400),
      path: pathOf,
      open: isOpen,
    });
    const held = root.contains(document.activeElement) ? focusedPath() : null;
    root.style.setProperty("--aw-tree-label", `${layout.density.label}px`);
    picture.draw(layout, look());
    picture.element.setAttribute(
      "aria-label",
      `What ${nameOf(unitAt(grown.root))} attends to: ${spokenMatrix(shown)}`,
    );
    legend.show(
      { quantity: quantityName(), depth: state.get().depth, max: shown.max, scale },
      (text) => widthOf(text, NUMBER_SIZE, 400),
    );
    colour();
    head.show({
      root: { name: nameOf(unitAt(grown.root)), token: tokenAt(grown.root) },
      matrix: matrixName(shown),
      trail: trail.map((token) => ({
        name: nameOf(shown.units[shown.unitOf(token)]!),
        token,
      })),
      note: noteOf(limit),
    });
    rove(picture.box(entry) === null ? nearest(entry) : entry);
    if (held !== null && picture.item(held) === null) focusOn(entry);
    if (carded !== null && picture.box(carded) === null) showCard(null);
    else showCard(carded);
  }

  const quantityName = (): string => (matrix?.quantity === "rollout" ? "rollout" : "weight");

  const look = (): TreeLook => ({
    share: (weight) => rampPosition(weight, matrix!.max, state.get().scale),
    spoken: (box) => spokenNode(facts(box)),
    whole: (box) => (box.label === nameOf(unitAt(box.node)) ? null : nameOf(unitAt(box.node))),
    token: (box) => tokenAt(box.node),
  });

  /** Colours of the levels, in the theme that is on. */
  function colour(): void {
    const { css } = ramp("depth", modeOf(element));
    const { depth } = state.get();
    root.style.setProperty("--aw-depth-0", "var(--aw-ink)");
    for (let level = 1; level <= depth; level++) {
      const share = depth > 1 ? (level - 1) / (depth - 1) : 0;
      root.style.setProperty(`--aw-depth-${level}`, css[Math.round(share * (RAMP_SIZE - 1))]!);
    }
  }

  // --- scores -------------------------------------------------------------------------------

  const scoreKey = ({ layer, head: which, quantity }: Matrix): string =>
    `${quantity} ${layer} ${which}`;

  function absentReason(shown: Matrix): string | null {
    if (shown.quantity === "rollout") return "rollout mixes heads and layers";
    const words = shown.units.some(({ token, end }) => end - token > 1);
    return scoresAbsent({ head: shown.head, words }, source.meta);
  }

  async function loadScores(shown: Matrix): Promise<void> {
    const key = scoreKey(shown);
    const absent = absentReason(shown);
    if (absent !== null) scores = { key, values: null, absent };
    else if (scores?.key !== key || scores.values === null) {
      try {
        const { layer, head: which } = shown;
        const answer = await source.slice({ kind: "scores", layer, head: which }, { signal });
        if (store.get() !== shown) return;
        const values = answer.arrays.get("scores")?.data as Float32Array | undefined;
        scores = { key, values: values ?? null, absent: null };
      } catch (error) {
        if (isAbort(error) || store.get() !== shown) return;
        const { message } = explain(error);
        scores = { key, values: null, absent: message.replace(/\.$/, "") };
      }
    }
    if (layout === null || signal.aborted) return;
    picture.describe(look());
    showCard(carded);
  }

  function scoreOf({ parent, unit }: TreeNode): number | null {
    if (matrix === null || parent === null || scores?.key !== scoreKey(matrix)) return null;
    if (scores.values === null || absentReason(matrix) !== null) return null;
    const { units } = matrix;
    return scores.values[units[parent.unit]!.token * n + units[unit]!.token] ?? null;
  }

  function facts({ node, parent }: Pick<TreeBox, "node" | "parent">): NodeFacts {
    const unit = unitAt(node);
    const known = matrix !== null && scores?.key === scoreKey(matrix);
    return {
      node,
      name: nameOf(unit),
      word: unit.special ? null : tokenLabel(unit.text, scheme, unit.surface).word,
      token: unit.token,
      parent:
        parent === null ? null : { name: nameOf(unitAt(parent.node)), token: tokenAt(parent.node) },
      siblings: parent === null ? 0 : grown!.childrenOf(parent.node).length,
      children: grown!.childrenOf(node).length,
      score: scoreOf(node),
      scoreAbsent: known ? scores!.absent : null,
      quantity: quantityName(),
    };
  }

  // --- the card -----------------------------------------------------------------------------

  function showCard(path: string | null): void {
    const box = path === null ? null : picture.box(path);
    carded = box === null ? null : path;
    tip.hidden = box === null;
    picture.light(carded);
    if (box === null) return;
    tip.replaceChildren(nodeCard(facts(box)));
    const frame = pane.getBoundingClientRect();
    // Where the token will stand, not where it is on its way.
    const x = box.x - scroller.scrollLeft;
    const y = box.y - scroller.scrollTop;
    const { offsetWidth: width, offsetHeight: height } = tip;
    const left = Math.max(0, Math.min(x, frame.width - width));
    const below = y + 16;
    const top =
      below + height > scroller.clientHeight && y - 16 - height > 0 ? y - 16 - height : below;
    tip.style.left = `${Math.round(left)}px`;
    tip.style.top = `${Math.round(top)}px`;
  }

  // --- acting -------------------------------------------------------------------------------

  const focusedPath = (): string | null =>
    document.activeElement?.closest<SVGElement>(".aw-tree-node")?.dataset.path ?? null;

  /** The nearest token above a path that is drawn. */
  function nearest(path: string): string {
    for (let at = path; at !== ""; at = at.slice(0, Math.max(0, at.lastIndexOf("/")))) {
      if (picture.box(at) !== null) return at;
    }
    return layout?.boxes[0]?.path ?? "";
  }

  function rove(path: string): void {
    picture.item(entry)?.setAttribute("tabindex", "-1");
    entry = path;
    picture.item(entry)?.setAttribute("tabindex", "0");
  }

  function focusOn(path: string): void {
    rove(path);
    const item = picture.item(path) as SVGGElement | null;
    item?.focus({ preventScroll: true });
    reveal(path);
  }

  /** A new tree begins with its root in the middle. */
  function center(): void {
    scroller.scrollLeft = 0;
    scroller.scrollTop = (layout?.boxes[0]?.y ?? 0) - scroller.clientHeight / 2;
  }

  /** Scroll the panel, and never the page, to a token. */
  function reveal(path: string): void {
    const box = picture.box(path);
    if (box === null) return;
    const left = box.x - box.numberWidth - 16;
    const right = box.x + box.width + 16;
    if (left < scroller.scrollLeft) scroller.scrollLeft = left;
    else if (right > scroller.scrollLeft + scroller.clientWidth) {
      scroller.scrollLeft = right - scroller.clientWidth;
    }
    if (box.y - 24 < scroller.scrollTop) scroller.scrollTop = box.y - 24;
    else if (box.y + 24 > scroller.scrollTop + scroller.clientHeight) {
      scroller.scrollTop = box.y + 24 - scroller.clientHeight;
    }
  }

  function toggle(box: TreeBox, open = !box.open): void {
    if (!box.inner) return;
    toggled.set(box.path, open);
    draw();
    stage.announce(`${nameOf(unitAt(box.node))} ${open ? "opened" : "closed"}`);
  }

  function reroot(token: number, focus = true): void {
    showCard(null);
    if (state.get().token === token) return;
    entry = "";
    state.set({ token });
    const first = layout?.boxes[0];
    if (first === undefined) return;
    stage.announce(`Root: ${nameOf(unitAt(first.node))}, ${facts(first).children} children`);
    if (focus) focusOn(first.path);
  }

  const boxOf = (target: EventTarget | null): TreeBox | null => {
    const path = (target as Element | null)?.closest<SVGElement>(".aw-tree-node")?.dataset.path;
    return path === undefined ? null : picture.box(path);
  };

  picture.element.addEventListener(
    "click",
    (event) => {
      const box = boxOf(event.target);
      if (box === null) return;
      if ((event.target as Element).closest(".aw-tree-toggle") !== null) {
        focusOn(box.path);
        toggle(box);
      } else reroot(tokenAt(box.node));
    },
    { signal },
  );
  picture.element.addEventListener(
    "pointerover",
    (event) => {
      const box = boxOf(event.target);
      if (box !== null) showCard(box.path);
    },
    { signal },
  );
  picture.element.addEventListener(
    "pointerout",
    (event) => {
      if (boxOf(event.relatedTarget) === null) showCard(focusedPath());
    },
    { signal },
  );
  picture.element.addEventListener(
    "focusin",
    (event) => {
      const box = boxOf(event.target);
      if (box === null) return;
      rove(box.path);
      showCard(box.path);
    },
    { signal },
  );
  picture.element.addEventListener("focusout", () => showCard(null), { signal });
  scroller.addEventListener("scroll", () => showCard(carded), { signal, passive: true });

  function onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || layout === null) return;
    const box = boxOf(event.target);
    if (box === null) return;
    const { boxes } = layout;
    const at = boxes.indexOf(box);
    const go = (to: TreeBox | null | undefined): void => {
      if (to != null) focusOn(to.path);
    };
    switch (event.key) {
      case "ArrowDown":
        go(boxes[at + 1]);
        break;
      case "ArrowUp":
        go(boxes[at - 1]);
        break;
      case "ArrowRight":
        if (box.inner && !box.open) toggle(box, true);
        else if (box.open) go(boxes[at + 1]);
        break;
      case "ArrowLeft":
        if (box.open) toggle(box, false);
        else go(box.parent);
        break;
      case "Home":
        go(boxes[0]);
        break;
      case "End":
        go(boxes.at(-1));
        break;
      case " ":
        toggle(box);
        break;
      case "Enter":
        reroot(tokenAt(box.node));
        break;
      case "Backspace":
        if (trail.length === 0) return;
        reroot(trail.at(-1)!);
        break;
      case "Escape":
        if (tip.hidden) return;
        showCard(null);
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
  picture.element.addEventListener("keydown", onKey, { signal });

  onResize(
    root,
    (width) => {
      if (width === room) return;
      room = width;
      draw();
    },
    signal,
  );
  onTheme(element, colour, signal);
  const stops = [
    stopHead,
    store.on(update),
    state.on(["token", "top_k", "depth", "scale"], update),
  ];

  return {
    dispose() {
      for (const stop of stops) stop();
      picture.dispose();
      element.replaceChildren();
    },
    async table(): Promise<Table | null> {
      if (matrix === null || grown === null) return null;
      const shown = matrix;
      const whole = grown;
      const { topK, depth } = shapeOf();
      if (nodesThrough(shown.size, { topK, depth }).at(-1)! > TABLE_MOST) {
        throw new SliceFailure(
          `A tree with ${topK} children and ${depth} levels could have over ${formatCount(TABLE_MOST)} tokens.`,
          "Take fewer children or levels.",
        );
      }
      await loadScores(shown);
      const rows = edgesOf(whole).map((node) => {
        const parent = shown.units[node.parent!.unit]!;
        const child = shown.units[node.unit]!;
        return [
          ...[parent.token, child.token, parent.text, child.text],
          ...[node.depth, node.weight, node.product, scoreOf(node)],
        ];
      });
      return { columns: COLUMNS, rows };
    },
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
