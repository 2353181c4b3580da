/** The map of roles: every head as a dot where its specialization puts it, its role by color, shape and letter. */

import { computed, signal } from "@preact/signals-core";
import type { ComponentType } from "preact";
import { category, categoryColor } from "../../draw/color/category";
import type { Mode } from "../../draw/color/ramp";
import { consume } from "../../draw/dom";
import { onResize } from "../../draw/resize";
import { whenSeen } from "../../draw/wait";
import { formatCount, formatNumber, formatPercent } from "../../figures/format";
import { type Roles, roleName } from "../../figures/head-figures";
import { headName, spokenHead } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import { Answered } from "../../ui/answered";
import { Button } from "../../ui/controls";
import { memo } from "../../ui/memo";
import { setTo, setter, watch } from "../../ui/mount";
import type { HeadsModel } from "./model";
import { places, towards } from "./roles-geometry";

const HEIGHT = 300;
/** Margin for a dot with its ring, and for the names of the axes, px. */
const MARGIN = 26;
const RING = 9;

export function createRoles(model: HeadsModel) {
  const { roles, profile, nLayers, nHeads, until } = model;
  const scope =
    profile === null
      ? "Roles from this one text; another text may give others."
      : `Roles over ${formatCount(profile.n_texts)} texts.`;
  const content = signal<ComponentType | null>(null);
  watch(() => {
    const found = roles.answer.value;
    content.value = found && createContent(model, found);
  }, until);
  const Content = memo(function Content() {
    const Shown = content.value;
    return Shown && <Shown />;
  });
  const start = (section: HTMLElement | null): void => {
    if (section !== null && roles.answer.peek() === null)
      whenSeen(section, () => void model.askForRoles(), until);
  };
  return memo(function RolesSection() {
    return (
      <section class="aw-roles" aria-label="Map of roles" data-aw-part="roles" ref={start}>
        <div class="aw-heads-bar">
          <h4>Roles</h4>
          <p class="aw-view-note" data-aw-part="roles-scope">
            {scope}
          </p>
        </div>
        <Answered
          asked={roles}
          class="aw-roles-body"
          waiting={`Clustering ${formatCount(nLayers * nHeads)} heads (takes seconds the first time) …`}
          again={() => void model.askForRoles()}
        >
          <Content />
        </Answered>
      </section>
    );
  });
}

