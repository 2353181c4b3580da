/** Every head at once: thumbnails or shades on one canvas, real buttons on top. */

import { computed, signal } from "@preact/signals-core";
import { render } from "preact";
import { fitCanvas, penOf } from "../../draw/canvas";
import { category, categoryColor } from "../../draw/color/category";
import { inkOn, rampImage } from "../../draw/color/ramp";
import { palette, ROOT_CLASS } from "../../draw/color/theme";
import { consume } from "../../draw/dom";
import { onResize } from "../../draw/resize";
import { scrollAcross } from "../../draw/scroll";
import { byTouch } from "../../draw/touch";
import { ALIGNMENT_KEYS, PATTERN_KEYS, SPECIALIZATION_KEYS } from "../../figures/catalog/names";
import { ABSENT, exact, formatNumber } from "../../figures/format";
import { askFigures, askRoles, isAligned, type Roles, roleName } from "../../figures/head-figures";
import { isComputed } from "../../figures/layer-progress";
import { headName, metricName, spokenHead } from "../../figures/names";
import { hasHead } from "../../figures/quantities";
import { latest, QUIET_MS } from "../../protocol/asking";
import { cannotAnswer, isAbort } from "../../protocol/failure";
import { looksBack } from "../../protocol/meta";
import { itemAt } from "../../protocol/required";
import { Button, type OptionGroup, Select } from "../../ui/controls";
import { memo } from "../../ui/memo";
import { modeSignal, selectionOf, signalOf, watch } from "../../ui/mount";
import { type LazyCode, type ViewContext, withLazyCode } from "../../views/contract";
import { createHeadsOff, createTyping } from "./off";
import { largestOf, paintFigures, paintRoles, paintThumbnails, sizeOf, waitingFor } from "./paint";

const GAP = 2;
const AXIS = 26;
/** For a finger a cell has at least 24 px, and the grid scrolls where there is no room. */
const CELL = { least: 9, touch: 24, most: 28 } as const;
/** Height of all layers, px, above which cells are smaller: more is far taller than most views, and the list below out of sight. */
const TALL = 540;
/** Width of the widget, px: below, it is one column. */
const PHONE = 480;
/** The smallest cell above which two digits have room; below it, every so many columns are named. */
const LABEL_CELL = 13;
const NAMED = { upright: 2, side: 5 } as const;
const RAMP_STOPS = 18;

/** Shading of the heads: their own thumbnails, a figure, or their roles. */
interface Shade {
  readonly key: string;
  /** One figure a head; null for thumbnails and roles. */
  readonly figures: ArrayLike<number> | null;
  readonly roles: Roles | null;
}

/** A head in words. */
interface About {
  readonly label: string;
  readonly title: string;
  readonly value?: number | undefined;
  readonly role?: number | undefined;
}

const Head = ({
  layer,
  head,
  about: { label, value, role },
  pressed,
  entry,
  off,
  absent,
}: {
  readonly layer: number;
  readonly head: number;
  readonly about: About;
  readonly pressed: boolean;
  readonly entry: boolean;
  readonly off: boolean;
  readonly absent: boolean;
}) => (
  <Button
    class={`aw-grid-head${absent ? " is-absent" : ""}${off ? " is-off" : ""}`}
    label={label}
    tabIndex={entry ? 0 : -1}
    aria-pressed={pressed}
    aria-disabled={absent || undefined}
    data-layer={layer}
    data-head={head}
    data-aw-value={value === undefined ? undefined : exact(value)}
    data-aw-role={role}
  />
);

