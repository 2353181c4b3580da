/** What the first token looks at in the last layers: one row a layer, on one scale. */

import { largest, maximum } from "../derive/matrix";
import { CellMap } from "../draw/cells";
import { h, setAttributes, step } from "../draw/dom";
import { exact, formatNumber, visible } from "../draw/format";
import { onResize } from "../draw/gauge";
import { inkOn, ramp } from "../draw/ramp";
import { rampIndex } from "../draw/scale";
import { modeOf, onTheme } from "../draw/theme";
import { weightLegend } from "../draw/weightlegend";
import type { Stage } from "../matrix";
import { headName, schemeOf, unitLabel } from "../names";
import { explain, isAbort } from "../source/failure";
import type { HeadIndex } from "../types";
import { directionOf } from "./ribbon-line";
import { firstTokenRequest } from "./task-data";

/** Before this an answer is not waited for on screen (ms). */
const QUIET = 120;
/** Up to this many tokens a row is the text itself. */
const TEXT_MOST = 48;
const STRIP = { rowHeight: 24, cellMost: 28, heightMost: 240 } as const;

interface Rows {
  readonly head: HeadIndex;
  readonly layers: readonly number[];
  /** `[layers, n]`. */
  readonly weights: Float32Array;
  /** Made of a saved page's codes, and off by what it says. */
  readonly coded: boolean;
}

