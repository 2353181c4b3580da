/** The trace drawn by the collapsible tree, with what heads, FFNs and the rest of every cell hold below it. */

import { computed, signal } from "@preact/signals-core";
import { consume } from "../../draw/dom";
import { createRuler } from "../../draw/measure";
import { formatNumber, formatSigned } from "../../figures/format";
import { headName } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import { Percent } from "../../ui/figure";
import { widthOf } from "../../ui/mount";
import { Num } from "../../ui/number";
import { densityOf, INDEX_GAP, layoutTree, type TreeBox } from "../tree/layout";
import { type NodeFacts, Picture } from "../tree/picture";
import { tidy } from "../tree/tidy";
import { SIDES, type SideName, type Traced } from "./data";
import type { QkModel } from "./model";
import { type Names, SideToken } from "./names";
import { spokenItem, type TraceItem, traceTree } from "./trace";

/** Font sizes of a number and of an index, and the width before anything has been laid out, px. */
const NUMBER_SIZE = 11;
const INDEX_SIZE = 10;
const WIDTH = 560;
/** Width of a link that asks another question, as a share of the widest. */
const ASKS = 0.12;
const LEVELS = 6;

const SIDE_NAMES: Readonly<Record<SideName, string>> = { key: "Key side", query: "Query side" };
const Signed = ({ value }: { readonly value: number }) => (
  <Num value={value} text={formatSigned(value)} />
);

/** A cell in words, with what its sides hold, and why nothing below it is followed. */
const Cell = ({ of, names }: { readonly of: Traced; readonly names: Names }) => (
  <li>
    <strong>{headName(of.layer, of.head)}</strong>{" "}
    <SideToken names={names} side="query" token={of.query} />
    {" → "}
    <SideToken names={names} side="key" token={of.key} />
    {" ("}
    <Percent value={of.weight} />
    {"). "}
    {of.stop}
    {SIDES.map((side) => {
      const { heads, ffns, rest } = of.sides[side];
      return (
        <div key={side} class="aw-muted">
          {`${SIDE_NAMES[side]}: heads `}
          <Signed value={heads} />
          {", FFNs "}
          <Signed value={ffns} />
          {", rest "}
          <Signed value={rest} />
          {" = "}
          <Num value={of.contrast} />
        </div>
      );
    })}
  </li>
);