function createContent(model: HeadsModel, roles: Roles) {
  const { selection, chosen, mode, nLayers, nHeads, until } = model;
  const { labels, names, layout, explained } = roles;
  const size = nLayers * nHeads;
  const width = signal(0);
  const highlighted = signal<number | null>(null);
  const pointed = signal<number | null>(null);
  /** The dot that was reached with the keyboard. */
  const visited = signal<number | null>(null);
  const entry = computed(() => {
    const first = chosen.value < 0 ? selection.value.layer * nHeads : chosen.value;
    return visited.value ?? first;
  });
  const map = computed(() => places(layout, width.value, HEIGHT, MARGIN));
  watch(() => {
    void chosen.value;
    visited.value = pointed.value = null;
  }, until);

  const roleOf = (index: number): number => itemAt(labels, index);
  const nameOf = (role: number): string => roleName(names[role] ?? "");
  const layerAndHead = (index: number) => [Math.floor(index / nHeads), index % nHeads] as const;
  const described = (index: number): string =>
    `${headName(...layerAndHead(index))}: ${nameOf(roleOf(index))}`;
  const measure = (plane: HTMLElement | null): void => {
    if (plane !== null) onResize(plane, setter(width), until);
  };

  const indexOf = ({ target }: Event): number | null => {
    const dot = (target as Element).closest<HTMLElement>(".aw-role-dot");
    return dot && Number(dot.dataset.layer) * nHeads + Number(dot.dataset.head);
  };
  const point = (event: Event): void => {
    pointed.value = indexOf(event);
  };
  const leave = setTo(pointed, null);
  function onKey(event: KeyboardEvent & { readonly currentTarget: Element }): void {
    const index = indexOf(event);
    if (index === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = { Home: 0, End: size - 1 }[event.key] ?? towards(map.value.dots, index, event.key);
    if (!event.key.startsWith("Arrow") && next === null) return;
    consume(event);
    if (next === null) return;
    visited.value = next;
    event.currentTarget
      .querySelectorAll<HTMLElement>(".aw-role-dot")
      [next]?.focus({ preventScroll: true });
  }

  const Plane = memo(function Plane() {
    const { dots, zero } = map.value;
    // The selected head lies in front of its neighbors.
    const order = [...dots.keys()].sort(
      (a, b) => Number(a === chosen.value) - Number(b === chosen.value),
    );
    const axis = (text: string, x: number, y: number, anchor: "start" | "end") => (
      <text class="aw-roles-axis" x={x} y={y} text-anchor={anchor}>
        {text}
      </text>
    );
    return (
      <svg
        class="aw-roles-plane"
        width={width.value}
        height={HEIGHT}
        viewBox={`0 0 ${width.value} ${HEIGHT}`}
        aria-hidden="true"
      >
        <line class="aw-roles-zero" x1={0} x2={width.value} y1={zero.y} y2={zero.y} />
        <line class="aw-roles-zero" x1={zero.x} x2={zero.x} y1={0} y2={HEIGHT} />
        {axis(
          `first axis: ${formatPercent(explained[0])} of the variance`,
          width.value - 4,
          HEIGHT - 6,
          "end",
        )}
        {axis(`second axis: ${formatPercent(explained[1])}`, 4, 12, "start")}
        {order.map((index) => (
          <Shape
            key={index}
            {...itemAt(dots, index)}
            role={roleOf(index)}
            mode={mode.value}
            faint={highlighted.value !== null && highlighted.value !== roleOf(index)}
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
        onKeyDown={onKey}
        onPointerOver={point}
        onPointerLeave={leave}
        onFocusIn={point}
        onFocusOut={leave}
      >
        {Array.from({ length: size }, (_, index) => {
          const [layer, head] = layerAndHead(index);
          const { x, y } = itemAt(map.value.dots, index);
          return (
            <Button
              key={index}
              class="aw-flat aw-role-dot"
              tabIndex={index === entry.value ? 0 : -1}
              data-layer={layer}
              data-head={head}
              data-role={roleOf(index)}
              aria-pressed={index === chosen.value}
              label={`${spokenHead(layer, head)}: ${nameOf(roleOf(index))}`}
              title={described(index)}
              style={{ left: `${x.toFixed(2)}px`, top: `${y.toFixed(2)}px` }}
              onClick={() => model.select(layer, head)}
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
    return (
      <ul class="aw-list aw-roles-legend" data-aw-part="roles-legend">
        {names.map((_, role) => {
          const count = Array.from(labels).filter((label) => label === role).length;
          return (
            <li key={role}>
              <Button
                class="aw-flat aw-role-key"
                aria-pressed={highlighted.value === role}
                data-role={role}
                onClick={() => {
                  highlighted.value = highlighted.value === role ? null : role;
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
                <span class="aw-role-count">
                  {`${formatCount(count)} head${count === 1 ? "" : "s"}`}
                </span>
              </Button>
            </li>
          );
        })}
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

interface ShapeProps {
  readonly x: number;
  readonly y: number;
  readonly role: number;
  readonly mode: Mode;
  readonly faint: boolean;
  readonly chosen: boolean;
  readonly pointed: boolean;
}

const Shape = memo(function Shape({ x, y, role, mode, faint, chosen, pointed }: ShapeProps) {
  const kind = `${faint ? " is-faint" : ""}${chosen ? " is-this" : ""}${pointed ? " is-pointed" : ""}`;
  return (
    <g
      class={`aw-role-shape${kind}`}
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
    `Heads clustered on the z-scores of ${axes.length} specialization${axes.length === 1 ? "" : "s"} ` +
    `(${axes.map(roleName).join(", ")}): k-means, k = ${names.length} by silhouette ` +
    `(${formatNumber(silhouette, 2)}), seed ${seed}. A role is named after the figures that stand out; ` +
    `“diffuse” if none does. The map shows ${shown} of the variance.`
  );
}
