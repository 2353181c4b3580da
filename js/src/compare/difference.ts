/** The difference B − A: aligned texts, distances of heads, weights of the chosen head, predictions. */

import { inkOn, ramp } from "../draw/color/ramp";
import { modeOf, onTheme, palette } from "../draw/color/theme";
import { consume, h, step } from "../draw/dom";
import { formatNumber } from "../figures/format";
import { itemAt } from "../protocol/required";
import type { Source, TokenColumns } from "../protocol/types";
import type { State } from "../state/selection";
import { alignment } from "./alignment";
import { type Compared, carried, farthest, signed, type Weights, weightsOf } from "./data";

/** Largest Jensen–Shannon distance: sqrt(ln 2). */
const FARTHEST = Math.sqrt(Math.LN2);
/** Most width of the matrix without its labels, and of the labels, px. */
const MATRIX = 560;
const LABELS = 96;
/** Around a matrix without labels, px. */
const NARROW = 4;
const LARGEST_CELL = 44;
/** A cell from this size on has its number in it, px. */
const NUMBERED = 34;
/** A smaller one has its sign from this size on, where it is at least this share of the largest change. */
const SIGNED = { size: 12, share: 0.1 } as const;
const LABELED = 10;
/** Characters of the changed words that the first line quotes. */
const LONGEST = 80;
const WITHOUT =
  "Tree, Sentences, Inside, Task and Why have no difference: choose A or B. " +
  "Each needs a figure of its own between aligned tokens.";

type Sources = Readonly<Record<"a" | "b", Source>>;

