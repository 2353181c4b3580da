/** The influence tree of a token (docs/definitions.md, section 5), grown in the page from the matrix on screen. */

import { signal } from "@preact/signals-core";
import { render } from "preact";
import { type Mode, RAMP_SIZE, ramp } from "../../draw/color/ramp";
import { palette } from "../../draw/color/theme";
import { errorOf, isSquare } from "../../figures/matrix";
import { matrixName, spokenMatrix } from "../../figures/names";
import { calledOf } from "../../figures/quantities";
import { keysOf } from "../../protocol/meta";
import { itemAt } from "../../protocol/required";
import { DEFAULT_SELECTION } from "../../state/state";
import { copyExactValues } from "../../ui/copy-exact";
import { HoverCard } from "../../ui/hover-card";
import { modeSignal, mount, setter } from "../../ui/mount";
import { showSettings, type ViewContext, type ViewHandle } from "../../views/contract";
import { createInteraction } from "./interaction";
import type { Placement } from "./layout";
import { Legend } from "./legend";
import { createTreeModel } from "./model";
import { glide } from "./motion";
import { Card, Head, Settings } from "./panel";
import { Picture } from "./picture";
import { TreeSentence } from "./sentence";
import { standaloneTree } from "./svg";
import { treeTable } from "./table";
import { tidy } from "./tidy";

const EMPTY =
  "No tokens are shown: the text has only special tokens, which are hidden. Switch them on in Display.";

/** `bare`: whether special tokens and punctuation are left out below the root. */
export function tree(host: HTMLElement, context: ViewContext, bare = signal(true)): ViewHandle {
  const { state, signal: until } = context;
  const model = createTreeModel(host, context, bare);
  const { selection, matrix, placement, trail, grown, layout, boxes, facts } = model;
  const mode = modeSignal(host, until);
  const interaction = createInteraction(host, context, model);

  function View() {
    const [of, drawn] = [grown.value, layout.value];
    if (of === null || drawn === null) {
      const waits = matrix.value === null;
      return (
        <div class="aw-tree" dir="ltr">
          <Head root={null} matrix="" trail={[]} back={interaction.reroot} />
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
          back={interaction.reroot}
        />
        <TreeSentence
          of={of}
          tokens={keysOf(context.source.meta)}
          choose={(token) => context.state.set({ token })}
        />
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
          <div class="aw-tree-scroll" ref={interaction.scrollerIs} {...interaction.listeners}>
            <Picture
              layout={drawn}
              facts={facts.value}
              label={`What ${root.name} attends to: ${spokenMatrix(shown)}`}
              entry={interaction.entry.value}
              highlighted={interaction.highlighted.value}
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
          interaction.center();
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
    void interaction.scrolled.value;
    const { value: at } = interaction.card;
    const shown = facts.value.get(at?.path ?? "");
    return (
      <HoverCard at={at} area={interaction.scroller}>
        {shown && <Card {...shown} />}
      </HoverCard>
    );
  }

  let before = boxes.peek();
  let centered: string | null = null;
  mount(host, View, until, () => {
    const [now, drawn] = [boxes.value, layout.value];
    if (now === before || drawn === null) return;
    glide(host, before, drawn);
    before = now;
    interaction.keepFocus();
    const root = itemAt(drawn.boxes, 0).path;
    if (centered !== root) interaction.center();
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
