/** The influence tree of a token (docs/definitions.md, section 5), grown in the page from the matrix on screen. */

import { computed, signal } from "@preact/signals-core";
import { render } from "preact";
import { type Mode, RAMP_SIZE, ramp } from "../../draw/color/ramp";
import { modeOf, onTheme, palette } from "../../draw/color/theme";
import { consume } from "../../draw/dom";
import { scrollAcross, scrollDown } from "../../draw/scroll";
import { tapTwice } from "../../draw/touch";
import { copyExactValues } from "../../figures/format";
import { errorOf } from "../../figures/matrix";
import { matrixName, spokenMatrix } from "../../figures/names";
import { calledOf } from "../../figures/quantities";
import { itemAt } from "../../protocol/required";
import { HoverCard } from "../../ui/hover-card";
import { mount, signalOf } from "../../ui/mount";
import type { ViewContext, ViewHandle } from "../contract";
import type { Grown } from "./grown";
import { type LayoutName, ROW, type TreeBox } from "./layout";
import { createTreeModel } from "./model";
import { glide } from "./motion";
import { Card, Head } from "./panel";
import { Legend, Picture } from "./picture";
import { standaloneTree } from "./svg";
import { treeTable } from "./table";

/** Around what is scrolled to, px. */
const MARGIN = 16;
const EMPTY =
  "No tokens are shown: the text has only special ones, and they are switched off below.";