export function headGrid(host: HTMLElement, context: ViewContext): () => void {
  const { source, state, signal: until } = context;
  const { arrays, meta } = source;
  const { n_layers: layers, n_heads: heads } = meta.model;
  const { profile, metrics, snapshot } = meta;
  /** On its side, with layers as columns, a grid of many layers takes the width that is there, and a third of the height. */
  const side = layers > heads;
  const [columns, rows] = side ? [layers, heads] : [heads, layers];
  const isSaved = (layer: number, head: number): boolean =>
    snapshot === undefined || (snapshot.layers.includes(layer) && snapshot.heads.includes(head));
  const figuresOf = (key: string): ArrayLike<number> | null =>
    arrays.get(`metric:${key}`)?.data ?? null;
  /** Shading to fall back to. */
  const plain = profile === null ? "thumbnails" : itemAt(metrics.keys, 0);
  const options = shadings(context);

  const selection = selectionOf(state, ["layer", "head", "metric", "scale"], until);
  const scale = computed(() => selection.value.scale);
  const mode = modeSignal(host, until);
  const off = createHeadsOff(context);
  /** The shading whose numbers are here; null where they must be asked for. */
  function shadeOf(key: string): Shade | null {
    const figures = figuresOf(key);
    if (figures === null && (key !== "thumbnails" || profile !== null)) return null;
    return { key, figures, roles: null };
  }
  const initial = shadeOf(state.get().metric);
  const shade = signal(initial ?? { key: plain, figures: figuresOf(plain), roles: null });
  /** The shading that has not come yet. */
  const waiting = signal<string | null>(null);
  /** Counts layers of a long text that have come. */
  const filled = signal(0);
  /** A quantity of a layer is shown: one cell a layer. */
  const layered = signalOf(
    () => !hasHead(context.matrix.get()?.quantity ?? "weights"),
    (changed) => context.matrix.on(changed, until),
  );
  const cell = signal(0);
  let strips: ReturnType<LazyCode["layerStrips"]> | null = null;
  let canvas!: HTMLCanvasElement;
  let grid!: HTMLElement;

  const about = computed((): readonly About[] => {
    const { key, figures, roles } = shade.value;
    const largest = arrays.get("head_max")?.data;
    void filled.value;
    return Array.from({ length: layers * heads }, (_, i) => {
      const [layer, head] = [Math.floor(i / heads), i % heads];
      if (layered.value) return { label: `layer ${layer}`, title: `L${layer}` };
      const role = roles === null ? undefined : (roles.labels[i] ?? 0);
      const value = role === undefined ? (figures ?? largest)?.[i] : undefined;
      const number =
        value === undefined
          ? ABSENT
          : isComputed(source, i)
            ? formatNumber(value)
            : "not computed yet";
      const what =
        role === undefined
          ? `${figures === null ? "largest weight" : metricName(key)} ${number}`
          : `role ${category(role).letter}, ${roleName(roles?.names[role] ?? "")}`;
      const more = off.isOff(layer, head) ? ", switched off" : "";
      return {
        label: `${spokenHead(layer, head)}: ${what}${more}`,
        title: `${headName(layer, head)}   ${what}${more}${isSaved(layer, head) ? "" : "   not in this saved page"}`,
        value,
        role,
      };
    });
  });

  // -- what shades the heads --------------------------------------------------------------------

  const next = latest(until);
  /** Follow the selection: at once when the figures are here, else when they have come. */
  async function reshade(): Promise<void> {
    const signal = next();
    waiting.value = null;
    const { metric, target } = state.get();
    const here = shadeOf(metric);
    if (here !== null) {
      shade.value = here;
      return;
    }
    const late = setTimeout(() => {
      waiting.value = metric;
    }, QUIET_MS);
    try {
      const roles =
        metric === "role" && !isAligned(meta) ? await askRoles(source, { signal }) : null;
      const found = roles === null ? await askFigures(source, metric, target, { signal }) : null;
      if (signal.aborted) return;
      if (roles === null && found === null) state.set({ metric: plain });
      else shade.value = { key: metric, figures: found, roles };
    } catch (error) {
      if (isAbort(error) || signal.aborted) return;
      const name = metricName(metric).toLowerCase();
      context.report(error, `The heads cannot be shaded by ${name}: `);
      // The menu names the figure that is painted.
      state.set({ metric: shade.peek().key });
    } finally {
      clearTimeout(late);
      if (!signal.aborted) waiting.value = null;
    }
  }

  /** Paint all layers, or the thumbnails of `only` one; gives the ends of the ramp of figures. */
  function paint(only?: number): { readonly least: number; readonly most: number } | null {
    if (cell.value === 0) return null;
    const { figures, roles, key } = shade.value;
    void mode.value;
    const step = cell.value + GAP;
    const cells = { layers, heads, cell: cell.value, step, side };
    const some = only !== undefined && figures === null && roles === null && !layered.value;
    const context = some ? penOf(canvas) : fitCanvas(canvas, ...sizeOf(cells, layers));
    const [thumbs, maxima] = [arrays.get("thumbs"), arrays.get("head_max")];
    if (layered.value) strips?.paint(context, cells);
    else if (roles !== null) paintRoles(context, cells, palette(host), roles.labels);
    else if (figures !== null)
      return paintFigures(context, cells, palette(host), figures, isSigned(key));
    else if (thumbs !== undefined && maxima !== undefined) {
      const words = arrays.get("word_max");
      paintThumbnails(
        context,
        cells,
        palette(host),
        scale.value,
        thumbs,
        maxima,
        words,
        some ? only : undefined,
      );
    }
    return null;
  }

  // -- what the reader does ---------------------------------------------------------------------

  const chosen = (): readonly [layer: number, head: number] => {
    const { layer, head } = state.get();
    return [layer, head === "mean" ? 0 : head];
  };

  function select(layer: number, head: number, focus = true): void {
    state.set(layered.peek() ? { layer } : { layer, head });
    // A saved page goes on to the next head that it has.
    if (focus) grid.querySelector<HTMLElement>('[tabindex="0"]')?.focus({ preventScroll: true });
  }

  const type = createTyping((layer, head) => {
    if (layer < layers && head < heads) select(layer, head);
    else context.announce(`There is no layer ${layer}, head ${head}.`);
  });

  function click({ target }: Event): void {
    const button = (target as Element).closest<HTMLElement>(".aw-grid-head");
    if (button?.ariaDisabled === "true" && !layered.peek())
      context.announce("This head is not in this saved page.");
    else if (button) select(Number(button.dataset.layer), Number(button.dataset.head));
  }

  function press(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [layer, head] = chosen();
    const [row, column] = side ? [head, layer] : [layer, head];
    const moves: Record<string, readonly [number, number]> = {
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      Home: [row, 0],
      End: [row, columns - 1],
      PageUp: [0, column],
      PageDown: [rows - 1, column],
    };
    const move = moves[event.key];
    if (move !== undefined) {
      const [l, k] = side ? [move[1], move[0]] : move;
      if (l >= 0 && l < layers && k >= 0 && k < heads) select(l, k);
    } else if (event.key === "o" && profile === null) off.toggle(layer, head);
    else if (event.key === "O" && profile === null) off.clear();
    else if (!type(event.key)) return;
    consume(event);
  }

  // -- the picture ------------------------------------------------------------------------------

  /** A layer: drawn again only where the chosen head comes or goes. */
  const Row = memo(
    ({
      layer,
      about: words,
      pressed,
      entry,
      unnamed,
    }: {
      readonly layer: number;
      /** Class of a label that has no room. */
      readonly unnamed: string;
      readonly about: readonly About[];
      readonly pressed: number | "all" | null;
      readonly entry: number;
    }) => (
      <>
        <span class={`aw-grid-layer${unnamed}`} aria-hidden="true">
          {layer}
        </span>
        {Array.from({ length: heads }, (_, k) => (
          <Head
            key={k}
            layer={layer}
            head={k}
            about={itemAt(words, layer * heads + k)}
            pressed={pressed === "all" || pressed === k}
            entry={entry === k}
            off={off.isOff(layer, k)}
            absent={!isSaved(layer, k)}
          />
        ))}
      </>
    ),
  );

  const Grid = memo(() => {
    const { layer: row, head } = selection.value;
    const byLayer = layered.value;
    const mean = head === "mean" || byLayer;
    const words = about.value;
    const [, column] = chosen();
    const tight = cell.value < LABEL_CELL && columns > 10;
    const unnamed = (i: number, across: boolean): string =>
      tight && across && i % NAMED[side ? "side" : "upright"] !== 0 ? " is-unnamed" : "";
    const lines = { along: "2 / -1", layer: `${row + 2} / ${row + 3}` };
    return (
      <div
        class={`aw-grid ${side ? "is-side" : "is-upright"}${byLayer ? " is-layers" : ""}`}
        role="group"
        aria-label="Heads by layer"
        aria-busy={waiting.value !== null || undefined}
        data-aw-mean={mean ? "" : undefined}
        style={{ "--aw-cell": `${cell.value}px`, "--aw-heads": heads, "--aw-layers": layers }}
        ref={(element) => {
          if (element !== null) grid = element;
        }}
        onClick={click}
        onKeyDown={press}
      >
        <canvas
          class="aw-grid-canvas"
          aria-hidden="true"
          ref={(element) => {
            if (element !== null) canvas = element;
          }}
        />
        <span class="aw-grid-corner" aria-hidden="true">
          <span class="aw-grid-across">{side ? "layer" : "head"}</span>
          <span class="aw-grid-down">{side ? "head" : "layer"}</span>
        </span>
        {Array.from({ length: heads }, (_, k) => (
          <span key={`h${k}`} class={`aw-grid-number${unnamed(k, !side)}`} aria-hidden="true">
            {k}
          </span>
        ))}
        {Array.from({ length: layers }, (_, l) => (
          <Row
            key={`l${l}`}
            layer={l}
            unnamed={unnamed(l, side)}
            about={words}
            pressed={l !== row ? null : byLayer ? 0 : mean ? "all" : head}
            entry={l === row ? (byLayer ? 0 : column) : -1}
          />
        ))}
        {/* The column heads are the first row of the CSS grid, whose lines count from 1. */}
        <span
          class="aw-grid-mean"
          aria-hidden="true"
          hidden={!mean}
          style={
            side
              ? { gridColumn: lines.layer, gridRow: lines.along }
              : { gridColumn: lines.along, gridRow: lines.layer }
          }
        />
      </div>
    );
  });

  /** The ends of the ramp, and what is painted, in words. */
  const ends = signal<{ readonly least: number; readonly most: number } | null>(null);

  const Foot = memo(() => {
    const { key, figures, roles } = shade.value;
    const byLayer = layered.value;
    const late = waiting.value;
    const largest = figures === null || byLayer || late !== null ? null : largestOf(figures);
    const note =
      late !== null
        ? waitingFor(late)
        : byLayer
          ? "one cell per layer: contribution of each token"
          : figures !== null && largest === null
            ? "N/A for this text"
            : "";
    const [layer, head] = [Math.floor((largest ?? 0) / heads), (largest ?? 0) % heads];
    const signed = isSigned(key);
    return (
      <>
        <div class="aw-grid-foot" hidden={note === "" && largest === null}>
          <span class="aw-grid-note" hidden={note === ""}>
            {note}
          </span>
          <Button
            class="aw-grid-most"
            part="grid-most"
            hidden={largest === null}
            data-layer={largest === null ? undefined : layer}
            data-head={largest === null ? undefined : head}
            onClick={() => select(layer, head, false)}
          >
            most: {headName(layer, head)}
          </Button>
          <div class="aw-ramp aw-grid-legend" hidden={largest === null}>
            <span class="aw-number">{ends.value && formatNumber(ends.value.least)}</span>
            <span
              class="aw-ramp-bar"
              aria-hidden="true"
              style={{
                background:
                  largest === null
                    ? undefined
                    : rampImage(signed ? "signed" : "metric", mode.value, RAMP_STOPS),
              }}
            />
            <span class="aw-number">{ends.value && formatNumber(ends.value.most)}</span>
          </div>
        </div>
        {off.View()}
        <ul
          class="aw-grid-roles aw-list aw-cluster"
          data-aw-part="grid-roles"
          hidden={roles === null || byLayer || late !== null}
        >
          {roles?.names.map((name, role) => {
            const { letter, rgb } = category(role);
            const style = {
              background: categoryColor(role, mode.value),
              color: inkOn(rgb[mode.value]),
            };
            return (
              <li key={role} class="aw-inline">
                <i class="aw-grid-role" aria-hidden="true" style={style}>
                  {letter}
                </i>
                {roleName(name)}
              </li>
            );
          })}
        </ul>
      </>
    );
  });

  const metric = computed(() => selection.value.metric);
  const Choice = memo(() => (
    <div class="aw-panel-head">
      <h3 class="aw-title">Heads</h3>
      <Select
        label="Figure that shades the heads"
        part="metric"
        options={options}
        value={metric.value}
        choose={(next) => state.set({ metric: next })}
        disabled={layered.value}
      />
    </div>
  ));
  render(
    <>
      <Choice />
      <Grid />
      <Foot />
    </>,
    host,
  );
  const redraw = (): void => {
    ends.value = paint();
  };
  watch(redraw, until);
  onResize(
    host,
    (width) => {
      const room = Math.min((width - AXIS) / columns, TALL / rows) - GAP;
      const whole = host.closest<HTMLElement>(`.${ROOT_CLASS}`)?.clientWidth ?? Infinity;
      const least = byTouch() || whole < PHONE ? CELL.touch : CELL.least;
      cell.value = Math.max(least, Math.min(CELL.most, Math.floor(room)));
    },
    until,
  );
  // A grid that scrolls sideways follows the chosen head.
  watch(() => {
    const { layer, head } = selection.value;
    if (cell.value === 0) return;
    const column = side ? layer : head === "mean" ? 0 : head;
    const from = column * (cell.value + GAP);
    requestAnimationFrame(() => scrollAcross(grid, from, AXIS + from + 2 * (cell.value + GAP)));
  }, until);
  state.on(["metric"], () => void reshade(), until);
  state.on(["target"], () => void (state.get().metric === "effect" && reshade()), until);
  withLazyCode(({ headLens, layerStrips, long }) => {
    headLens(
      host,
      context,
      (index) => itemAt(about.peek(), index).title,
      () => shade.peek().figures === null && shade.peek().roles === null && !layered.peek(),
    );
    strips = layerStrips(host, context, redraw);
    long.layerProgress(context, grid, (layer) => {
      filled.value++;
      paint(layer);
    });
    redraw();
  }, until);
  if (initial === null) void reshade();
  return () => render(null, host);
}

