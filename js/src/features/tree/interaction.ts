/** Pointer and keyboard in the tree (ARIA's tree pattern): focus, the card, opening, and another root. */

import { computed, signal } from "@preact/signals-core";
import { consume } from "../../draw/dom";
import { scrollAcross, scrollDown } from "../../draw/scroll";
import { tapTwice } from "../../draw/touch";
import { isSquare } from "../../figures/matrix";
import { setter } from "../../ui/mount";
import type { ViewContext } from "../../views/contract";
import { ROW, type TreeBox } from "./layout";
import type { TreeModel } from "./model";
import { tidy } from "./tidy";

/** Around what is scrolled to, px. */
const MARGIN = 16;

/** Actions on a token: open or close it, make it the root. */
function createActions(
  { state, announce }: ViewContext,
  { facts, grown, layout, toggled }: TreeModel,
  show: (path: string | null) => void,
  focusOn: (path: string) => void,
) {
  function toggle({ path, open }: TreeBox): void {
    toggled.value = new Map(toggled.value).set(path, !open);
    announce(`${facts.value.get(path)?.name} ${open ? "closed" : "opened"}`);
  }

  function reroot(token: number): void {
    show(null);
    if (state.get().token === token) return;
    state.set({ token });
    const root = facts.value.get(layout.value?.boxes[0]?.path ?? "");
    if (root === undefined) return;
    announce(`Root: ${root.name}, ${root.children} children`);
    focusOn(root.path);
  }

  /** A token becomes the root; one of another text, which has no row here, is the key of a pair. */
  function choose({ path, node, parent }: TreeBox): void {
    const of = grown.value;
    if (of === null) return;
    const { token } = of.token(node);
    if (isSquare(of.matrix) || parent === null) reroot(token);
    else if (parent.parent === null) state.set({ pair: [of.token(parent.node).token, token] });
    else focusOn(path);
  }

  return { toggle, reroot, choose };
}

export function createInteraction(host: HTMLElement, context: ViewContext, model: TreeModel) {
  const { signal: until } = context;
  const { boxes, grown, layout, placement, trail } = model;
  /** Counts scrolling, which moves the card. */
  const scrolled = signal(0);
  /** Path of the token that Tab enters, and of the one whose card is open. */
  const entry = signal("");
  const carded = signal<string | null>(null);
  let focused: string | null = null;
  let scroller: HTMLElement | null = null;
  /** The token whose card is open, and the paths from the root to it. */
  const card = computed(() => boxes.value.get(carded.value ?? "") ?? null);
  const highlighted = computed(() => {
    const paths = new Set<string>();
    for (let at = card.value; at !== null; at = at.parent) paths.add(at.path);
    return paths;
  });

  /** The nearest token above a path that is drawn; the root without one. */
  function nearest(path: string): string {
    for (let at = path; at !== ""; at = at.slice(0, Math.max(0, at.lastIndexOf("/")))) {
      if (boxes.value.has(at)) return at;
    }
    return layout.value?.boxes[0]?.path ?? "";
  }
  const itemOf = (path: string): SVGElement | null =>
    host.querySelector(`.aw-tree-node[data-path="${path}"]`);
  const boxOf = (target: EventTarget | null): TreeBox | null => {
    const node = (target as Element | null)?.closest<SVGElement>(".aw-tree-node");
    return boxes.value.get(node?.dataset.path ?? "") ?? null;
  };
  const onToggle = ({ target }: Event): boolean =>
    (target as Element).closest(".aw-tree-toggle") !== null;
  const show = setter(carded);
  const scrollerIs = (element: HTMLElement | null): void => {
    scroller = element;
    const pathOf = (event: Event) => (onToggle(event) ? null : (boxOf(event.target)?.path ?? null));
    if (element !== null) tapTwice(element, pathOf, until);
  };

  /** Focus a token, and scroll the panel, never the page, to it. */
  function focusOn(path: string): void {
    entry.value = path;
    itemOf(path)?.focus({ preventScroll: true });
    const box = boxes.value.get(path);
    if (scroller === null || box === undefined) return;
    scrollAcross(scroller, box.x - box.numberWidth - MARGIN, box.x + box.width + MARGIN);
    scrollDown(scroller, box.y - ROW, box.y + ROW);
  }

  /** Scroll the root to where a new tree begins. */
  function center(): void {
    const root = layout.value?.boxes[0];
    if (scroller === null || root === undefined) return;
    const middle = root.x + (root.width - scroller.clientWidth) / 2;
    scroller.scrollLeft = placement.value === tidy ? 0 : middle;
    scroller.scrollTop = root.y - scroller.clientHeight / 2;
  }

  const { toggle, reroot, choose } = createActions(context, model, show, focusOn);

  /** Do what a key does (ARIA's tree pattern); false for a key that does nothing here. */
  function press(key: string, box: TreeBox): boolean {
    const all = layout.value?.boxes ?? [];
    const at = all.indexOf(box);
    const earlier = trail.value.at(-1);
    const go = (to: TreeBox | null | undefined) => () => to != null && focusOn(to.path);
    const flip = () => box.inner && toggle(box);
    const keys: Readonly<Record<string, false | (() => void)>> = {
      ArrowDown: go(all[at + 1]),
      ArrowUp: go(all[at - 1]),
      ArrowRight: box.open ? go(all[at + 1]) : flip,
      ArrowLeft: box.open ? flip : go(box.parent),
      " ": flip,
      Home: go(all[0]),
      End: go(all.at(-1)),
      Enter: () => choose(box),
      Backspace: earlier !== undefined && (() => reroot(earlier)),
      Escape: card.value !== null && (() => show(null)),
    };
    const act = keys[key];
    if (act) act();
    return Boolean(act);
  }

  const listeners = {
    onScroll() {
      scrolled.value++;
    },
    onClick(event: MouseEvent) {
      const box = boxOf(event.target);
      if (box === null || grown.value === null) return;
      if (!onToggle(event)) return choose(box);
      focusOn(box.path);
      toggle(box);
    },
    onPointerOver: ({ target }: Event) => show(boxOf(target)?.path ?? carded.value),
    onPointerOut({ relatedTarget }: PointerEvent) {
      if (boxOf(relatedTarget) === null) show(focused);
    },
    onFocusIn({ target }: Event) {
      const box = boxOf(target);
      if (box === null) return;
      focused = entry.value = box.path;
      show(box.path);
    },
    onFocusOut() {
      focused = null;
      show(null);
    },
    onKeyDown(event: KeyboardEvent) {
      const box = boxOf(event.target);
      if (event.ctrlKey || event.metaKey || event.altKey || box === null) return;
      if (press(event.key, box)) consume(event);
    },
  };

  /** Keep the focus in the tree after a drawing that may have lost its token. */
  function keepFocus(): void {
    if (focused !== null && !boxes.value.has(focused)) focusOn(nearest(focused));
  }

  return {
    card,
    scrolled,
    highlighted,
    /** Path of the token that Tab enters. */
    entry: computed(() => nearest(entry.value)),
    scroller: () => scroller,
    scrollerIs,
    listeners,
    center,
    reroot,
    keepFocus,
  };
}