export function tree(host: HTMLElement, context: ViewContext): ViewHandle {
  const { state, signal: until } = context;
  const model = createTreeModel(host, context);
  const { selection, matrix, layoutName, toggled, trail, grown, layout, boxes, facts } = model;
  const mode = signalOf(
    () => modeOf(host),
    (changed) => onTheme(host, changed, until),
  );
  /** Counts scrolling, which moves the card. */
  const scrolled = signal(0);
  /** Path of the token that Tab enters, and of the one whose card is open. */
  const entry = signal("");
  const carded = signal<string | null>(null);
  let focused: string | null = null;
  let scroller: HTMLElement | null = null;
  /** The token whose card is open, and the paths from the root to it. */
  const card = computed(() => boxes.value.get(carded.value ?? "") ?? null);
  const lit = computed(() => {
    const paths = new Set<string>();
    for (let at = card.value; at !== null; at = at.parent) paths.add(at.path);
    return paths;
  });

  // -- the picture ------------------------------------------------------------------------------

  function View() {
    const [of, drawn, looks] = [grown.value, layout.value, model.look.value];
    const head = {
      selection: selection.value,
      layout: layoutName.value,
      back: reroot,
      set: state.set,
      choose(name: LayoutName) {
        layoutName.value = name;
        center();
      },
    };
    if (of === null || drawn === null || looks === null) {
      const waits = matrix.value === null;
      return (
        <div class="aw-tree" dir="ltr">
          <Head root={null} matrix="" trail={[]} note="" {...head} />
          <p class={waits ? "aw-hint aw-tree-wait" : "aw-empty"}>
            {waits ? "Loading the weights …" : EMPTY}
          </p>
        </div>
      );
    }
    const { matrix: shown, whole, name, token } = of;
    const colors = depthColors(model.shape.value.depth, mode.value);
    return (
      <div
        class="aw-tree"
        dir="ltr"
        style={{ "--aw-tree-label": `${drawn.density.label}px`, ...colors }}
      >
        <Head
          root={{ name: name(whole.root), token: token(whole.root) }}
          matrix={matrixName(shown)}
          trail={trail.value.map((token) => ({ name: of.nameOf(token), token }))}
          note={model.note(of)}
          {...head}
        />
        <div class="aw-tree-legends">
          <Legend
            quantity={calledOf(shown.quantity)}
            depth={model.shape.value.depth}
            max={shown.max}
            scale={selection.value.scale}
            error={errorOf(shown, shown.max)}
            alone={drawn.boxes.length === 1}
            measure={model.measure}
            room={model.width.value}
          />
        </div>
        <div class="aw-tree-pane">
          <div class="aw-tree-scroll" ref={scrollerIs} {...listeners}>
            <Picture
              layout={drawn}
              look={looks}
              label={`What ${name(whole.root)} attends to: ${spokenMatrix(shown)}`}
              entry={nearest(entry.value)}
              lit={lit.value}
            />
          </div>
          <CardOf of={of} />
        </div>
      </div>
    );
  }

  function CardOf({ of }: { readonly of: Grown }) {
    void scrolled.value;
    return (
      <HoverCard at={card.value} area={() => scroller}>
        {card.value && <Card {...facts(card.value, of)} />}
      </HoverCard>
    );
  }

  // -- what the reader does ---------------------------------------------------------------------

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
  const show = (path: string | null): void => {
    carded.value = path;
  };
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
    scroller.scrollLeft = layoutName.value === "tidy" ? 0 : middle;
    scroller.scrollTop = root.y - scroller.clientHeight / 2;
  }

  function toggle({ path, node }: TreeBox, open: boolean): void {
    toggled.value = new Map(toggled.value).set(path, open);
    context.announce(`${grown.value?.name(node)} ${open ? "opened" : "closed"}`);
  }

  function reroot(token: number): void {
    show(null);
    if (state.get().token === token) return;
    state.set({ token });
    const [of, root] = [grown.value, layout.value?.boxes[0]];
    if (of === null || root === undefined) return;
    const { name, children } = facts(root, of);
    context.announce(`Root: ${name}, ${children} children`);
    focusOn(root.path);
  }

  /** Do what a key does (ARIA's tree pattern); false for a key that does nothing here. */
  function press(key: string, box: TreeBox): boolean {
    const all = layout.value?.boxes ?? [];
    const at = all.indexOf(box);
    const earlier = trail.value.at(-1);
    const go = (to: TreeBox | null | undefined): void => {
      if (to != null) focusOn(to.path);
    };
    if (key === "ArrowDown") go(all[at + 1]);
    else if (key === "ArrowUp") go(all[at - 1]);
    else if (key === "ArrowRight" && box.open) go(all[at + 1]);
    else if (key === "ArrowLeft" && !box.open) go(box.parent);
    else if (key === "ArrowRight" || key === "ArrowLeft" || key === " ") {
      if (box.inner) toggle(box, !box.open);
    } else if (key === "Home") go(all[0]);
    else if (key === "End") go(all.at(-1));
    else if (key === "Enter" && grown.value !== null) reroot(grown.value.token(box.node));
    else if (key === "Backspace" && earlier !== undefined) reroot(earlier);
    else if (key === "Escape" && card.value !== null) show(null);
    else return false;
    return true;
  }

  const listeners = {
    onScroll() {
      scrolled.value++;
    },
    onClick(event: MouseEvent) {
      const box = boxOf(event.target);
      if (box === null || grown.value === null) return;
      if (!onToggle(event)) return reroot(grown.value.token(box.node));
      focusOn(box.path);
      toggle(box, !box.open);
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

  // -- what follows from a change ---------------------------------------------------------------

  let before = boxes.peek();
  let centered: string | null = null;
  mount(host, View, until, () => {
    const [now, drawn] = [boxes.value, layout.value];
    if (now === before || drawn === null) return;
    glide(host, before, drawn);
    before = now;
    if (focused !== null && !now.has(focused)) focusOn(nearest(focused));
    const root = itemAt(drawn.boxes, 0).path;
    if (centered !== root) center();
    centered = root;
  });
  copyExactValues(host, until);

  return {
    dispose: () => render(null, host),
    table: async () =>
      grown.value &&
      treeTable(grown.value.whole, grown.value.matrix, model.shape.value, model.scores),
    svg() {
      const of = grown.value;
      const picture = host.querySelector<SVGSVGElement>(".aw-tree-svg");
      const legend = host.querySelector<SVGSVGElement>(".aw-tree-legend");
      if (of === null || picture === null || legend === null) return null;
      const name = `What ${of.name(of.whole.root)} attends to, ${matrixName(of.matrix)}`;
      return standaloneTree(picture, legend, { ground: palette(host).ground, name });
    },
  };
}

/** Colors of the levels, as style properties. */
function depthColors(depth: number, mode: Mode): Record<string, string> {
  const { css } = ramp("depth", mode);
  const share = (level: number): number => (depth > 1 ? (level - 1) / (depth - 1) : 0);
  const colors = Array.from({ length: depth }, (_, i) => [
    `--aw-depth-${i + 1}`,
    itemAt(css, Math.round(share(i + 1) * (RAMP_SIZE - 1))),
  ]);
  return Object.fromEntries([["--aw-depth-0", "var(--aw-ink)"], ...colors]);
}