export function difference(
  root: HTMLElement,
  compared: Compared,
  sources: Sources,
  state: State,
  signal: AbortSignal,
): { draw(): void } {
  const part = (name: string, title: string) => {
    const body = h("div", { "data-aw-part": name });
    root.append(h("section", {}, h("h3", { class: "aw-title" }, title), body));
    return body;
  };
  const lead = h("p", { class: "aw-compare-lead", role: "status" });
  root.append(lead);
  const lines = part("alignment", "Matched tokens: dashed ones have no partner");
  const grid = part("distances", "Heads: Jensen–Shannon distance");
  const changes = part("changes", "Weights between matched tokens, B − A");
  const guesses = part("guesses", "Predictions at the chosen token, before (A) → after (B)");
  root.append(h("p", { class: "aw-compare-note" }, WITHOUT));

  const tell = () => {
    const far = farthest(compared);
    const matched = [0, 1].map((side) => new Set(compared.tokens.map((pair) => pair[side])));
    const changed = [sources.a, sources.b].map((source, side) =>
      shortened(wordsWithout(source.meta.tokens, matched[side] ?? new Set())),
    );
    lead.textContent = [
      changed.some((words) => words !== "")
        ? `Changed: ${changed.map((words) => (words === "" ? "nothing" : `“${words}”`)).join(" → ")}.`
        : "Every token has a partner.",
      far === null
        ? (compared.reasons.distances ?? "No head can be compared.")
        : `The head that differs most: layer ${far.layer}, head ${far.head} (distance ${far.distance.toFixed(3)} of at most ${FARTHEST.toFixed(2)}).`,
    ].join(" ");
  };

  const drawGrid = () => {
    const { distances } = compared;
    if (distances === null) {
      grid.textContent = compared.reasons.distances ?? "";
      return;
    }
    const heads = itemAt(distances.shape, 1);
    const colors = ramp("metric", modeOf(root));
    const { layer, head } = state.get();
    const top = farthest(compared)?.distance || FARTHEST;
    const focused = grid.contains(document.activeElement);
    const cells = [...distances.data].map((value, i) => {
      const [l, k] = [Math.floor(i / heads), i % heads];
      const share = Number.isNaN(value) ? 0 : Math.round((255 * value) / top);
      const said = Number.isNaN(value) ? "no partner" : `distance ${value.toFixed(3)}`;
      const cell = h("button", {
        class: "aw-compare-head",
        "data-layer": l,
        "data-head": k,
        tabindex: l === layer && k === head ? 0 : -1,
        "data-aw-value": value,
        "aria-pressed": String(l === layer && k === head),
        "aria-label": `layer ${l}, head ${k}: ${said}`,
        title: `layer ${l}, head ${k}: ${said}`,
        style: `background: ${colors.css[Math.min(share, 255)]}`,
      });
      cell.addEventListener("click", () => state.set({ layer: l, head: k }));
      cell.addEventListener("keydown", (event) => {
        const layers = itemAt(distances.shape, 0);
        const down = event.key === "ArrowUp" || event.key === "ArrowDown";
        const next = down ? step(event.key, l, layers) : step(event.key, k, heads);
        if (next === null) return;
        consume(event);
        state.set(down ? { layer: next } : { head: next });
      });
      return cell;
    });
    const rows = h("div", {
      class: "aw-compare-grid",
      style: `grid-template-columns: repeat(${heads}, 22px)`,
    });
    rows.append(...cells);
    const stops = [0, 64, 128, 192, 255].map((i) => colors.css[i]).join(", ");
    grid.replaceChildren(
      rows,
      h(
        "p",
        { class: "aw-compare-legend" },
        "0 ",
        h("span", { style: `background: linear-gradient(to right, ${stops})` }),
        ` ${top.toFixed(3)}, the largest here. Rows are layers, columns heads.`,
      ),
    );
    if (focused) grid.querySelector<HTMLElement>("[aria-pressed=true]")?.focus();
  };

  const nameOf = (index: number): string => {
    const [i, j] = itemAt(compared.tokens, index);
    const [a, b] = [sources.a.meta.tokens.surface[i], sources.b.meta.tokens.surface[j]];
    const special = sources.a.meta.tokens.special[i] ? sources.a.meta.tokens.text[i] : a;
    return a?.toLowerCase() === b?.toLowerCase() ? String(special) : `${a}→${b}`;
  };

  let turn = 0;
  const drawChanges = async () => {
    const mine = ++turn;
    const { layer, head } = state.get();
    const weights = await weightsOf(compared, sources, layer, head).catch(() => null);
    if (mine !== turn) return;
    if (weights === null) {
      changes.textContent = `Layer ${layer}, head ${head} cannot be compared: it has no partner, or this page does not hold it.`;
      return;
    }
    const reading = h("p", { "data-aw-part": "reading", role: "status" });
    const row = compared.tokens.findIndex(([a]) => a === state.get().token);
    const { canvas, cellAt } = paint(root, weights, nameOf, row, changes.clientWidth);
    const read = (query: number, key: number) => {
      const at = query * weights.size + key;
      const [a, b] = [itemAt(weights.a, at), itemAt(weights.b, at)];
      reading.textContent = `${nameOf(query)} → ${nameOf(key)}: A ${a.toFixed(3)}, B ${b.toFixed(3)}, B − A ${signed(b - a, 3)}`;
      reading.dataset.awValue = String(b - a);
    };
    const largest = strongest(weights);
    read(Math.floor(largest / weights.size), largest % weights.size);
    canvas.addEventListener("pointermove", (event) => {
      const cell = cellAt(event.offsetX, event.offsetY);
      if (cell !== null) read(...cell);
    });
    canvas.addEventListener("click", (event) => {
      const cell = cellAt(event.offsetX, event.offsetY);
      if (cell !== null) state.set({ token: itemAt(compared.tokens, cell[0])[0] });
    });
    canvas.setAttribute("aria-label", `Layer ${layer}, head ${head}: ${reading.textContent}`);
    changes.replaceChildren(
      h("p", {}, `Layer ${layer}, head ${head}. Blue and −: less in B; orange and +: more in B.`),
      reading,
      h("div", { class: "aw-compare-scroll" }, canvas),
    );
  };

  const drawGuesses = () => {
    const { predictions, arrays, reasons } = compared;
    const { token } = state.get();
    if (predictions === null) {
      guesses.textContent = reasons.predictions ?? "";
      return;
    }
    const at = predictions.token.flatMap((_, i) =>
      predictions.position_a[i] === token ? [i] : [],
    );
    if (token === null || at.length === 0) {
      guesses.textContent = "Choose a matched token of a word to see its predictions in both runs.";
      return;
    }
    const value = (name: string, i: number) => Number(arrays.get(name)?.data[i]);
    guesses.replaceChildren(
      h(
        "table",
        { class: "aw-compare-guesses" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ...["prediction", "before → after", "change in log-odds"].map((name) =>
              h("th", { scope: "col" }, name),
            ),
          ),
        ),
        h(
          "tbody",
          {},
          ...at.map((i) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, h("bdi", {}, itemAt(predictions.token, i))),
              h(
                "td",
                {},
                `${formatNumber(value("before", i))} → ${formatNumber(value("after", i))}`,
              ),
              h("td", { "data-aw-value": value("log_odds", i) }, signed(value("log_odds", i))),
            ),
          ),
        ),
      ),
    );
  };

  const draw = () => {
    if (root.hidden) return;
    tell();
    const { token } = state.get();
    lines.replaceChildren(
      alignment(compared, sources, { a: token, b: carried(compared, token, "b") }, (chosen) =>
        state.set({ token: chosen }),
      ),
    );
    drawGrid();
    drawGuesses();
    void drawChanges();
  };
  state.on(["layer", "head", "token"], draw);
  onTheme(root, draw, signal);
  return { draw };
}

