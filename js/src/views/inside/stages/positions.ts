/** Learned and sinusoidal position encodings side by side. */

import { ramp } from "../../../draw/color/ramp";
import { signedIndex } from "../../../draw/color/scale";
import { modeOf, onTheme } from "../../../draw/color/theme";
import { consume, h } from "../../../draw/dom";
import { largestAbsolute } from "../../../figures/derive/dimensions";
import { exact, formatNumber } from "../../../figures/format";
import { explain, isAbort } from "../../../protocol/failure";
import { itemAt } from "../../../protocol/required";
import type { NdArray } from "../../../protocol/types";
import type { Place } from "../content";
import { firstWindow, tableWindow } from "../data";

const MOST_POSITIONS = 64;
const LEAST_POSITIONS = 16;

const TABLES = [
  ["position_table", "Learned by this model"],
  ["sinusoid", "Sinusoidal (Vaswani et al. 2017)"],
] as const;

function heatmap(
  table: NdArray<Float32Array>,
  name: string,
  title: string,
  token: number,
  { root, signal }: Place,
): HTMLElement {
  const [rows, columns] = table.shape as readonly [number, number];
  const top = largestAbsolute(table.data);
  const canvas = h("canvas", { width: columns, height: rows, "aria-hidden": "true" });
  const paint = (): void => {
    const context = canvas.getContext("2d");
    if (context === null) return;
    const image = context.createImageData(columns, rows);
    const { words } = ramp("signed", modeOf(root));
    const pixels = new Uint32Array(image.data.buffer);
    table.data.forEach((value, i) => {
      pixels[i] = itemAt(words, signedIndex(value, top));
    });
    context.putImageData(image, 0, 0);
  };
  const read = h("figcaption", { class: "aw-view-note", "aria-live": "polite" });
  const rest = `${rows} positions down, dimensions 0 to ${columns - 1} across; ± ${formatNumber(top)}`;
  read.textContent = rest;
  const ring = h("i", { class: "aw-inside-heat-row", hidden: token >= rows });
  ring.style.top = `${(100 * token) / rows}%`;
  ring.style.height = `${100 / rows}%`;
  const map = h(
    "div",
    {
      class: "aw-inside-heat",
      role: "application",
      "aria-roledescription": "heat map",
      "aria-label": `${title}: ${rest}. Arrow keys read single values.`,
      tabindex: 0,
      "data-aw-part": "positions",
      "data-tensor": name,
    },
    canvas,
    ring,
  );
  let at: readonly [number, number] = [Math.min(token, rows - 1), 0];
  const say = (row: number, column: number): void => {
    at = [row, column];
    const value = itemAt(table.data, row * columns + column);
    read.replaceChildren(
      `position ${row}, dimension ${column}: `,
      h(
        "span",
        { class: "aw-number", "data-aw-value": exact(value), title: exact(value) },
        formatNumber(value),
      ),
    );
  };
  map.addEventListener(
    "pointermove",
    (event) => {
      const box = map.getBoundingClientRect();
      const clamp = (share: number, size: number): number =>
        Math.min(Math.max(Math.floor(share * size), 0), size - 1);
      say(
        clamp((event.clientY - box.top) / box.height, rows),
        clamp((event.clientX - box.left) / box.width, columns),
      );
    },
    { signal },
  );
  map.addEventListener("pointerleave", () => read.replaceChildren(rest), { signal });
  map.addEventListener(
    "keydown",
    (event) => {
      const shift = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[
        event.key
      ];
      if (shift === undefined) return;
      say(
        Math.min(Math.max(at[0] + itemAt(shift, 0), 0), rows - 1),
        Math.min(Math.max(at[1] + itemAt(shift, 1), 0), columns - 1),
      );
      consume(event);
    },
    { signal },
  );
  onTheme(root, paint, signal);

  paint();
  return h(
    "figure",
    { class: "aw-inside-table" },
    h("h4", { class: "aw-title" }, title),
    map,
    read,
  );
}

/** Both tables, as soon as they are here. */
export function positionTables(place: Place): HTMLElement {
  const { stage, arch, token, signal } = place;
  const { source } = stage;
  const element = h("section", {
    class: "aw-inside-positions",
    "aria-label": "Position encodings",
  });
  const why = arch.missing.position_table ?? null;
  if (why !== null) {
    element.append(h("p", { class: "aw-view-note" }, why));
    return element;
  }
  const n = source.meta.tokens.text.length;
  const wanted = Math.min(
    Math.max(n, LEAST_POSITIONS),
    MOST_POSITIONS,
    source.meta.model.max_length,
  );
  const cols = [0, Math.min(firstWindow("position_table"), arch.embedding)] as const;
  const ask = async (): Promise<void> => {
    const tables = await Promise.all(
      TABLES.map(([name]) => tableWindow(source, name, wanted, cols, signal)),
    );
    element.replaceChildren(
      ...TABLES.map(([name, title], i) => heatmap(itemAt(tables, i), name, title, token, place)),
    );
  };
  ask().catch((error: unknown) => {
    if (isAbort(error) || signal.aborted) return;
    const { message, hint } = explain(error);
    element.replaceChildren(h("p", { class: "aw-view-note" }, `${message} ${hint}`.trim()));
  });
  return element;
}
