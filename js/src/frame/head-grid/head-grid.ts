/** Every head at once: thumbnails or shades on one canvas, real buttons on top. */

import { fitCanvas, penOf } from "../../draw/canvas";
import { category } from "../../draw/color/category";
import { type Mode, rampImage } from "../../draw/color/ramp";
import { modeOf, onTheme, palette, ROOT_CLASS } from "../../draw/color/theme";
import { consume, h, setAttributes } from "../../draw/dom";
import { onResize } from "../../draw/resize";
import { byTouch } from "../../draw/touch";
import { isFilled } from "../../figures/filling";
import { ABSENT, exact, formatNumber } from "../../figures/format";
import { askFigures, askRoles, type Roles, roleName } from "../../figures/head-figures";
import { headName, metricName, spokenHead } from "../../figures/names";
import { hasHead } from "../../figures/quantities";
import { explain, isAbort } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import { type LayerStrips, laterParts, type ViewContext, withParts } from "../../views/contract";
import { shadeChoice } from "./choice";
import { createHeadsOff } from "./off";
import {
  largestOf,
  paintFigures,
  paintRoles,
  paintThumbnails,
  roleItems,
  thumbnailNote,
  waitingFor,
} from "./paint";
import { createTyping } from "./typing";

const GAP = 2;
const AXIS = 26;
/** For a finger a cell has at least 24 px, and the grid scrolls where there is no room. */
const CELL = { least: 9, touch: 24, most: 28 } as const;
/** Width of the widget, px: below, it is one column. */
const PHONE = 480;
/** The smallest cell above which two digits have room. */
const LABEL_CELL = 13;
const ABSENT_HEAD = "This head is not in this saved page.";
/** An answer that comes sooner needs no sign of waiting. */
const QUIET_MS = 120;

/** Shading of the heads: their own thumbnails, a figure, or their roles. */
interface Shade {
  readonly key: string;
  /** One figure a head; null for thumbnails and roles. */
  readonly figures: ArrayLike<number> | null;
  readonly roles: Roles | null;
}

