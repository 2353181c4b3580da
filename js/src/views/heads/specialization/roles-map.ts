/** The map of roles: every head as a dot where its specialization puts it, its role by color, shape and letter. */

import { category, categoryColor } from "../../../draw/color/category";
import { modeOf, onTheme } from "../../../draw/color/theme";
import { consume, h, setAttributes } from "../../../draw/dom";
import { onResize } from "../../../draw/resize";
import { svg } from "../../../draw/strip";
import { fillWhenAnswered, whenSeen } from "../../../draw/wait";
import { formatCount, formatNumber, formatPercent } from "../../../figures/format";
import { askRoles, type Roles, roleName } from "../../../figures/head-figures";
import { headName, spokenHead } from "../../../figures/names";
import type { HeadsStage } from "../parts";
import { type Place, places, towards } from "./roles-map-geometry";

const HEIGHT = 300;
/** Room for a dot and its ring, and for the axes' names, at the edge of the plane, px. */
const MARGIN = 26;
const RING = 9;

export interface RolesMap {
  readonly element: HTMLElement;
  svg(): SVGSVGElement | null;
}

/** `known` receives the roles, so that the table of all heads has them too. */
export function rolesMap(stage: HeadsStage, known: (roles: Roles) => void): RolesMap {
  const { source, signal, profile, nLayers, nHeads } = stage;
  const body = h("div", { class: "aw-roles-body" });
  const scope = profile
    ? `Roles over ${formatCount(source.meta.profile?.n_texts ?? 0)} texts.`
    : "Roles of this one text: a reading, not a fact about the model.";
  const element = h(
    "section",
    { class: "aw-roles", "aria-label": "Map of roles", "data-aw-part": "roles" },
    h(
      "div",
      { class: "aw-heads-bar" },
      h("h4", {}, "Roles"),
      h("p", { class: "aw-view-note", "data-aw-part": "roles-scope" }, scope),
    ),
    body,
  );
  let drawing: SVGElement | null = null;
  whenSeen(
    element,
    () => {
      void fillWhenAnswered(body, {
        waiting: `Clustering ${formatCount(nLayers * nHeads)} heads (takes seconds the first time) …`,
        ask: () => askRoles(source, { signal }),
        fill: (roles) => {
          drawing = fill(body, stage, roles);
          known(roles);
        },
        signal,
      });
    },
    signal,
  );
  return { element, svg: () => drawing as SVGSVGElement | null };
}