export function createTrace({ place, traced, names, way: { go }, until }: QkModel) {
  const ruler = createRuler(place);
  const width = widthOf(place, WIDTH, until);
  const closed = signal<ReadonlySet<string>>(new Set());
  const entry = signal("0");
  const tree = computed(() => traced.value && traceTree(traced.value, names));
  const itemOf = ({ unit }: { readonly unit: number }): TraceItem =>
    itemAt(tree.value?.items ?? [], unit);
  const layout = computed(() => {
    if (tree.value === null) return null;
    const { label: size, labelMost } = densityOf(width.value);
    return layoutTree(
      { root: tree.value.root, childrenOf: (node) => itemOf(node).children },
      tidy,
      width.value,
      {
        path: (node) => itemOf(node).path,
        open: (node) => !closed.value.has(itemOf(node).path),
        number: ({ weight }) =>
          weight === null ? 0 : ruler.width(formatNumber(weight), NUMBER_SIZE, 400),
        label(node) {
          const { name, index, parent } = itemOf(node);
          const weight = parent === null ? 600 : 400;
          const most = parent === null ? 2 * labelMost : labelMost;
          const { text, width: textWidth } = ruler.fit(name, size, weight, most);
          const more = index === null ? 0 : INDEX_GAP + ruler.width(index, INDEX_SIZE, 400);
          return { text, textWidth, index, width: textWidth + more };
        },
      },
    );
  });
  const facts = computed<ReadonlyMap<string, NodeFacts>>(() => {
    const items = tree.value?.items ?? [];
    const most = Math.max(...items.map(({ weight }) => Math.abs(weight ?? 0)));
    return new Map(
      items.map((item) => [
        item.path,
        {
          name: item.name,
          token: item.unit,
          weight: item.weight === null ? null : { value: item.weight, error: 0 },
          siblings: item.parent?.children.length ?? 1,
          share: item.side === null ? ASKS : Math.abs(item.weight ?? 0) / (most || 1),
          spoken: spokenItem(names, item),
          dashed: item.side === null,
        },
      ]),
    );
  });
  const boxOf = (target: EventTarget | null): TreeBox | undefined => {
    const path = (target as Element).closest<SVGElement>("[data-path]")?.dataset.path;
    return layout.value?.boxes.find((box) => box.path === path);
  };
  function focus({ path }: TreeBox): void {
    entry.value = path;
    place
      .querySelector<SVGElement>(`.aw-tree-node[data-path="${path}"]`)
      ?.focus({ preventScroll: true });
  }
  function toggle({ path, open }: TreeBox): void {
    const next = new Set(closed.peek());
    if (open) next.add(path);
    else next.delete(path);
    closed.value = next;
  }
  const choose = (box: TreeBox): void => {
    if (box.parent === null) return;
    const { layer, head, query, key } = itemOf(box.node).cell;
    go({ layer, head, query, key });
  };
  /** ARIA's tree pattern. */
  function press(key: string, box: TreeBox): boolean {
    const all = layout.value?.boxes ?? [];
    const at = all.indexOf(box);
    const to = (next: TreeBox | null | undefined) => () => next != null && focus(next);
    const flip = () => box.inner && toggle(box);
    const keys: Readonly<Record<string, () => void>> = {
      ArrowDown: to(all[at + 1]),
      ArrowUp: to(all[at - 1]),
      ArrowRight: box.open ? to(all[at + 1]) : flip,
      ArrowLeft: box.open ? flip : to(box.parent),
      Home: to(all[0]),
      End: to(all.at(-1)),
      " ": flip,
      Enter: () => choose(box),
    };
    keys[key]?.();
    return key in keys;
  }

  const listeners = {
    onClick(event: MouseEvent) {
      const box = boxOf(event.target);
      if (box === undefined) return;
      if ((event.target as Element).closest(".aw-tree-toggle") === null) return choose(box);
      focus(box);
      toggle(box);
    },
    onFocusIn({ target }: FocusEvent) {
      entry.value = boxOf(target)?.path ?? entry.value;
    },
    onKeyDown(event: KeyboardEvent) {
      const box = boxOf(event.target);
      if (event.ctrlKey || event.metaKey || event.altKey || box === undefined) return;
      if (press(event.key, box)) consume(event);
    },
  };

  return function Trace() {
    const [drawn, of] = [layout.value, tree.value];
    if (drawn === null || of === null) return null;
    const colors = Object.fromEntries(
      Array.from({ length: LEVELS + 1 }, (_, i) => [`--aw-depth-${i}`, "var(--aw-accent)"]),
    );
    return (
      <section class="aw-qk-trace" data-aw-part="qk-trace">
        <h4 class="aw-title">Trace: which heads brought it, and where those read it</h4>
        {of.items.length > 1 && (
          <div
            class="aw-tree-scroll"
            style={{ "--aw-tree-label": `${drawn.density.label}px`, ...colors }}
            {...listeners}
          >
            <Picture
              layout={drawn}
              facts={facts.value}
              label="Heads that bring the contrast, and the cells where they read"
              entry={drawn.boxes.some(({ path }) => path === entry.value) ? entry.value : "0"}
              highlighted={NONE}
            />
          </div>
        )}
        {of.items.length > 1 && (
          <p class="aw-view-note">
            From left to right, back through the layers: a solid link leads to an earlier head, with
            what it adds to the score; a dashed link leads to the link at which that head read most
            of it, which is a question of its own.
          </p>
        )}
        <h4 class="aw-title">Where it stops</h4>
        <ul class="aw-qk-cells aw-small" data-aw-part="qk-stops">
          {of.items.flatMap(({ side, path, cell }) =>
            side === null && cell.stop !== null ? <Cell key={path} of={cell} names={names} /> : [],
          )}
        </ul>
      </section>
    );
  };
}
const NONE: ReadonlySet<string> = new Set();
