/** State of the head grid as signals: what shades the heads, each head in words, and what the reader does to one. */

import { computed, signal } from "@preact/signals-core";
import { fitCanvas, penOf } from "../../draw/canvas";
import { category } from "../../draw/color/category";
import { palette } from "../../draw/color/theme";
import { ABSENT, formatNumber } from "../../figures/format";
import { roleName } from "../../figures/head-names";
import { isComputed } from "../../figures/layer-progress";
import { headName, metricName, spokenHead } from "../../figures/names";
import { hasHead } from "../../figures/quantities";
import { latest, QUIET_MS } from "../../protocol/asking";
import { isAbort } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import { modeSignal, selectionOf, signalOf } from "../../ui/mount";
import type { LazyCode, ViewContext } from "../../views/contract";
import { askCode } from "../../views/lazy-views";
import { createHeadsOff } from "./off";
import { paintFigures, paintRoles, paintThumbnails, sizeOf } from "./paint";
import { isSigned, type Shade } from "./shadings";

/** Between cells, px. */
export const GAP = 2;

/** A head in words. */
export interface About {
  readonly label: string;
  readonly title: string;
  readonly value?: number | undefined;
  readonly role?: number | undefined;
}

/** The shading that is painted, and the one that is asked for. */
function createShade(context: ViewContext) {
  const { source, state, signal: until } = context;
  const { arrays, meta } = source;
  const { profile, metrics } = meta;
  const figuresOf = (key: string): ArrayLike<number> | null =>
    arrays.get(`metric:${key}`)?.data ?? null;
  /** Shading to fall back to. */
  const plain = profile === null ? "thumbnails" : itemAt(metrics.keys, 0);
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

  const next = latest(until);
  /** Follow the selection: at once when the figures are here, else when they have come. */
  async function reshade(): Promise<void> {
    const signal = next();
    waiting.value = null;
    const { metric } = state.get();
    const here = shadeOf(metric);
    if (here !== null) {
      shade.value = here;
      return;
    }
    const late = setTimeout(() => {
      waiting.value = metric;
    }, QUIET_MS);
    try {
      const { askShade } = (await askCode(source, signal)).headFigures;
      const found = await askShade(source, state.get(), { signal });
      if (signal.aborted) return;
      if (found === null) state.set({ metric: plain });
      else shade.value = found;
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

  state.on(["metric"], () => void reshade(), until);
  const changed = (): void => void (["effect", "pair"].includes(state.get().metric) && reshade());
  state.on(["target", "pair", "words"], changed, until);
  return { shade, waiting, open: () => void (initial === null && reshade()) };
}

export function createGridModel(host: HTMLElement, context: ViewContext) {
  const { source, state, signal: until } = context;
  const { arrays, meta } = source;
  const { n_layers: layers, n_heads: heads } = meta.model;
  const { snapshot } = meta;
  /** On its side, with layers as columns, a grid of many layers takes the width that is there, and a third of the height. */
  const side = layers > heads;
  const [columns, rows] = side ? [layers, heads] : [heads, layers];
  const isSaved = (layer: number, head: number): boolean =>
    snapshot === undefined || (snapshot.layers.includes(layer) && snapshot.heads.includes(head));
  const selection = selectionOf(state, ["layer", "head", "metric", "scale"], until);
  const scale = computed(() => selection.value.scale);
  const mode = modeSignal(host, until);
  const off = createHeadsOff(context);
  const { shade, waiting, open } = createShade(context);
  /** Counts layers of a long text that have come. */
  const filled = signal(0);
  /** A quantity of a layer is shown: one cell a layer. */
  const layered = signalOf(
    () => !hasHead(context.matrix.get()?.quantity ?? "weights"),
    (changed) => context.matrix.on(changed, until),
  );
  /** Size of a cell, px. */
  const cell = signal(0);
  /** The ends of the ramp of figures. */
  const ends = signal<{ readonly least: number; readonly most: number } | null>(null);
  const parts: {
    grid?: HTMLElement;
    canvas?: HTMLCanvasElement;
    strips?: ReturnType<LazyCode["layerStrips"]>;
  } = {};

  const about = computed((): readonly About[] => {
    const { key, figures, roles, name = metricName(key), num } = shade.value;
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
            ? formatNumber(num?.(value) ?? value)
            : "not computed yet";
      const what =
        role === undefined
          ? `${figures === null ? "largest weight" : name} ${number}`
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

  /** Paint all layers, or the thumbnails of `only` one; gives the ends of the ramp of figures. */
  function paint(only?: number): { readonly least: number; readonly most: number } | null {
    if (cell.value === 0 || parts.canvas === undefined) return null;
    const { figures, roles, key } = shade.value;
    void mode.value;
    const step = cell.value + GAP;
    const cells = { layers, heads, cell: cell.value, step, side };
    const some = only !== undefined && figures === null && roles === null && !layered.value;
    const context = some ? penOf(parts.canvas) : fitCanvas(parts.canvas, ...sizeOf(cells, layers));
    const [thumbs, maxima] = [arrays.get("thumbs"), arrays.get("head_max")];
    if (layered.value) parts.strips?.paint(context, cells);
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

  return {
    ...{
      layers,
      heads,
      side,
      columns,
      rows,
      isSaved,
      selection,
      scale,
      mode,
      off,
      shade,
      waiting,
      filled,
      layered,
    },
    ...{ cell, ends, parts, about, paint, open },
    redraw(): void {
      ends.value = paint();
    },
  };
}

export type GridModel = ReturnType<typeof createGridModel>;
