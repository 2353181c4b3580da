/** The map of roles: every head as a dot where its specialization puts it, its role by color, shape and letter. */
import { computed, signal } from "@preact/signals-core";
import { category, categoryColor } from "../../draw/color/category";
import type { Mode } from "../../draw/color/ramp";
import { onResize } from "../../draw/resize";
import { whenSeen } from "../../draw/wait";
import { formatCount, formatNumber, formatPercent } from "../../figures/format";
import type { Roles } from "../../figures/head-figures";
import { roleName } from "../../figures/head-names";
import { headName, spokenHead } from "../../figures/names";
import { navigateList } from "../../marks/navigate";
import { cls } from "../../marks/plot";
import { itemAt } from "../../protocol/required";
import { Button } from "../../ui/controls";
import { memo } from "../../ui/memo";
import { setter, watch } from "../../ui/mount";
import { answeredSection } from "./answered";
import type { HeadsModel } from "./model";
import { places, towards } from "./roles-geometry";

const HEIGHT = 300;
/** Margin for a dot with its ring, and for the names of the axes, px. */
const MARGIN = 26;
const RING = 9;
const plural = (count: number, name: string): string => `${name}${count === 1 ? "" : "s"}`;

export function createRoles(model: HeadsModel) {
  const { roles, profile, nLayers, nHeads, until } = model;
  const scope =
    profile === null
      ? "Roles from this one text; another text may give others."
      : `Roles over ${formatCount(profile.n_texts)} texts.`;
  const start = (section: HTMLElement | null): void => {
    if (section !== null && roles.answer.peek() === null)
      whenSeen(section, () => void model.askForRoles(), until);
  };
  const part = { class: "aw-roles", "aria-label": "Map of roles", "data-aw-part": "roles" };
  return answeredSection(roles, (found) => createContent(model, found), {
    until,
    section: { ...part, ref: start },
    head: (
      <p class="aw-view-note" data-aw-part="roles-scope">
        {scope}
      </p>
    ),
    class: "aw-roles-body",
    waiting: `Clustering ${formatCount(nLayers * nHeads)} heads (takes seconds the first time) …`,
    again: () => void model.askForRoles(),
  });
}

