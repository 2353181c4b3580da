/** The selected matrix: heatmap and flow side by side, exact numbers for every link. */

import { batch, untracked } from "@preact/signals-core";
import { render } from "preact";
import { onTheme } from "../../draw/color/theme";
import { onResize } from "../../draw/resize";
import { isSecondClick } from "../../draw/touch";
import type { Matrix } from "../../figures/matrix";
import { spokenMatrix } from "../../figures/names";
import { keysOf } from "../../protocol/meta";
import { memo } from "../../ui/memo";
import { mount, watch } from "../../ui/mount";
import {
  lazyCode,
  showSettings,
  type ViewContext,
  type ViewHandle,
  withLazyCode,
} from "../contract";
import { Head, Tools } from "./controls";
import { restIn, windowOf } from "./export";
import { askLanguage } from "./facts";
import { Input } from "./input";
import { MatrixTable } from "./matrix-table";
import { AttentionModel, isEmpty } from "./model";
import { PairHint } from "./pair-hint";
import { createPairPlace, type PairPlace } from "./pair-place";
import { Pictures } from "./pictures";
import { Sentence } from "./sentence";
import { Tip } from "./tip";

const LINES = [
  ["sentence", "dashed: sentences"],
  ["segment", "solid: segments A and B"],
] as const;

interface Parts {
  readonly model: AttentionModel;
  readonly pictures: Pictures;
  readonly input: Input;
  readonly place: PairPlace;
}

/** The pinned pair, and the matrix as a table. */
const Below = memo(function Below({
  model,
  shown,
  place,
}: Pick<Parts, "model" | "place"> & { readonly shown: Matrix }) {
  const { selection, arrivals, numbers, labels, facts, context, mode } = model;
  const { token } = selection.value;
  arrivals.value;
  const [row, column] = model.pinned(shown);
  const { PinnedPair } = lazyCode.value ?? {};
  const link = row >= 0 && column >= 0 && numbers?.of(shown, row, column);
  return (
    <div class="aw-below">
      <div class={`aw-link-strip${link ? " aw-has-pair" : ""}`} data-aw-part="pair">
        {link && PinnedPair ? (
          <PinnedPair
            {...{ matrix: shown, row, column, labels, link, facts, context }}
            mode={mode.value}
            hold={place.hold}
          />
        ) : (
          <PairHint empty={isEmpty(shown)} context={context} />
        )}
      </div>
      <MatrixTable
        matrix={shown}
        labels={labels}
        focus={shown.queryOf(token)}
        rest={shown.scores === null ? restIn(shown, context.source.meta) : null}
      />
    </div>
  );
});

/** Both pictures; the map is put before the flow. */
const Drawings = ({ pictures, input, shown }: Parts & { readonly shown: Matrix | null }) => (
  <div class="aw-pictures" hidden={shown !== null && isEmpty(shown)} ref={pictures.box}>
    <canvas
      class="aw-flow"
      role="img"
      aria-label={shown ? `Links of ${spokenMatrix(shown)} as lines` : undefined}
      data-aw-part="flow"
      ref={pictures.flow}
      onPointerMove={(event) => input.hover(pictures.flowCell(event), pictures.pointIn(event))}
      onPointerLeave={() => input.hover(null)}
      onClick={(event) => {
        const cell = pictures.flowCell(event);
        if (cell !== null && !isSecondClick(event))
          input.pick(cell, event.ctrlKey || event.metaKey);
      }}
    />
  </div>
);

function View(parts: Parts) {
  const { model, pictures } = parts;
  const { context, selection, labels, facts, matrix, mode, picture, threshold, zoomed } = model;
  const shown = matrix.value;
  const { token } = selection.value;
  model.arrivals.value;
  const { GroupStrip } = lazyCode.value ?? {};
  return (
    <>
      <Head context={context} matrix={shown} selection={selection.value} />
      <div class="aw-attention-lead">
        {shown ? (
          <Sentence
            matrix={shown}
            focus={shown.queryOf(token)}
            tokens={keysOf(context.source.meta)}
            wordless={context.source.meta.wordless}
            choose={(token) => context.state.set({ token })}
            {...{ labels, facts }}
          />
        ) : (
          <p class="aw-sentence" />
        )}
        <Tools
          {...{ matrix, mode, picture, threshold, zoomed }}
          drawn={model.links}
          showAll={() => pictures.zoom(null)}
        />
      </div>
      <Drawings {...parts} shown={shown} />
      <div data-aw-part="group">
        {shown && GroupStrip && <GroupStrip context={context} matrix={shown} labels={labels} />}
      </div>
      {shown ? <Below {...{ model, shown }} place={parts.place} /> : <div class="aw-below" />}
    </>
  );
}

