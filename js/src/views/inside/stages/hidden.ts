/** Hidden states: their strips by layer, their length and turn, and all of them in one plane. */

import { h } from "../../../draw/dom";
import { svg } from "../../../draw/strip";
import { byTouch } from "../../../draw/touch";
import { argmax } from "../../../figures/derive/dimensions";
import { exact, formatNumber, formatPercent } from "../../../figures/format";
import { itemAt } from "../../../protocol/required";
import { at, type Content, ofDimensions, type Place, strip } from "../content";
import { type Changes, firstWindow } from "../data";

const CHART = { width: 320, height: 84, left: 44, right: 10, top: 8, bottom: 18 } as const;

/** A value for each layer as a line, its points focusable by pointer, the extreme one marked. */
function chart(
  title: string,
  values: readonly number[],
  first: number,
  [low, high]: readonly [number, number],
  marked: number,
): HTMLElement {
  const { width, height, left, right, top, bottom } = CHART;
  const x = (i: number): number =>
    left + ((width - left - right) * i) / Math.max(1, values.length - 1);
  const y = (value: number): number =>
    top + (height - top - bottom) * (1 - (value - low) / (high - low || 1));
  const picture = svg("svg", {
    class: "aw-inside-chart",
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": `${title} by layer: ${values.map((v, i) => `L${i + first} ${formatNumber(v)}`).join(", ")}`,
  });
  const text = (px: number, py: number, words: string, anchor: string): SVGElement => {
    const element = svg("text", { x: px, y: py, "text-anchor": anchor });
    element.textContent = words;
    return element;
  };
  picture.append(
    svg("path", {
      class: "aw-chart-axis",
      d: `M${left} ${y(low)}H${width - right}M${left} ${y(high)}H${width - right}`,
    }),
    text(left - 6, y(low) + 4, formatNumber(low), "end"),
    text(left - 6, y(high) + 4, formatNumber(high), "end"),
    svg("polyline", {
      class: "aw-chart-line",
      points: values.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`).join(" "),
    }),
  );
  const every = Math.ceil(values.length / 9);
  values.forEach((value, i) => {
    const dot = svg("circle", {
      class: `aw-chart-dot${i === marked ? " is-largest" : ""}`,
      cx: x(i),
      cy: y(value),
      r: i === marked ? 4 : 2.5,
      "data-aw-value": exact(value),
    });
    const name = svg("title", {});
    name.textContent = `L${i + first}: ${exact(value)}`;
    dot.append(name);
    picture.append(dot);
    if (i % every === 0 || i === values.length - 1) {
      const crowded = i % every !== 0 && i + first - Math.floor(i / every) * every < every / 2;
      if (!crowded) picture.append(text(x(i), height - 4, `L${i + first}`, "middle"));
    }
  });
  return h(
    "figure",
    { class: "aw-inside-figure" },
    h("figcaption", { class: "aw-title" }, title),
    picture,
  );
}

const PLANE = { width: 380, height: 276, left: 30, right: 8, top: 8, bottom: 28 } as const;
/** Around the points, px. */
const PAD = 16;
const LABEL = { width: 20, height: 12, away: 9 } as const;
const AWAY: readonly (readonly [number, number])[] = [
  [1, -0.6],
  [1, 0.9],
  [-1, -0.6],
  [-1, 0.9],
  [0, -1],
  [0, 1.3],
];

/** Every hidden state of every layer in the plane of their two principal directions. */
function plane(place: Place, { path }: Changes): HTMLElement {
  const { stage, token, layer, name, signal } = place;
  const { tokens, model } = stage.source.meta;
  const n = tokens.text.length;
  const states = model.n_layers + 1;
  const { points, explained } = path;
  const extent = (axis: 0 | 1): readonly [number, number] => {
    let [low, high] = [Infinity, -Infinity];
    for (let i = axis; i < points.length; i += 2) {
      low = Math.min(low, itemAt(points, i));
      high = Math.max(high, itemAt(points, i));
    }
    return [low, high];
  };
  const [x0, x1] = extent(0);
  const [y0, y1] = extent(1);
  const { width, height, left, right, top, bottom } = PLANE;
  const [wide, tall] = [width - left - right, height - top - bottom];
  const x = (value: number): number =>
    left + PAD + ((wide - 2 * PAD) * (value - x0)) / (x1 - x0 || 1);
  const y = (value: number): number =>
    top + tall - PAD - ((tall - 2 * PAD) * (value - y0)) / (y1 - y0 || 1);
  const place2d = (l: number, i: number): readonly [number, number] => {
    const k = (l * n + i) * 2;
    return [x(itemAt(points, k)), y(itemAt(points, k + 1))];
  };
  const all = Array.from({ length: states }, (_, l) => place2d(l, token));
  const picture = svg("svg", {
    class: "aw-inside-plane",
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": `Hidden states of all tokens in layers 0 to ${states - 1} in the plane of two principal components`,
    "data-aw-part": "hidden-path",
  });
  const round = (value: number): string => value.toFixed(1);
  const dots = Array.from({ length: states }, (_, l) =>
    svg("path", {
      class: "aw-plane-dots",
      "data-layer": l,
      d: Array.from({ length: n }, (_, i) => {
        const [px, py] = place2d(l, i);
        return i === token ? "" : `M${round(px)} ${round(py)}h0`;
      }).join(""),
    }),
  );
  // The shade tells the layer: faint at first, stronger towards the end.
  dots.forEach((dot, l) => {
    dot.setAttribute("stroke-opacity", (0.18 + (0.5 * l) / Math.max(1, states - 1)).toFixed(2));
  });
  const axis = (px: number, py: number, words: string, turn = ""): SVGElement => {
    const element = svg("text", {
      class: "aw-plane-axis",
      x: px,
      y: py,
      ...(turn ? { transform: turn } : {}),
    });
    element.textContent = words;
    return element;
  };
  picture.append(
    svg("rect", {
      class: "aw-plane-frame",
      x: left + 0.5,
      y: top + 0.5,
      width: wide - 1,
      height: tall - 1,
      rx: 4,
    }),
    ...dots,
    svg("polyline", {
      class: "aw-plane-path",
      points: all.map(([px, py]) => `${round(px)},${round(py)}`).join(" "),
    }),
    axis(
      left + wide / 2,
      height - 8,
      `component 1: ${formatPercent(itemAt(explained, 0))} of the variance`,
    ),
    axis(
      0,
      0,
      `component 2: ${formatPercent(itemAt(explained, 1))} of the variance`,
      `translate(16 ${top + tall / 2}) rotate(-90)`,
    ),
  );
  // Labels stand free of points and of each other; the first and the last are never left out.
  const taken: [number, number][] = [];
  const order = [0, states - 1, ...all.map((_, l) => l).slice(1, -1)];
  for (const l of order) {
    const [px, py] = itemAt(all, l);
    picture.append(
      svg("circle", {
        class: `aw-plane-point${l === layer ? " is-chosen" : ""}`,
        cx: round(px),
        cy: round(py),
        r: l === layer + 1 ? 4.5 : 3.5,
      }),
    );
    const free = AWAY.map(([dx, dy]): [number, number] => [
      px + dx * (LABEL.away + LABEL.width / 2 - 4),
      py + dy * LABEL.away,
    ]).find(([lx, ly]) => {
      const inside =
        lx > left + LABEL.width / 2 &&
        lx < width - right - LABEL.width / 2 &&
        ly > top + LABEL.height / 2 &&
        ly < top + tall - LABEL.height / 2;
      const clear = [...taken, ...all.filter((_, other) => other !== l)].every(
        ([ox, oy]) => Math.abs(ox - lx) > LABEL.width - 3 || Math.abs(oy - ly) > LABEL.height,
      );
      return inside && clear;
    });
    if (free === undefined && l !== 0 && l !== states - 1) continue;
    const [lx, ly] = free ?? [px, py - LABEL.away];
    taken.push([lx, ly]);
    const label = svg("text", { class: "aw-plane-label", x: round(lx), y: round(ly + 4) });
    label.textContent = `L${l}`;
    picture.append(label);
  }
  const read = h("figcaption", { class: "aw-view-note" });
  const rest = (): void => {
    read.replaceChildren(
      "The path of ",
      h("bdi", { dir: "ltr" }, name),
      `, L0 (the embeddings) to L${states - 1}; other tokens faint. ${byTouch() ? "Tap one to read and follow it." : "Hover over one to read it; click to follow it."}`,
    );
  };
  rest();
  const nearest = (event: MouseEvent): { l: number; i: number } | null => {
    const box = picture.getBoundingClientRect();
    const ex = ((event.clientX - box.left) * width) / box.width;
    const ey = ((event.clientY - box.top) * height) / box.height;
    let best = { l: 0, i: 0, far: Infinity };
    for (let l = 0; l < states; l++) {
      for (let i = 0; i < n; i++) {
        const [px, py] = place2d(l, i);
        const far = (px - ex) ** 2 + (py - ey) ** 2;
        if (far < best.far) best = { l, i, far };
      }
    }
    return best.far < 14 ** 2 ? best : null;
  };
  picture.addEventListener(
    "pointermove",
    (event) => {
      const point = nearest(event as PointerEvent);
      if (point === null) return rest();
      read.replaceChildren(
        h("bdi", { dir: "ltr" }, itemAt(tokens.text, point.i)),
        ` (${point.i}) in L${point.l}`,
      );
    },
    { signal },
  );
  picture.addEventListener("pointerleave", rest, { signal });
  picture.addEventListener(
    "click",
    (event) => {
      const point = nearest(event as MouseEvent);
      if (point !== null) stage.state.set({ token: point.i });
    },
    { signal },
  );
  return h(
    "figure",
    { class: "aw-inside-figure aw-inside-plane-figure" },
    h("h4", { class: "aw-title" }, "All layers in one plane"),
    picture,
    read,
  );
}

const MOST_READ = 9;

export async function hidden(place: Place): Promise<Content> {
  const { stage, token, arch } = place;
  const { n_layers } = stage.source.meta.model;
  const n = stage.source.meta.tokens.text.length;
  const [strips, found] = await Promise.all([
    Promise.all(
      Array.from({ length: n_layers + 1 }, (_, layer) =>
        strip(place, "hidden", `L${layer}`, "hidden states", { layer }),
      ),
    ),
    place.changes(),
  ]);
  const { norms, cosines } = found.path;
  const column = (values: Float32Array): number[] =>
    Array.from({ length: values.length / n }, (_, l) => itemAt(values, l * n + token));
  const lengths = column(norms);
  const turns = column(cosines);
  const known = turns.filter((value) => !Number.isNaN(value));
  const charts = h(
    "div",
    { class: "aw-inside-charts" },
    chart("Length ‖h‖", lengths, 0, [0, Math.max(...lengths)], argmax(lengths)),
    chart(
      "Cosine to the layer before",
      turns,
      1,
      [Math.min(0, ...known), 1],
      argmax(turns.map((v) => -v)),
    ),
    ...arch.notes.map((note) => h("p", { class: "aw-view-note" }, note)),
  );
  // A deep model is read where it begins, before and after the chosen layer, and where it ends.
  const read =
    strips.length <= MOST_READ
      ? strips.map((_, l) => l)
      : [...new Set([0, place.layer, place.layer + 1, n_layers])];
  return ofDimensions(
    strips,
    firstWindow("hidden"),
    (i) =>
      read.map((l, k) => ({ sign: k === 0 ? "" : "→", label: `L${l}`, value: at(strips[l], i) })),
    {
      below: [h("div", { class: "aw-inside-columns" }, plane(place, found), charts)],
      table: lengths.map((value, layer) => [
        "norm",
        layer,
        null,
        token,
        itemAt(stage.source.meta.tokens.text, token),
        null,
        value,
      ]),
    },
  );
}