function fill(body: HTMLElement, stage: HeadsStage, roles: Roles): SVGElement {
  const { state, signal, nLayers, nHeads } = stage;
  const { labels, names, layout, explained } = roles;
  const size = nLayers * nHeads;
  const drawing = svg("svg", { class: "aw-roles-plane", height: HEIGHT, "aria-hidden": "true" });
  const layer = h("div", {
    class: "aw-roles-dots",
    role: "group",
    "aria-label": "Heads by what they look at; arrow keys go to the nearest one",
  });
  const readout = h("p", { class: "aw-roles-readout", "aria-hidden": "true" });
  const plane = h("div", { class: "aw-roles-map", "data-aw-part": "roles-map" }, drawing, layer);
  let dots: readonly Place[] = [];
  let shapes: SVGElement[] = [];
  let highlighted: number | null = null;

  const roleOf = (index: number): number => labels[index] as number;
  const nameOf = (role: number): string => roleName(names[role] ?? "");
  const layerOf = (index: number): number => Math.floor(index / nHeads);
  const headOf = (index: number): number => index % nHeads;
  const say = (index: number): string =>
    `${headName(layerOf(index), headOf(index))}: ${nameOf(roleOf(index))}`;

  const buttons = Array.from({ length: size }, (_, index) =>
    h("button", {
      class: "aw-role-dot",
      tabindex: -1,
      "data-layer": layerOf(index),
      "data-head": headOf(index),
      "data-role": roleOf(index),
      "aria-pressed": "false",
      "aria-label": `${spokenHead(layerOf(index), headOf(index))}: ${nameOf(roleOf(index))}`,
      title: say(index),
    }),
  );
  layer.append(...buttons);

  const legend = h("ul", { class: "aw-roles-legend", "data-aw-part": "roles-legend" });
  const keys = names.map((_, role) => {
    const mark = svg("svg", {
      class: "aw-role-mark",
      viewBox: "-7 -7 14 14",
      "aria-hidden": "true",
    });
    mark.append(svg("path", { d: category(role).path }));
    const count = Array.from(labels).filter((label) => label === role).length;
    const button = h(
      "button",
      { class: "aw-role-key", "aria-pressed": "false", "data-role": role },
      mark,
      h("span", { class: "aw-role-letter" }, category(role).letter),
      h("span", { class: "aw-role-name" }, nameOf(role)),
      h("span", { class: "aw-role-count" }, `${formatCount(count)} head${count === 1 ? "" : "s"}`),
    );
    legend.append(h("li", {}, button));
    return { button, mark };
  });
  legend.addEventListener("click", (event) => {
    const button = (event.target as Element).closest<HTMLElement>(".aw-role-key");
    if (button === null) return;
    const role = Number(button.dataset.role);
    highlighted = highlighted === role ? null : role;
    highlight();
  });

  body.append(
    h(
      "div",
      { class: "aw-roles-parts" },
      h("div", { class: "aw-roles-plot" }, plane, readout),
      h("div", { class: "aw-roles-side" }, legend, notes(roles)),
    ),
  );

  function draw(width: number): void {
    const placed = places(layout, width, HEIGHT, MARGIN);
    dots = placed.dots;
    const { zero } = placed;
    setAttributes(drawing, { width, viewBox: `0 0 ${width} ${HEIGHT}` });
    shapes = dots.map(({ x, y }, index) => {
      const group = svg("g", {
        class: "aw-role-shape",
        transform: `translate(${x.toFixed(2)} ${y.toFixed(2)})`,
      });
      group.append(
        svg("circle", { class: "aw-role-ring", r: RING }),
        svg("path", { d: category(roleOf(index)).path }),
      );
      const style = buttons[index]?.style;
      if (style !== undefined) {
        style.left = `${x.toFixed(2)}px`;
        style.top = `${y.toFixed(2)}px`;
      }
      return group;
    });
    drawing.replaceChildren(
      svg("line", { class: "aw-roles-zero", x1: 0, x2: width, y1: zero.y, y2: zero.y }),
      svg("line", { class: "aw-roles-zero", x1: zero.x, x2: zero.x, y1: 0, y2: HEIGHT }),
      axisName(
        `first axis: ${formatPercent(explained[0])} of the variance`,
        width - 4,
        HEIGHT - 6,
        "end",
      ),
      axisName(`second axis: ${formatPercent(explained[1])}`, 4, 12, "start"),
      ...shapes,
    );
    paint();
    follow();
    highlight();
  }

  function paint(): void {
    const mode = modeOf(body);
    shapes.forEach((shape, index) => {
      shape.style.setProperty("--role", categoryColor(roleOf(index), mode));
    });
    keys.forEach(({ mark }, role) => {
      mark.style.setProperty("--role", categoryColor(role, mode));
    });
  }

  function highlight(): void {
    keys.forEach(({ button }, role) => {
      button.setAttribute("aria-pressed", String(highlighted === role));
    });
    shapes.forEach((shape, index) => {
      shape.classList.toggle("is-faint", highlighted !== null && highlighted !== roleOf(index));
    });
  }

  let pointed: number | null = null;
  function point(index: number | null): void {
    if (pointed !== null) shapes[pointed]?.classList.remove("is-pointed");
    pointed = index;
    if (index !== null) shapes[index]?.classList.add("is-pointed");
    const { layer: l, head } = state.get();
    readout.textContent =
      index !== null ? say(index) : head === "mean" ? "" : say(l * nHeads + head);
  }

  function follow(): void {
    const { layer: l, head } = state.get();
    const chosen = head === "mean" ? -1 : l * nHeads + head;
    const entry = chosen < 0 ? l * nHeads : chosen;
    buttons.forEach((button, index) => {
      setAttributes(button, {
        "aria-pressed": String(index === chosen),
        tabindex: index === entry ? 0 : -1,
      });
    });
    shapes.forEach((shape, index) => {
      shape.classList.toggle("is-this", index === chosen);
    });
    const shape = shapes[chosen];
    // In front of its neighbors.
    shape?.parentElement?.append(shape);
    point(null);
  }

  const indexOf = (event: Event): number =>
    buttons.indexOf((event.target as Element).closest("button") as HTMLButtonElement);
  layer.addEventListener("click", (event) => {
    const index = indexOf(event);
    if (index >= 0) stage.select(layerOf(index), headOf(index));
  });
  layer.addEventListener("keydown", (event) => {
    const index = indexOf(event);
    if (index < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = event.key.startsWith("Arrow");
    const next = { Home: 0, End: size - 1 }[event.key] ?? towards(dots, index, event.key);
    if (!arrow && next === null) return;
    consume(event);
    if (next === null) return;
    for (const button of buttons) button.tabIndex = -1;
    const button = buttons[next] as HTMLButtonElement;
    button.tabIndex = 0;
    button.focus({ preventScroll: true });
  });
  const pointAt = (event: Event): void => {
    const index = indexOf(event);
    point(index < 0 ? null : index);
  };
  layer.addEventListener("pointerover", pointAt);
  layer.addEventListener("pointerleave", () => point(null));
  layer.addEventListener("focusin", pointAt);
  layer.addEventListener("focusout", () => point(null));

  state.on(["layer", "head"], follow, signal);
  onResize(plane, draw, signal);
  onTheme(body, paint, signal);
  paint();
  follow();
  return drawing;
}

const axisName = (text: string, x: number, y: number, anchor: string): SVGElement => {
  const label = svg("text", { class: "aw-roles-axis", x, y, "text-anchor": anchor });
  label.textContent = text;
  return label;
};

function notes({ names, axes, silhouette, explained, seed }: Roles): HTMLElement {
  const shown = formatPercent(explained[0] + explained[1]);
  return h(
    "p",
    { class: "aw-view-note aw-roles-note" },
    `Heads clustered on the z-scores of ${axes.length} specialization${axes.length === 1 ? "" : "s"} ` +
      `(${axes.map(roleName).join(", ")}): k-means, k = ${names.length} by silhouette ` +
      `(${formatNumber(silhouette, 2)}), seed ${seed}. A role is named after the figures that stand out; ` +
      `“diffuse” if none does. The map shows ${shown} of the variance.`,
  );
}