/** Text of the tokens that have no partner; "…" stands for those between that have one. */
export function wordsWithout(
  { surface, before, special }: Pick<TokenColumns, "surface" | "before" | "special">,
  matched: ReadonlySet<number | undefined>,
): string {
  let text = "";
  let last = -1;
  surface.forEach((word, i) => {
    if (matched.has(i) || special[i]) return;
    if (text !== "") text += last === i - 1 ? itemAt(before, i) : " … ";
    text += word;
    last = i;
  });
  return text;
}

function shortened(text: string): string {
  const characters = [...text];
  return characters.length <= LONGEST ? text : `${characters.slice(0, LONGEST - 1).join("")}…`;
}

/** Cell with the largest change, whatever its sign. */
function strongest({ a, b }: Weights): number {
  let best = 0;
  for (let i = 1; i < a.length; i++) {
    if (Math.abs(itemAt(b, i) - itemAt(a, i)) > Math.abs(itemAt(b, best) - itemAt(a, best)))
      best = i;
  }
  return best;
}

/** The matrix of differences: zero is the ground's color, and cells that have room say their number. */
function paint(
  root: HTMLElement,
  weights: Weights,
  nameOf: (index: number) => string,
  chosen: number,
  width: number,
): {
  canvas: HTMLCanvasElement;
  cellAt(x: number, y: number): [query: number, key: number] | null;
} {
  const { size } = weights;
  const room = Math.min(MATRIX, Math.max(width - LABELS, MATRIX / 3));
  const cell = Math.min(LARGEST_CELL, room / size);
  const margin = cell < LABELED ? NARROW : LABELS;
  const side = margin + size * cell;
  const canvas = h("canvas", { role: "img", style: `width: ${side}px; height: ${side}px` });
  const density = Math.max(2, window.devicePixelRatio);
  canvas.width = canvas.height = Math.round(side * density);
  const cellAt = (x: number, y: number): [number, number] | null => {
    const [query, key] = [Math.floor((y - margin) / cell), Math.floor((x - margin) / cell)];
    return query < 0 || key < 0 || query >= size || key >= size ? null : [query, key];
  };
  const context = canvas.getContext("2d");
  if (context === null) return { canvas, cellAt };
  context.scale(density, density);
  const colors = ramp("signed", modeOf(root));
  const { ink } = palette(root);
  const most = Math.abs(
    itemAt(weights.b, strongest(weights)) - itemAt(weights.a, strongest(weights)),
  );
  context.textBaseline = "middle";
  for (let query = 0; query < size; query++) {
    for (let key = 0; key < size; key++) {
      const at = query * size + key;
      const change = itemAt(weights.b, at) - itemAt(weights.a, at);
      const entry = most === 0 ? 128 : Math.min(255, Math.round(127.5 + (127.5 * change) / most));
      context.fillStyle = itemAt(colors.css, entry);
      context.fillRect(margin + key * cell, margin + query * cell, cell + 0.5, cell + 0.5);
      const large = Math.abs(change) >= SIGNED.share * most && change !== 0;
      if (cell < SIGNED.size || (cell < NUMBERED && !large)) continue;
      context.fillStyle = inkOn(itemAt(colors.rgb, entry));
      context.font = "11px ui-monospace, monospace";
      context.textAlign = "center";
      const said = cell < NUMBERED ? (change > 0 ? "+" : "−") : signed(change);
      context.fillText(said, margin + (key + 0.5) * cell, margin + (query + 0.5) * cell);
    }
  }
  context.fillStyle = ink;
  context.strokeStyle = ink;
  if (chosen >= 0) context.strokeRect(margin, margin + chosen * cell, size * cell - 0.5, cell);
  if (cell < LABELED) return { canvas, cellAt };
  context.font = `${Math.min(12, cell)}px ui-monospace, monospace`;
  for (let i = 0; i < size; i++) {
    context.textAlign = "right";
    context.fillText(nameOf(i), LABELS - 4, margin + (i + 0.5) * cell, LABELS - 6);
    context.save();
    context.translate(margin + (i + 0.5) * cell, LABELS - 4);
    context.rotate(-Math.PI / 2);
    context.textAlign = "left";
    context.fillText(nameOf(i), 0, 0, LABELS - 6);
    context.restore();
  }
  return { canvas, cellAt };
}
