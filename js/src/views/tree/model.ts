/** State of the tree as signals: what it is grown from, its layout, and the numbers of its tokens. */

import { computed, signal } from "@preact/signals-core";
import { rampPosition } from "../../draw/color/scale";
import { errorOfProduct, nodesThrough, type TreeNode } from "../../figures/derive/tree";
import { formatNumber } from "../../figures/format";
import { errorOf } from "../../figures/matrix";
import { calledOf } from "../../figures/quantities";
import { signalOf, watch, widthOf } from "../../ui/mount";
import type { ViewContext } from "../contract";
import { type Grown, grow } from "./grown";
import { densityOf, INDEX_GAP, type LayoutName, layoutTree, type TreeBox } from "./layout";
import { createRuler } from "./measure";
import { treeNotes } from "./notes";
import { type Facts, spoken } from "./panel";
import type { Look } from "./picture";
import { createEdgeScores } from "./scores";

/**
 * Tokens drawn at once; what lies deeper is folded. So many a browser lays out within a blink (a thousand
 * take it a second on a busy machine), and forces need more time for each.
 */
const DRAWN_MAX: Readonly<Record<LayoutName, number>> = { tidy: 600, force: 300 };
/** Earlier roots that are offered. */
const TRAIL_MAX = 4;
/** Font sizes, px. */
const NUMBER_SIZE = 11;
const INDEX_SIZE = 10;
/** Width before anything has been laid out, px. */
const WIDTH = 640;

export function createTreeModel(host: HTMLElement, context: ViewContext) {
  const { source, state, signal: until, matrix: store } = context;
  const ruler = createRuler(host);
  const scores = createEdgeScores(context);

  const selection = signalOf(state.get, (changed) =>
    state.on(["token", "top_k", "depth", "scale"], changed, until),
  );
  const matrix = signalOf(store.get, (changed) => store.on(changed, until));
  const width = widthOf(host, WIDTH, until);
  const layoutName = signal<LayoutName>("tidy");
  /** By path: what the reader has opened or closed. Kept from head to head. */
  const toggled = signal<ReadonlyMap<string, boolean>>(new Map());
  const trail = signal<readonly number[]>([]);
  /** Counts answers with scores. */
  const scored = signal(0);

  const shape = computed(() => ({ topK: selection.value.top_k, depth: selection.value.depth }));
  const grown = computed(() =>
    matrix.value === null || matrix.value.size === 0
      ? null
      : grow(matrix.value, selection.value.token, shape.value, source),
  );
  /** Tokens that the tree can have down to each level, and the levels that are open by themselves. */
  const levels = computed(() => {
    const totals = nodesThrough(matrix.value?.size ?? 0, shape.value);
    const limit = DRAWN_MAX[layoutName.value];
    return { totals, limit, open: totals.filter((total) => total <= limit).length - 1 };
  });
  const layout = computed(() => {
    if (grown.value === null) return null;
    const { whole, matrix: shown, path, name, index } = grown.value;
    return layoutTree(whole, layoutName.value, width.value, {
      path,
      open: (node) => toggled.value.get(path(node)) ?? node.depth < levels.value.open,
      number: ({ weight }) =>
        weight === null
          ? 0
          : ruler.width(formatNumber(weight, undefined, errorOf(shown, weight)), NUMBER_SIZE, 400),
      label(node) {
        const { label: size, labelMost } = densityOf(width.value);
        const label = ruler.fit(name(node), size, node.parent === null ? 600 : 400, labelMost);
        const place = index(node);
        const more = place === null ? 0 : INDEX_GAP + ruler.width(place, INDEX_SIZE, 400);
        return {
          text: label.text,
          textWidth: label.width,
          index: place,
          width: label.width + more,
        };
      },
    });
  });
  const boxes = computed(() => new Map(layout.value?.boxes.map((box) => [box.path, box])));
  const look = computed((): Look | null => {
    void scored.value;
    const of = grown.value;
    const { scale } = selection.value;
    return (
      of && {
        share: (weight) => rampPosition(weight, of.matrix.max, scale),
        spoken: (box) => spoken(facts(box, of)),
        whole: ({ node, label }) => (label.text === of.name(node) ? null : of.name(node)),
        token: ({ node }) => of.token(node),
        error: (weight) => errorOf(of.matrix, weight),
      }
    );
  });
  function facts({ node, parent }: Pick<TreeBox, "node" | "parent">, of: Grown): Facts {
    const { matrix: shown, whole, name, token, word } = of;
    const named = (other: TreeNode) => ({ name: name(other), token: token(other) });
    return {
      node,
      ...named(node),
      word: word(node),
      parent: parent && named(parent.node),
      siblings: parent === null ? 0 : whole.childrenOf(parent.node).length,
      children: whole.childrenOf(node).length,
      score: node.parent && scores.of(shown, node.parent.unit, node.unit),
      scoreAbsent: scores.absent(shown),
      quantity: calledOf(shown.quantity),
      errors: {
        weight: node.weight === null ? 0 : errorOf(shown, node.weight),
        product: errorOfProduct(node, (weight) => errorOf(shown, weight)),
        score: shown.scoreError ?? 0,
      },
    };
  }

  function note({ matrix: shown, whole, name }: Grown): string {
    const { totals, open, limit } = levels.value;
    return treeNotes(
      {
        matrix: shown,
        token: selection.value.token,
        root: name(whole.root),
        children: whole.childrenOf(whole.root).length,
        totals,
        open,
        limit,
      },
      source.meta.tokens,
    );
  }

  let lastRoot: number | null = null;
  watch(() => {
    const of = grown.value;
    if (of === null) return;
    const root = of.token(of.whole.root);
    let earlier = trail.peek();
    if (lastRoot !== null && lastRoot !== root) {
      const known = earlier.indexOf(root);
      earlier = known >= 0 ? earlier.slice(0, known) : [...earlier, lastRoot].slice(-TRAIL_MAX);
    }
    trail.value = earlier.filter((token) => of.matrix.unitOf(token) >= 0);
    lastRoot = root;
    void scores.load(of.matrix).then(() => {
      if (!until.aborted && matrix.peek() === of.matrix) scored.value++;
    });
  }, until);

  return {
    selection,
    matrix,
    width,
    layoutName,
    toggled,
    trail,
    shape,
    grown,
    layout,
    boxes,
    look,
    scores,
    facts,
    note,
    /** Width of a small text, px. */
    measure: (text: string) => ruler.width(text, NUMBER_SIZE, 400),
  };
}