export function headGrid(element: HTMLElement, stage: ViewContext): () => void {
  const { source, state, signal } = stage;
  const { n_layers: layers, n_heads: heads } = source.meta.model;
  const { profile } = source.meta;
  const { keys } = source.meta.metrics;
  const { snapshot } = source.meta;
  const isSaved = (layer: number, head: number): boolean =>
    snapshot === undefined || (snapshot.layers.includes(layer) && snapshot.heads.includes(head));
  /** Shading to fall back to. */
  const plain = profile === null ? "thumbnails" : itemAt(keys, 0);

  const choice = shadeChoice(stage);

  const canvas = h("canvas", { class: "aw-grid-canvas", "aria-hidden": "true" });
  const buttons: HTMLButtonElement[] = [];
  const grid = h(
    "div",
    { class: "aw-grid", role: "group", "aria-label": "Heads by layer" },
    canvas,
  );
  grid.append(
    h(
      "span",
      { class: "aw-grid-corner", "aria-hidden": "true" },
      h("span", { class: "aw-grid-heads" }, "head"),
      h("span", { class: "aw-grid-layers" }, "layer"),
    ),
  );
  for (let head = 0; head < heads; head++) {
    const column = h("span", { class: "aw-grid-column", "aria-hidden": "true" }, String(head));
    column.classList.toggle("is-odd", head % 2 === 1);
    grid.append(column);
  }
  for (let layer = 0; layer < layers; layer++) {
    grid.append(h("span", { class: "aw-grid-row", "aria-hidden": "true" }, String(layer)));
    for (let head = 0; head < heads; head++) {
      const button = h("button", {
        class: "aw-grid-head",
        tabindex: -1,
        "aria-pressed": "false",
        "data-layer": layer,
        "data-head": head,
      });
      if (!isSaved(layer, head)) {
        setAttributes(button, { "aria-disabled": "true" });
        button.classList.add("is-absent");
      }
      buttons.push(button);
      grid.append(button);
    }
  }
  const meanRing = h("span", { class: "aw-grid-mean", "aria-hidden": "true", hidden: true });
  meanRing.style.gridColumn = "2 / -1";
  grid.append(meanRing);
  const low = h("span", { class: "aw-number" });
  const high = h("span", { class: "aw-number" });
  const bar = h("span", { class: "aw-ramp-bar", "aria-hidden": "true" });
  const legend = h("div", { class: "aw-ramp aw-grid-legend" }, low, bar, high);
  const note = h("span", { class: "aw-grid-note" });
  const most = h("button", { class: "aw-grid-most", "data-aw-part": "grid-most" });
  const roleList = h("ul", { class: "aw-grid-roles", "data-aw-part": "grid-roles", hidden: true });
  const off = createHeadsOff(stage, strike);
  element.append(
    h("div", { class: "aw-panel-head" }, h("h3", { class: "aw-title" }, "Heads"), choice),
    grid,
    h("div", { class: "aw-grid-foot" }, note, most, legend),
    off.element,
    roleList,
  );

  const at = (layer: number, head: number): HTMLButtonElement =>
    itemAt(buttons, layer * heads + head);
  const focusOf = (): [number, number] => {
    const { layer, head } = state.get();
    return [layer, head === "mean" ? 0 : head];
  };

  /** Strike out what is switched off, or about to be. */
  function strike(): void {
    buttons.forEach((button, i) => {
      const struck = off.isOff(Math.floor(i / heads), i % heads);
      button.classList.toggle("is-off", struck);
    });
    describe();
  }
  /** A quantity of a layer is shown: one cell a layer. */
  let layered = false;
  let strips: LayerStrips | null = null;

  let pressed: HTMLButtonElement[] = [];
  /** Where Tab enters the grid. */
  let entry = itemAt(buttons, 0);
  function mark(): void {
    const { layer, head } = state.get();
    const [row, column] = focusOf();
    // The column heads are the first row of the CSS grid, whose lines count from 1.
    meanRing.style.gridRow = `${layer + 2} / ${layer + 3}`;
    meanRing.hidden = head !== "mean" && !layered;
    grid.toggleAttribute("data-aw-mean", !meanRing.hidden);
    const chosen = layered
      ? [at(row, 0)]
      : head === "mean"
        ? buttons.slice(layer * heads, (layer + 1) * heads)
        : [at(layer, head)];
    for (const button of pressed) {
      if (!chosen.includes(button)) button.setAttribute("aria-pressed", "false");
    }
    for (const button of chosen) button.setAttribute("aria-pressed", "true");
    pressed = chosen;
    entry.tabIndex = -1;
    entry = at(row, layered ? 0 : column);
    entry.tabIndex = 0;
  }

  let shade: Shade = { key: plain, figures: painted(plain), roles: null };
  function painted(key: string): ArrayLike<number> | null {
    return source.arrays.get(`metric:${key}`)?.data ?? null;
  }

  let asking: AbortController | null = null;
  /** Follow the selection: at once when the figures are here, else when they have come. */
  async function reshade(): Promise<void> {
    asking?.abort();
    const { metric, target } = state.get();
    const here = painted(metric);
    const thumbnails = metric === "thumbnails" && profile === null;
    choice.value = metric;
    grid.removeAttribute("aria-busy");
    if (thumbnails || here !== null) {
      show({ key: metric, figures: here, roles: null });
      return;
    }
    const mine = new AbortController();
    asking = mine;
    signal.addEventListener("abort", () => mine.abort(), { signal: mine.signal });
    const options = { signal: mine.signal };
    const late = setTimeout(() => {
      grid.setAttribute("aria-busy", "true");
      note.textContent = waitingFor(metric);
      most.hidden = legend.hidden = roleList.hidden = true;
    }, QUIET_MS);
    try {
      const roles = metric === "role" ? await askRoles(source, options) : null;
      const figures = roles === null ? await askFigures(source, metric, target, options) : null;
      if (mine.signal.aborted) return;
      if (roles === null && figures === null) state.set({ metric: plain });
      else show({ key: metric, figures, roles });
    } catch (error) {
      if (isAbort(error) || mine.signal.aborted) return;
      const { message, hint } = explain(error);
      stage.report(
        `The heads cannot be shaded by ${metricName(metric).toLowerCase()}: ${message}`,
        hint,
      );
      paint();
      // The label names the figure that is painted.
      state.set({ metric: shade.key });
    } finally {
      clearTimeout(late);
      if (asking === mine) grid.removeAttribute("aria-busy");
    }
  }

  function show(next: Shade): void {
    shade = next;
    describe();
    paint();
  }

  /** `only`: a layer; all without it. */
  function describe(only?: number): void {
    const { key, figures, roles } = shade;
    const largest = source.arrays.get("head_max")?.data;
    buttons.forEach((button, i) => {
      const [layer, head] = [Math.floor(i / heads), i % heads];
      if (layer !== (only ?? layer)) return;
      if (layered) {
        setAttributes(button, { "aria-label": `layer ${layer}`, title: `L${layer}` });
        return;
      }
      const role = roles === null ? null : (roles.labels[i] ?? 0);
      const value = role === null ? (figures ?? largest)?.[i] : undefined;
      const what =
        role !== null
          ? `role ${category(role).letter}, ${roleName(roles?.names[role] ?? "")}`
          : `${figures === null ? "largest weight" : metricName(key)} ${value === undefined ? ABSENT : isFilled(source, i) ? formatNumber(value) : "not computed yet"}`;
      const more = off.isOff(layer, head) ? ", switched off" : "";
      setAttributes(button, {
        "aria-label": `${spokenHead(layer, head)}: ${what}${more}`,
        title: `${headName(layer, head)}   ${what}${more}${isSaved(layer, head) ? "" : "   not in this saved page"}`,
        "data-aw-value": value === undefined ? null : exact(value),
        "data-aw-role": role,
      });
    });
  }

  let cell = 0;
  function layout(width: number): void {
    const room = (width - AXIS) / heads - GAP;
    const whole = element.closest<HTMLElement>(`.${ROOT_CLASS}`)?.clientWidth ?? Infinity;
    const least = byTouch() || whole < PHONE ? CELL.touch : CELL.least;
    cell = Math.max(least, Math.min(CELL.most, Math.floor(room)));
    grid.style.setProperty("--aw-cell", `${cell}px`);
    grid.classList.toggle("is-tight", cell < LABEL_CELL && heads > 10);
    grid.style.setProperty("--aw-heads", String(heads));
    paint();
  }

  function paint(only?: number): void {
    if (cell === 0) return;
    const { scale } = state.get();
    const mode = modeOf(element);
    const step = cell + GAP;
    const { figures, roles } = shade;
    const thumbnails = figures === null && roles === null;
    const kept = only !== undefined && thumbnails && !layered;
    const context = kept ? penOf(canvas) : fitCanvas(canvas, heads * step, layers * step);
    const cells = { layers, heads, cell, step };
    grid.classList.toggle("is-layers", layered);
    choice.disabled = layered;
    if (layered) {
      strips?.paint(context, cells);
      legend.hidden = most.hidden = roleList.hidden = true;
      note.hidden = false;
      note.textContent = "one cell per layer: contribution of each token";
      return;
    }
    if (roles !== null) {
      paintRoles(context, cells, palette(element), roles.labels);
      listRoles(roles, mode);
    } else if (figures !== null) {
      const signed = shade.key === "effect";
      const { least, most: top } = paintFigures(context, cells, palette(element), figures, signed);
      low.textContent = formatNumber(least);
      high.textContent = formatNumber(top);
      bar.style.background = rampImage(signed ? "signed" : "metric", mode, 18);
    } else {
      const thumbs = source.arrays.get("thumbs");
      const maxima = source.arrays.get("head_max");
      if (thumbs !== undefined && maxima !== undefined) {
        const words = source.arrays.get("word_max");
        paintThumbnails(context, cells, palette(element), scale, thumbs, maxima, words, only);
      }
    }
    const largest = figures === null ? null : largestOf(figures);
    legend.hidden = largest === null;
    most.hidden = largest === null;
    roleList.hidden = roles === null;
    if (largest !== null) {
      const [layer, head] = [Math.floor(largest / heads), largest % heads];
      most.textContent = `most: ${headName(layer, head)}`;
      setAttributes(most, { "data-layer": layer, "data-head": head });
    }
    note.textContent = thumbnails
      ? thumbnailNote(scale)
      : figures !== null && largest === null
        ? "N/A for this text"
        : "";
    note.hidden = note.textContent === "";
  }

  function listRoles({ names }: Roles, mode: Mode): void {
    roleList.replaceChildren(...roleItems(names, mode));
  }

  function select(layer: number, head: number, focus: boolean): void {
    state.set(layered ? { layer } : { layer, head });
    // A saved page goes on to the next head that it has.
    if (focus) entry.focus({ preventScroll: true });
  }

  const type = createTyping((layer, head) => {
    if (layer < layers && head < heads) select(layer, head, true);
    else stage.announce(`There is no layer ${layer}, head ${head}.`);
  });

  grid.addEventListener(
    "click",
    (event) => {
      const button = (event.target as Element).closest<HTMLElement>(".aw-grid-head");
      if (button?.ariaDisabled === "true" && !layered) stage.announce(ABSENT_HEAD);
      else if (button) select(Number(button.dataset.layer), Number(button.dataset.head), true);
    },
    { signal },
  );
  grid.addEventListener(
    "keydown",
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const [layer, head] = focusOf();
      const moves: Record<string, [number, number]> = {
        ArrowLeft: [layer, head - 1],
        ArrowRight: [layer, head + 1],
        ArrowUp: [layer - 1, head],
        ArrowDown: [layer + 1, head],
        Home: [layer, 0],
        End: [layer, heads - 1],
        PageUp: [0, head],
        PageDown: [layers - 1, head],
      };
      const move = moves[event.key];
      if (move !== undefined) {
        const [l, k] = move;
        if (l >= 0 && l < layers && k >= 0 && k < heads) select(l, k, true);
      } else if (event.key === "o" && profile === null) off.toggle(layer, head);
      else if (event.key === "O" && profile === null) off.clear();
      else if (!type(event.key)) return;
      consume(event);
    },
    { signal },
  );

  state.on(["layer", "head"], mark, signal);
  state.on(["metric"], () => void reshade(), signal);
  state.on(["target"], () => void (state.get().metric === "effect" && reshade()), signal);
  state.on(["scale"], () => paint(), signal);
  stage.matrix.on(({ quantity }) => {
    if (layered === !hasHead(quantity)) return;
    layered = !layered;
    mark();
    describe();
    paint();
  }, signal);
  onResize(element, layout, signal);
  onTheme(element, () => paint(), signal);
  most.addEventListener(
    "click",
    () => select(Number(most.dataset.layer), Number(most.dataset.head), false),
    { signal },
  );
  let stopFilling: (() => void) | undefined;
  withParts(() => {
    const parts = laterParts();
    strips = parts?.layerStrips?.(element, stage, paint) ?? null;
    const drawLayer = (layer: number) => [describe(layer), paint(layer)];
    stopFilling = parts?.long.filling(stage, grid, drawLayer);
    paint();
  }, signal);
  mark();
  strike();
  void reshade();
  return () => {
    asking?.abort();
    stopFilling?.();
    element.replaceChildren();
  };
}