/** The part of the Display popover. */
function Settings({ model, pictures }: Parts) {
  const { AttentionDisplay } = lazyCode.value ?? {};
  const { boundaries, matrix, threshold, links, lines } = model;
  const kinds = LINES.filter(([kind]) =>
    [...boundaries.value.rows, ...boundaries.value.columns].some((line) => line.kind === kind),
  );
  return (
    AttentionDisplay && (
      <AttentionDisplay
        max={matrix.value?.max ?? 1}
        boundaries={kinds.length > 0 ? kinds.map(([, text]) => text).join("; ") : null}
        threshold={threshold.value}
        drawn={links.value}
        lines={lines}
        setThreshold={(value) => {
          model.setThreshold(value);
          pictures.drawFlow();
        }}
        zoom={(factor) => pictures.zoom(factor)}
      />
    )
  );
}

/** Take a matrix and draw it. */
function show({ model, pictures, input }: Parts, next: Matrix): void {
  const first = model.matrix.value === null;
  const started = performance.now();
  const [rows, columns] = [next.queries.length, next.keys.length];
  if (model.take(next)) pictures.layout(pictures.width);
  pictures.map.element.setAttribute(
    "aria-label",
    `${next.scores === null ? "Attention" : "Scores"} of ${spokenMatrix(next)}, ` +
      `${rows} by ${columns}. Arrow keys move over cells, Enter pins one.`,
  );
  pictures.show(next);
  const { layer, head } = next;
  performance.mark("aw:drawn", {
    detail: { ms: performance.now() - started, size: rows, first, layer, head },
  });
  if (model.cursor !== null || model.context.state.get().pair !== null) input.loadNumbers();
}

/** Draws again what changes with the selection, with the element, and with what comes later. */
function follow(parts: Parts, tip: Tip, element: HTMLElement): void {
  const { model, pictures, input } = parts;
  const { context, matrix, picture, lines, arrivals } = model;
  const { source, state, signal: until } = context;
  const mark = (): void => {
    pictures.mark();
    if (matrix.value !== null && state.get().pair !== null) input.loadNumbers();
    tip.show();
  };
  watch(() => {
    element.dataset.awPicture = picture.value;
    untracked(() => pictures.drawFlow());
  }, until);
  watch(() => {
    lines.value;
    untracked(() => pictures.redraw());
  }, until);
  // Within a batch the canvas is drawn before any element changes.
  context.matrix.on((next) => batch(() => show(parts, next)), until, "first");
  state.on(["token", "pair", "group"], mark, until);
  const rescale = (): void => {
    pictures.redraw();
    pictures.drawFlow();
  };
  state.on(["scale"], rescale, until);
  state.on(["height"], () => pictures.layout(pictures.width), until);
  onResize(element, (width) => pictures.layout(width), until);
  onTheme(element, () => pictures.recolor(), until);
  withLazyCode(() => {
    model.nameStarts();
    arrivals.value++;
    pictures.redraw();
    mark();
  }, until);
  askLanguage(source, until, (language) => {
    if (model.learn(language)) pictures.redraw();
    arrivals.value++;
    tip.show();
  });
}

export function attention(element: HTMLElement, context: ViewContext): ViewHandle {
  const { signal: until } = context;
  const model = new AttentionModel(context, element);
  const pictures: Pictures = new Pictures(element, model, {
    hover: (cell, at) => input.hover(cell, at),
    pick: (cell, gathering) => input.pick(cell, gathering),
  });
  const tip = new Tip(model, pictures);
  const input = new Input(model, pictures, tip);
  const place = createPairPlace(context);
  const parts: Parts = { model, pictures, input, place };
  watch(() => {
    const shown = model.matrix.value;
    if (shown === null) return;
    const [row, column] = model.pinned(shown);
    place.show({ matrix: shown, row, column });
  }, until);
  mount(element, () => View(parts), until);
  pictures.box.current?.prepend(pictures.map.element);
  pictures.box.current?.append(tip.element);
  showSettings(context, {
    View: () => Settings(parts),
    changed: () => [
      ...(model.chosen.value ? ["links from"] : []),
      ...(model.lines.value ? [] : ["boundaries"]),
    ],
  });
  input.listen(element);
  follow(parts, tip, element);
  return {
    dispose() {
      element.classList.remove("aw-wide", "aw-roomy");
      render(null, element);
    },
    table: () => {
      const shown = model.matrix.value;
      return shown && (lazyCode.peek()?.attentionTable(context, shown) ?? null);
    },
    part(of) {
      const { geometry } = pictures.map;
      const shown = geometry === null ? null : windowOf(geometry);
      const bars = of === "svg" ? lazyCode.peek()?.windows.bars(context.source.meta) : null;
      return [shown, bars].filter(Boolean).join(" ") || null;
    },
    svg: () => pictures.svg(),
  };
}