function createContent(model: HeadsModel, roles: Roles) {
  const { selection, chosen, mode, nLayers, nHeads, until } = model;
  const { labels, names, layout, explained } = roles;
  const heads = Array.from({ length: nLayers * nHeads }, (_, index) => index);
  const width = signal(0);
  const highlighted = signal<number | null>(null);
  const map = computed(() => places(layout, width.value, HEIGHT, MARGIN));
  const measure = (plane: HTMLElement | null): void => {
    if (plane !== null) onResize(plane, setter(width), until);
  };
  const { entry, pointed, props } = navigateList({
    attribute: "index",
    order: () => heads,
    towards: (key, at) => towards(map.peek().dots, at, key),
    pick: (index) => model.selectIndex(index),
  });
  watch(() => {
    entry.value = chosen.value < 0 ? selection.value.layer * nHeads : chosen.value;
    pointed.value = null;
  }, until);
  const roleOf = (index: number): number => itemAt(labels, index);
  const nameOf = (role: number): string => roleName(names[role] ?? "");
  const placeOf = (index: number) => [Math.floor(index / nHeads), index % nHeads] as const;
  const described = (index: number): string =>
    `${headName(...placeOf(index))}: ${nameOf(roleOf(index))}`;

  const Plane = memo(function Plane() {
    const { dots, zero } = map.value;
    const [right, marked] = [width.value, highlighted.value];
    // The selected head lies in front of its neighbors.
    const order = [...heads].sort(
      (a, b) => Number(a === chosen.value) - Number(b === chosen.value),
    );
    const axis = (text: string, at: Readonly<Record<string, number | string>>) => (
      <text class="aw-roles-axis" {...at}>
        {text}
      </text>
    );
    const first = `first axis: ${formatPercent(explained[0])} of the variance`;
    return (
      <svg
        class="aw-roles-plane"
        {...{ width: right, height: HEIGHT, viewBox: `0 0 ${right} ${HEIGHT}` }}
        aria-hidden="true"
      >
        <line class="aw-roles-zero" x1={0} x2={right} y1={zero.y} y2={zero.y} />
        <line class="aw-roles-zero" x1={zero.x} x2={zero.x} y1={0} y2={HEIGHT} />
        {axis(first, { x: right - 4, y: HEIGHT - 6, "text-anchor": "end" })}
        {axis(`second axis: ${formatPercent(explained[1])}`, {
          x: 4,
          y: 12,
          "text-anchor": "start",
        })}
        {order.map((index) => (
          <Shape
            key={index}
            {...itemAt(dots, index)}
            role={roleOf(index)}
            mode={mode.value}
            faint={marked !== null && marked !== roleOf(index)}
            chosen={index === chosen.value}
            pointed={index === pointed.value}
          />
        ))}
      </svg>
    );
  });
  const Dots = memo(function Dots() {
    return (
      <div
        class="aw-roles-dots"
        role="group"
        aria-label="Heads by what they look at; arrow keys go to the nearest one"
        {...props}
      >
        {heads.map((index) => {
          const { x, y } = itemAt(map.value.dots, index);
          const [layer, head] = placeOf(index);
          return (
            <Button
              key={index}
              class="aw-flat aw-role-dot"
              tabIndex={index === entry.value ? 0 : -1}
              {...{ "data-index": index, "data-layer": layer, "data-head": head }}
              data-role={roleOf(index)}
              aria-pressed={index === chosen.value}
              label={`${spokenHead(layer, head)}: ${nameOf(roleOf(index))}`}
              title={described(index)}
              style={{ left: `${x.toFixed(2)}px`, top: `${y.toFixed(2)}px` }}
            />
          );
        })}
      </div>
    );
  });
  const Readout = memo(function Readout() {
    const index = pointed.value ?? chosen.value;
    return (
      <p class="aw-roles-readout" aria-hidden="true">
        {index >= 0 && described(index)}
      </p>
    );
  });
  const Legend = memo(function Legend() {
    const key = (role: number) => {
      const count = heads.filter((index) => roleOf(index) === role).length;
      const on = highlighted.value === role;
      return (
        <li key={role}>
          <Button
            class="aw-flat aw-role-key"
            aria-pressed={on}
            data-role={role}
            onClick={() => {
              highlighted.value = on ? null : role;
            }}
          >
            <svg
              class="aw-role-mark"
              viewBox="-7 -7 14 14"
              aria-hidden="true"
              style={{ "--role": categoryColor(role, mode.value) }}
            >
              <path d={category(role).path} />
            </svg>
            <span class="aw-role-letter">{category(role).letter}</span>
            <span class="aw-role-name">{nameOf(role)}</span>
            <span class="aw-role-count">{`${formatCount(count)} ${plural(count, "head")}`}</span>
          </Button>
        </li>
      );
    };
    return (
      <ul class="aw-list aw-roles-legend" data-aw-part="roles-legend">
        {names.map((_, role) => key(role))}
      </ul>
    );
  });
  return () => (
    <div class="aw-roles-parts">
      <div class="aw-roles-plot">
        <div class="aw-roles-map" data-aw-part="roles-map" ref={measure}>
          <Plane />
          <Dots />
        </div>
        <Readout />
      </div>
      <div class="aw-roles-side">
        <Legend />
        <p class="aw-view-note aw-roles-note">{methodOf(roles)}</p>
      </div>
    </div>
  );
}

interface ShapeProps
  extends Record<"x" | "y" | "role", number>,
    Record<"faint" | "chosen" | "pointed", boolean> {
  readonly mode: Mode;
}
const Shape = memo(function Shape({ x, y, role, mode, faint, chosen, pointed }: ShapeProps) {
  return (
    <g
      class={cls("aw-role-shape", { faint, this: chosen, pointed })}
      transform={`translate(${x.toFixed(2)} ${y.toFixed(2)})`}
      style={{ "--role": categoryColor(role, mode) }}
    >
      <circle class="aw-role-ring" r={RING} />
      <path d={category(role).path} />
    </g>
  );
});

function methodOf({ names, axes, silhouette, explained, seed }: Roles): string {
  const shown = formatPercent(explained[0] + explained[1]);
  return (
    `Heads clustered on the z-scores of ${axes.length} ${plural(axes.length, "specialization")} ` +
    `(${axes.map(roleName).join(", ")}): k-means, k = ${names.length} by silhouette ` +
    `(${formatNumber(silhouette, 2)}), seed ${seed}. A role is named after the figures that stand out; ` +
    `“diffuse” if none does. The map shows ${shown} of the variance.`
  );
}