/** True of figures that are painted from zero outwards. */
const isSigned = (key: string): boolean => key === "effect" || key === "monotony";

/** Figures that may shade the heads of a run. */
function shadings({ source }: ViewContext) {
  const { profile, metrics, rest } = source.meta;
  const option = (key: string): readonly [string, string] => [
    key,
    looksBack(source.meta) && key === "cls" ? "First token" : metricName(key),
  ];
  const group = (label: string, keys: readonly string[]): OptionGroup<string> => ({
    label,
    options: keys.map(option),
  });
  const available = (keys: readonly string[]): string[] =>
    keys.filter((key) => profile?.keys.includes(key) ?? (rest || key !== "rest"));
  const aligned = isAligned(source.meta);
  const hasEffect = profile === null && !cannotAnswer(source, { kind: "head_effects", target: {} });
  return [
    ...(profile === null ? [["thumbnails", "Thumbnails"] as const] : []),
    group("Matrix", metrics.keys),
    ...[
      group("Where they look", aligned ? [] : available(SPECIALIZATION_KEYS)),
      group("Pattern", aligned ? [] : available(PATTERN_KEYS)),
      group("Alignment", aligned || profile !== null ? available(ALIGNMENT_KEYS) : []),
    ].filter(({ options }) => options.length > 0),
    ...(profile?.accuracies?.length ? [group("Accuracy", profile.accuracies)] : []),
    ...(aligned ? [] : [["role", "Role"] as const]),
    ...(hasEffect ? [option("effect")] : []),
  ];
}
