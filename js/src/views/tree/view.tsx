/** The influence tree of a token (docs/definitions.md, section 5), grown in the page from the matrix on screen. */

import { computed, signal } from "@preact/signals-core";
import { render } from "preact";
import { type Mode, RAMP_SIZE, ramp } from "../../draw/color/ramp";
import { palette } from "../../draw/color/theme";
import { consume } from "../../draw/dom";
import { scrollAcross, scrollDown } from "../../draw/scroll";
import { tapTwice } from "../../draw/touch";
import { copyExactValues } from "../../figures/format";
import { errorOf, isSquare } from "../../figures/matrix";
import { matrixName, spokenMatrix } from "../../figures/names";
import { calledOf } from "../../figures/quantities";
import { itemAt } from "../../protocol/required";
import { DEFAULT_SELECTION } from "../../state/state";
import { HoverCard } from "../../ui/hover-card";
import { modeSignal, mount, setter } from "../../ui/mount";
import { showSettings, type ViewContext, type ViewHandle } from "../contract";
import { type Placement, ROW, type TreeBox } from "./layout";
import { createTreeModel } from "./model";
import { glide } from "./motion";
import { Card, Head, Settings } from "./panel";
import { Legend, Picture } from "./picture";
import { TreeSentence } from "./sentence";
import { standaloneTree } from "./svg";
import { treeTable } from "./table";
import { tidy } from "./tidy";

/** Around what is scrolled to, px. */
const MARGIN = 16;
const EMPTY =
  "No tokens are shown: the text has only special tokens, which are hidden. Switch them on in Display.";

/** `bare`: whether special tokens and punctuation are left out below the root. */
export function tree(host: HTMLElement, context: ViewContext, bare = signal(true)): ViewHandle {
  const { state, signal: until } = context;
  const model = createTreeModel(host, context, bare);
  const { selection, matrix, placement, toggled, trail, grown, layout, boxes, facts } = model;
  const mode = modeSignal(host, until);
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

  // -- the picture ------------------------------------------------------------------------------

  function View() {
    const [of, drawn] = [grown.value, layout.value];
    if (of === null || drawn === null) {
      const waits = matrix.value === null;
      return (
        <div class="aw-tree" dir="ltr">
          <Head root={null} matrix="" trail={[]} back={reroot} />
          <p class={waits ? "aw-hint aw-tree-wait" : "aw-empty"}>
            {waits ? "Loading the weights …" : EMPTY}
          </p>
        </div>
      );
    }
    const { matrix: shown, whole } = of;
    const root = of.token(whole.root);
    const colors = depthColors(model.shape.value.depth, mode.value, !isSquare(shown));
    const note = model.note(of);
    return (
      <div
        class="aw-tree"
        dir="ltr"
        style={{ "--aw-tree-label": `${drawn.density.label}px`, ...colors }}
      >
        <Head
          root={root}
          matrix={matrixName(shown)}
          trail={trail.value.map((token) => ({ name: of.nameOf(token), token }))}
          back={reroot}
        />
        <TreeSentence of={of} />
        <p class="aw-hint aw-tree-note" data-aw-part="tree-note" hidden={note === ""}>
          {note}
        </p>
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
              facts={facts.value}
              label={`What ${root.name} attends to: ${spokenMatrix(shown)}`}
              entry={nearest(entry.value)}
              highlighted={highlighted.value}
            />
          </div>
          <CardOf />
        </div>
      </div>
    );
  }

  showSettings(context, {
    View: () => (
      <Settings
        selection={selection.value}
        placement={placement.value}
        bare={bare.value}
        set={state.set}
        choose={(next: Placement) => {
          placement.value = next;
          center();
        }}
        setBare={setter(bare)}
      />
    ),
    changed: () => [
      ...(bare.value ? [] : ["words only"]),
      ...(selection.value.top_k === DEFAULT_SELECTION.top_k ? [] : ["children"]),
      ...(selection.value.depth === DEFAULT_SELECTION.depth ? [] : ["levels"]),
      ...(placement.value === tidy ? [] : ["layout"]),
    ],
  });

  function CardOf() {
    void scrolled.value;
    const shown = facts.value.get(card.value?.path ?? "");
    return (
      <HoverCard at={card.value} area={() => scroller}>
        {shown && <Card {...shown} />}
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

  function toggle({ path, open }: TreeBox): void {
    toggled.value = new Map(toggled.value).set(path, !open);
    context.announce(`${facts.value.get(path)?.name} ${open ? "closed" : "opened"}`);
  }

  function reroot(token: number): void {
    show(null);
    if (state.get().token === token) return;
    state.set({ token });
    const root = facts.value.get(layout.value?.boxes[0]?.path ?? "");
    if (root === undefined) return;
    context.announce(`Root: ${root.name}, ${root.children} children`);
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
    options: () => ({ words_only: bare.value }),
    table: async () => grown.value && treeTable(grown.value, model.shape.value, model.scores),
    svg() {
      const of = grown.value;
      const picture = host.querySelector<SVGSVGElement>(".aw-tree-svg");
      const legend = host.querySelector<SVGSVGElement>(".aw-tree-legend");
      if (of === null || picture === null || legend === null) return null;
      const name = `What ${of.token(of.whole.root).name} attends to, ${matrixName(of.matrix)}`;
      return standaloneTree(picture, legend, { ground: palette(host).ground, name });
    },
  };
}

/** Colors of the levels, as style properties. */
function depthColors(depth: number, mode: Mode, across: boolean): Record<string, string> {
  const { css } = ramp("depth", mode);
  const share = (level: number): number => (depth > 1 ? (level - 1) / (depth - 1) : 0);
  const colors = Array.from({ length: depth }, (_, i) => [
    `--aw-depth-${i + 1}`,
    itemAt(css, Math.round(share(i + 1) * (RAMP_SIZE - 1))),
  ]);
  // Links into another text have a hue of their own.
  const hue = ramp("weight", mode).css;
  const first = across ? [["--aw-depth-1", itemAt(hue, Math.round(hue.length * 0.45))]] : [];
  return Object.fromEntries([["--aw-depth-0", "var(--aw-ink)"], ...colors, ...first]);
}
