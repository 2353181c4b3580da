/** State of the tree as signals: what it is grown from, its layout, and the numbers of its tokens. */

import { computed, type ReadonlySignal, signal } from "@preact/signals-core";
import { createRuler } from "../../draw/measure";
import { formatNumber } from "../../figures/format";
import { selectionOf, signalOf, watch, widthOf } from "../../ui/mount";
import type { ViewContext } from "../../views/contract";
import { factsOf } from "./facts";
import { type Grown, grow } from "./grown";
import { nodesThrough } from "./influence";
import { densityOf, INDEX_GAP, layoutTree, type Placement } from "./layout";
import { treeNotes } from "./notes";
import { createEdgeScores } from "./scores";
import { encoderMatrix } from "./source-tree";
import { tidy } from "./tidy";

/** Earlier roots that are offered. */
const TRAIL_MAX = 4;
/** Font sizes, px. */
const NUMBER_SIZE = 11;
const INDEX_SIZE = 10;
/** Below this width (px) only so many levels are open by themselves: more would lie beyond its edge. */
const PHONE = 440;
const PHONE_LEVELS = 2;
/** Width before anything has been laid out, px. */
const WIDTH = 640;

export function createTreeModel(
  host: HTMLElement,
  context: ViewContext,
  bare: ReadonlySignal<boolean>,
) {
  const { source, state, signal: until, matrix: store } = context;
  const ruler = createRuler(host);
  const scores = createEdgeScores(context);

  const selection = selectionOf(state, ["token", "top_k", "depth", "scale"], until);
  const matrix = signalOf(store.get, (changed) => store.on(changed, until));
  const encoder = encoderMatrix(context);
  const width = widthOf(host, WIDTH, until);
  const placement = signal<Placement>(tidy);
  /** By path: what the reader has opened or closed. Kept from head to head. */
  const toggled = signal<ReadonlyMap<string, boolean>>(new Map());
  const trail = signal<readonly number[]>([]);

  const shape = computed(() => ({ topK: selection.value.top_k, depth: selection.value.depth }));
  const grown = computed(() =>
    matrix.value === null || matrix.value.keys.length === 0
      ? null
      : grow(
          matrix.value,
          selection.value.token,
          { ...shape.value, bare: bare.value },
          source,
          encoder.value,
        ),
  );
  /** Tokens that the tree can have down to each level, and the levels that are open by themselves. */
  const levels = computed(() => {
    const totals = nodesThrough(matrix.value?.keys.length ?? 0, shape.value);
    const limit = placement.value.drawnMax;
    const open = totals.filter((total) => total <= limit).length - 1;
    return { totals, limit, open: width.value < PHONE ? Math.min(open, PHONE_LEVELS) : open };
  });
  const layout = computed(() => {
    if (grown.value === null) return null;
    const { whole, token } = grown.value;
    return layoutTree(whole, placement.value, width.value, {
      path: (node) => token(node).path,
      open: (node) =>
        toggled.value.get(token(node).path) ??
        (node.depth < levels.value.open && grown.value?.leadsOn(node) === true),
      number(node) {
        const { weight } = token(node);
        return weight === null ? 0 : ruler.width(formatNumber(weight), NUMBER_SIZE, 400);
      },
      label(node) {
        const { name, index } = token(node);
        const { label: size, labelMost } = densityOf(width.value);
        const { text, width: textWidth } = ruler.fit(
          name,
          size,
          node.parent === null ? 600 : 400,
          labelMost,
        );
        const more = index === null ? 0 : INDEX_GAP + ruler.width(index, INDEX_SIZE, 400);
        return { text, textWidth, index, width: textWidth + more };
      },
    });
  });
  const boxes = computed(() => new Map(layout.value?.boxes.map((box) => [box.path, box])));
  /** The drawn tokens in full, by path. */
  const facts = computed(() => {
    const of = grown.value;
    const { scale } = selection.value;
    const drawn = (of && layout.value?.boxes) ?? [];
    return new Map(
      drawn.map(({ path, node }) => [path, factsOf(node, of as Grown, scores, scale)]),
    );
  });

  const note = (of: Grown): string =>
    treeNotes(of, selection.value.token, levels.value, source.meta.tokens);

  let lastRoot: number | null = null;
  watch(() => {
    const of = grown.value;
    if (of === null) return;
    const root = of.token(of.whole.root).token;
    let earlier = trail.peek();
    if (lastRoot !== null && lastRoot !== root) {
      const at = earlier.indexOf(root);
      earlier = at >= 0 ? earlier.slice(0, at) : [...earlier, lastRoot].slice(-TRAIL_MAX);
    }
    trail.value = earlier.filter((token) => of.matrix.queryOf(token) >= 0);
    lastRoot = root;
    void scores.load(of.matrix);
  }, until);

  return {
    selection,
    matrix,
    width,
    placement,
    toggled,
    trail,
    shape,
    grown,
    layout,
    boxes,
    facts,
    scores,
    note,
    /** Width of a small text, px. */
    measure: (text: string) => ruler.width(text, NUMBER_SIZE, 400),
  };
}

export type TreeModel = ReturnType<typeof createTreeModel>;