export function firstToken(element: HTMLElement, stage: Stage): () => void {
  const { source, state, report, announce, signal } = stage;
  const errorAt = (value: number): number =>
    rows?.coded === true ? (source.precision?.weight(value) ?? 0) : 0;
  const say = (value: number): string => formatNumber(value, undefined, errorAt(value));
  const all = (value: number): string => exact(value, errorAt(value));
  const { tokens, model } = source.meta;
  const n = tokens.text.length;
  const scheme = schemeOf(tokens);
  const life = new AbortController();
  const ends = AbortSignal.any([signal, life.signal]);
  const name = (token: number): string =>
    unitLabel(
      {
        token,
        end: token + 1,
        text: tokens.text[token],
        surface: tokens.surface[token],
        segment: tokens.segment[token],
        special: tokens.special[token],
      },
      scheme,
    );

  let rows: Rows | null = null;
  let asking: AbortController | null = null;
  /** The head that was chosen last, to go back to from the mean. */
  let lastHead = 0;
  let top = 0;

  const meanButton = h("button", { type: "button", "data-first-head": "mean" }, "Mean of heads");
  const headButton = h("button", { type: "button", "data-first-head": "one" });
  meanButton.addEventListener("click", () => state.set({ head: "mean" }), { signal: ends });
  headButton.addEventListener("click", () => state.set({ head: lastHead }), { signal: ends });
  const legend = weightLegend();
  const body = h("div", { class: "aw-first-rows" });
  const readout = h("p", { class: "aw-readout", "data-aw-part": "first-readout" });
  const section = h(
    "section",
    { class: "aw-first", "aria-label": "Attention of the first token", "data-aw-part": "first" },
    h(
      "div",
      { class: "aw-panel-head" },
      h(
        "h3",
        { class: "aw-title" },
        h("bdi", { dir: "ltr" }, n > 0 ? name(0) : ""),
        " looks at, in the last layers",
      ),
      h(
        "div",
        {
          class: "aw-segmented",
          role: "group",
          "aria-label": "Heads",
          "data-aw-part": "first-head",
        },
        meanButton,
        headButton,
      ),
      legend.element,
    ),
    body,
    readout,
  );
  element.append(section);

  const shownTokens = (): number[] =>
    tokens.text.flatMap((_, i) => (tokens.special[i] && !state.get().special ? [] : [i]));

  function choose(layer: number): void {
    if (rows === null) return;
    state.set({ layer, head: rows.head, token: 0, quantity: "weights" });
    announce(`Layer ${layer} is shown everywhere.`);
  }
  function pin(layer: number, token: number): void {
    if (rows === null) return;
    state.set({ layer, head: rows.head, token: 0, pair: [0, token], quantity: "weights" });
    announce(`Pinned ${name(0)} to ${name(token)} in layer ${layer}.`);
  }

  /** Row and token of the cell that is pointed at. */
  function tell(at: { row: number; token: number } | null): void {
    if (rows === null) return;
    if (at === null) {
      readout.textContent =
        "A click on a layer paints the text above with its row; one on a token pins the pair.";
      return;
    }
    const value = rows.weights[at.row * n + at.token];
    readout.replaceChildren(
      h("strong", {}, headName(rows.layers[at.row], rows.head)),
      "  ",
      h("bdi", { dir: "ltr" }, name(0)),
      " → ",
      h("bdi", { dir: "ltr" }, name(at.token)),
      h("span", { class: "aw-drill-at" }, String(at.token)),
      "  ",
      h(
        "strong",
        { class: "aw-number", "data-aw-value": all(value), title: all(value) },
        say(value),
      ),
    );
  }

  async function load(): Promise<void> {
    const { head } = state.get();
    if (head !== "mean") lastHead = head;
    setAttributes(meanButton, { "aria-pressed": String(head === "mean") });
    setAttributes(headButton, { "aria-pressed": String(head !== "mean") });
    headButton.textContent = `Head H${lastHead}`;
    asking?.abort();
    const mine = new AbortController();
    asking = mine;
    const late = setTimeout(() => section.setAttribute("aria-busy", "true"), QUIET);
    const wait = AbortSignal.any([mine.signal, ends]);
    try {
      const { data, arrays } = await source.slice(firstTokenRequest(head), { signal: wait });
      if (wait.aborted) return;
      rows = {
        head,
        layers: data.layers as readonly number[],
        weights: arrays.get("weights")?.data as Float32Array,
        coded: data.coded === true,
      };
      draw();
    } catch (error) {
      if (isAbort(error) || wait.aborted) return;
      const { message, hint } = explain(error);
      report(message, hint);
      if (rows === null) readout.textContent = `${message} ${hint}`.trim();
    } finally {
      clearTimeout(late);
      if (asking === mine) section.removeAttribute("aria-busy");
    }
  }

  let picture: { mark(): void; paint(): void; stop(): void } | null = null;

  function draw(): void {
    if (rows === null) return;
    const seen = shownTokens();
    picture?.stop();
    body.replaceChildren();
    top = maximum(rows.weights.filter((_, at) => seen.includes(at % n)));
    legend.show(top, state.get().scale, errorAt(top));
    if (seen.length === 0) {
      body.append(h("p", { class: "aw-hint" }, "Only special tokens, and these are hidden."));
      readout.textContent = "";
      picture = null;
      return;
    }
    picture = seen.length <= TEXT_MOST ? asText(rows, seen) : asStrip(rows, seen);
    picture.mark();
    tell(null);
  }

  /** Rows of real text, painted. */
  function asText({ layers, weights }: Rows, seen: readonly number[]) {
    const grid = h("div", {
      class: "aw-first-grid",
      role: "grid",
      "aria-label": "Layers by tokens: Enter on a layer selects it, on a token pins the pair",
      "data-aw-part": "first-layers",
    });
    const cells: HTMLElement[][] = layers.map((layer, row) => {
      const label = h(
        "div",
        { role: "rowheader", class: "aw-first-layer", tabindex: -1, "data-layer": layer },
        `L${layer}`,
      );
      const line = h("div", {
        class: "aw-first-text",
        role: "presentation",
        dir: directionOf(source.meta.text),
      });
      const made = seen.map((token, i) => {
        const special = tokens.special[token];
        const value = weights[row * n + token];
        const cell = h(
          "span",
          {
            role: "gridcell",
            class: `aw-first-token${special ? " aw-special" : ""}`,
            tabindex: -1,
            "data-layer": layer,
            "data-token": token,
            "data-aw-value": all(value),
            title: `${name(token)}  ${say(value)}`,
            "aria-label": `layer ${layer}, ${name(token)}: ${say(value)}`,
          },
          visible(special ? tokens.text[token] : tokens.surface[token]),
        );
        if (i > 0) {
          const apart = /\s/.test(tokens.before[token]) || special || tokens.special[seen[i - 1]];
          line.append(apart ? document.createTextNode(" ") : h("wbr"));
        }
        line.append(cell);
        return cell;
      });
      const best =
        seen[
          largest(
            seen.map((token) => weights[row * n + token]),
            1,
          )[0]
        ];
      const most = weights[row * n + best];
      const strongest = h(
        "div",
        {
          class: "aw-first-most",
          role: "gridcell",
          title: `strongest: ${name(best)} ${all(most)}`,
        },
        h("bdi", { dir: "ltr" }, name(best)),
        h("span", { class: "aw-number", "data-aw-value": all(most) }, say(most)),
      );
      grid.append(
        h(
          "div",
          { class: "aw-first-row", role: "row", "data-layer": layer },
          label,
          line,
          strongest,
        ),
      );
      return [label, ...made];
    });
    body.append(grid);
    let at = { row: 0, column: 0 };
    const enter = (row: number, column: number): void => {
      cells[at.row][at.column].tabIndex = -1;
      at = { row, column };
      cells[row][column].tabIndex = 0;
    };
    const place = (event: Event): { row: number; column: number } | null => {
      const target = (event.target as Element).closest<HTMLElement>("[tabindex]");
      const row = cells.findIndex((line) => target !== null && line.includes(target));
      return row < 0 || target === null ? null : { row, column: cells[row].indexOf(target) };
    };
    const act = ({ row, column }: { row: number; column: number }): void => {
      enter(row, column);
      if (column === 0) choose(layers[row]);
      else pin(layers[row], seen[column - 1]);
    };
    const point = (event: Event): void => {
      const found = place(event);
      tell(found && found.column > 0 ? { row: found.row, token: seen[found.column - 1] } : null);
    };
    const stop = new AbortController();
    const options = { signal: stop.signal };
    grid.addEventListener("pointerover", point, options);
    grid.addEventListener("focusin", point, options);
    grid.addEventListener("pointerleave", () => tell(null), options);
    grid.addEventListener(
      "click",
      (event) => {
        const found = place(event);
        const layer = (event.target as Element).closest<HTMLElement>(".aw-first-row");
        if (found !== null) {
          act(found);
          cells[found.row][found.column].focus({ preventScroll: true });
        } else if (layer !== null) choose(Number(layer.dataset.layer));
      },
      options,
    );
    grid.addEventListener(
      "keydown",
      (event) => {
        const found = place(event);
        if (found === null || event.ctrlKey || event.metaKey || event.altKey) return;
        const { row, column } = found;
        const down = /^Arrow(Up|Down)$/.test(event.key);
        const to = step(event.key, down ? row : column, down ? layers.length : cells[row].length);
        if (to !== null) {
          enter(down ? to : row, down ? column : to);
          cells[at.row][at.column].focus({ preventScroll: true });
        } else if (event.key === "Enter" || event.key === " ") act(found);
        else return;
        event.preventDefault();
        event.stopPropagation();
      },
      options,
    );
    const paint = (): void => {
      const { css, rgb } = ramp("weight", modeOf(element));
      const { scale } = state.get();
      cells.forEach((line, row) => {
        line.slice(1).forEach((cell, i) => {
          const index = rampIndex(weights[row * n + seen[i]], top, scale);
          cell.style.background = css[index];
          cell.style.color = inkOn(rgb[index]);
        });
      });
    };
    const mark = (): void => {
      const { layer, pair } = state.get();
      cells.forEach((line, row) => {
        const selected = layers[row] === layer;
        line[0].parentElement?.classList.toggle("is-selected", selected);
        setAttributes(line[0], { "aria-selected": String(selected) });
        line.slice(1).forEach((cell, i) => {
          const pinned = selected && pair !== null && pair[0] === 0 && pair[1] === seen[i];
          cell.classList.toggle("is-pinned", pinned);
        });
      });
    };
    const first = Math.max(0, layers.indexOf(state.get().layer));
    enter(first, 0);
    paint();
    return { mark, paint, stop: () => stop.abort() };
  }

  /** Rows of cells, for long texts. */
  function asStrip({ layers, weights }: Rows, seen: readonly number[]) {
    const stop = new AbortController();
    const map = new CellMap(
      STRIP,
      {
        point(cell, byKey) {
          tell(cell && { row: cell.row, token: seen[cell.column] });
          if (cell !== null && byKey) announce(readout.textContent ?? "");
        },
        pick: ({ row, column }) => pin(layers[row], seen[column]),
        row: (row) => choose(layers[row]),
      },
      "first-layers",
      stop.signal,
    );
    const values = Float32Array.from(
      { length: layers.length * seen.length },
      (_, at) => weights[Math.floor(at / seen.length) * n + seen[at % seen.length]],
    );
    const labels = seen.map(name);
    const paint = (): void => {
      map.recolor();
      map.show(
        {
          rows: layers.length,
          columns: seen.length,
          values,
          top,
          scale: state.get().scale,
          rowLabels: layers.map((layer) => `L${layer}`),
          columnLabels: labels,
        },
        `Attention of ${name(0)} in the last layers`,
      );
    };
    const mark = (): void => {
      const { layer, pair } = state.get();
      const row = layers.indexOf(layer);
      const column = pair !== null && pair[0] === 0 ? seen.indexOf(pair[1]) : -1;
      map.mark(row >= 0 && column >= 0 ? { row, column } : null, row);
    };
    body.append(map.element);
    onResize(body, (width) => map.resize(width), stop.signal);
    paint();
    return { mark, paint, stop: () => stop.abort() };
  }

  const repaint = (): void => {
    legend.show(top, state.get().scale, errorAt(top));
    picture?.paint();
    picture?.mark();
  };
  onTheme(element, repaint, ends);
  const stops = [
    state.on(["head"], () => void load()),
    state.on(["special"], draw),
    state.on(["layer", "pair"], () => picture?.mark()),
    state.on(["scale"], repaint),
  ];
  if (model.n_layers > 0) void load();
  return () => {
    for (const stop of stops) stop();
    picture?.stop();
    asking?.abort();
    life.abort();
    section.remove();
  };
}
