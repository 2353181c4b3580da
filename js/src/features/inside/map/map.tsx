/** The whole model as a map: every box a stage, every row of the column a layer. */

import { computed, type ReadonlySignal, signal, untracked } from "@preact/signals-core";
import { consume } from "../../../draw/dom";
import { exact, formatNumber } from "../../../figures/format";
import { itemAt } from "../../../protocol/required";
import { memo } from "../../../ui/memo";
import { watch } from "../../../ui/mount";
import type { StageBox, StageId, Zone } from "../architecture";
import { argmax, scaleEnd } from "../dimensions";
import {
  AROUND,
  CHARACTER,
  type Layout,
  layoutMap,
  type Placed,
  sizesOf,
  type Wire,
} from "./layout";

/** Residual bars of the focus token, by layer, and the change to the next layer. */
export interface Bars {
  readonly attention: readonly number[];
  readonly ffn: readonly number[];
  readonly change: readonly number[];
}

export interface MapData {
  readonly stages: readonly StageBox[];
  readonly layers: number;
  readonly layer: number;
  readonly open: StageId;
  /** Names of the zones. */
  readonly headings: Readonly<Record<Zone | "layers", string>>;
  /** Null until they have been computed. */
  readonly bars: Bars | null;
}

interface MapEvents {
  open(id: StageId): void;
  layer(layer: number): void;
  /** The pointer or the focus is on a box or a layer, or on none. */
  point(at: StageBox | number | null): void;
}

/** The bars of a layer in words, for screen readers. */
function spokenLayer(layer: number, bars: Bars | null): string {
  if (bars === null) return `L${layer}`;
  const change = bars.change[layer];
  return (
    `L${layer}: residual of attention ${formatNumber(itemAt(bars.attention, layer))}, ` +
    `of FFN ${formatNumber(itemAt(bars.ffn, layer))}` +
    (change === undefined ? "" : `; attention changes by ${formatNumber(change)} to the next layer`)
  );
}

const HEADS: Record<Wire["head"]["to"], string> = {
  right: "l-5 -3v6z",
  down: "l-3 -5h6z",
  up: "l-3 5h6z",
};

/** A rectangle whose line is drawn on whole pixels. */
const Frame = ({
  of: { x, y, w, h },
  name,
  rx,
}: {
  readonly of: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly name: string;
  readonly rx: number;
}) => <rect class={name} x={x + 0.5} y={y + 0.5} width={w - 1} height={h - 1} rx={rx} />;

const write = (x: number, y: number, name: string, text: string) => (
  <text x={x} y={y} class={name}>
    {text}
  </text>
);

interface StageProps {
  readonly placed: Placed;
  readonly open: boolean;
  /** Tab enters this box. */
  readonly entry: boolean;
}

function Stage({ placed, open, entry }: StageProps) {
  const { stage, x, y, w } = placed;
  const absent = stage.missing !== null;
  // Capitals side by side are wider than others.
  const fits = (text: string, per: number): boolean =>
    text.length * per + CHARACTER.capital * (text.match(/[A-Z](?=[A-Z])/g)?.length ?? 0) <=
    w - AROUND;
  // Text that does not fit a narrow box goes to the line below the map.
  const title = fits(stage.title, CHARACTER.title) ? stage.title : stage.short;
  const size = sizesOf(stage).find((text) => fits(text, CHARACTER.size)) ?? "";
  return (
    <g
      class={`aw-stage${absent ? " is-absent" : ""}${open ? " is-open" : ""}`}
      role="button"
      tabindex={entry ? 0 : -1}
      data-aw-part="stage"
      data-stage={stage.id}
      aria-pressed={open}
    >
      <Frame of={placed} name="aw-stage-box" rx={4} />
      {write(x + w / 2, y + 15, "aw-stage-title", title)}
      {write(x + w / 2, y + 29, "aw-stage-size", absent ? "–" : size)}
    </g>
  );
}

/** Shares of the column: name of the layer, residual bars, change to the next layer. */
const COLUMN = { label: 34, change: 0.24, gap: 8, value: 34 } as const;
/** A column narrower than this has a mark where the wider one has the number. */
const NUMBERED = 160;
const MARK = 12;
/** From the end of a bar that is longer than its scale to where it is broken, px. */
const BREAK = 9;

function Column({ layout: { column: at, frame }, data }: { layout: Layout; data: MapData }) {
  const { bars, layer: chosen, layers } = data;
  const change = Math.round((at.w - COLUMN.label) * COLUMN.change);
  const numbered = at.w >= NUMBERED;
  const barWidth = at.w - COLUMN.label - (numbered ? COLUMN.value : MARK) - change - COLUMN.gap;
  const changeX = at.w - change - 8;
  const thick = Math.max(3, Math.min(8, Math.floor((at.pitch - 6) / 2)));
  const both = bars === null ? [] : [...bars.attention, ...bars.ffn];
  const most = scaleEnd(both) || 1;
  const mostChange = Math.max(...(bars?.change ?? []), 0) || 1;
  const [top, largest] = [argmax(both), argmax(bars?.change ?? [])];
  // Low rows: every fourth has its name.
  const every = at.pitch >= 14 ? 1 : 4;
  const barY = (layer: number, i: number): number =>
    at.y + (layer + 0.5) * at.pitch + (i === 0 ? -thick - 0.5 : 0.5);

  const row = (layer: number) => {
    const y = at.y + layer * at.pitch;
    const free = every === 1 || Math.abs(layer - chosen) > 1;
    return (
      <g
        key={layer}
        class={`aw-layer${layer === chosen ? " is-chosen" : ""}`}
        role="button"
        tabindex={-1}
        data-aw-part="residuals"
        data-layer={layer}
        aria-pressed={layer === chosen}
        aria-label={spokenLayer(layer, bars)}
      >
        <Frame of={{ x: 0, y, w: at.w, h: at.pitch }} name="aw-layer-box" rx={3} />
        {(layer === chosen || (layer % every === 0 && free)) &&
          write(6, y + at.pitch / 2 + 4, "aw-layer-name", `L${layer}`)}
        {bars !== null &&
          (["attention", "ffn"] as const).map((half, i) => {
            const value = itemAt(bars[half], layer);
            const share = Math.min(value / most, 1);
            return [
              <rect
                key={half}
                class={`aw-residual aw-residual-${half}`}
                x={COLUMN.label}
                y={barY(layer, i)}
                width={Number.isNaN(value) ? 0 : Math.max(1, barWidth * share)}
                height={thick}
                data-half={half}
                data-aw-value={exact(value)}
              />,
              // Beyond the scale: the bar is broken.
              value > most && (
                <path
                  key={`${half} break`}
                  class="aw-residual-break"
                  d={`M${COLUMN.label + barWidth - BREAK} ${barY(layer, i) + thick + 1}l3 ${-thick - 2}`}
                />
              ),
            ];
          })}
      </g>
    );
  };

  const between = (value: number, layer: number) => {
    const y = at.y + (layer + 1) * at.pitch;
    const width = (change * value) / mostChange;
    return (
      <g
        key={`change ${layer}`}
        class={`aw-change${layer === largest ? " is-largest" : ""}`}
        aria-hidden="true"
        data-aw-part="change"
        data-layer={layer}
        data-aw-value={exact(value)}
      >
        <path class="aw-change-line" d={`M${changeX} ${y}h${width}`} />
        <path class="aw-change-dot" d={`M${changeX + width} ${y - 3}l3 3l-3 3l-3 -3z`} />
      </g>
    );
  };

  const y = at.y + chosen * at.pitch;
  return (
    <>
      <path
        class="aw-wedge"
        d={`M${at.w} ${y + 0.5}L${frame.x} ${frame.y + 4}V${frame.y + frame.h - 4}L${at.w} ${y + at.pitch - 0.5}z`}
      />
      {Array.from({ length: layers }, (_, layer) => row(layer))}
      {bars?.change.map(between)}
      {/* The largest bar's number; the buttons' names have all of them. */}
      {top >= 0 && (
        <text
          x={COLUMN.label + barWidth + 4}
          y={barY(top % layers, top < layers ? 0 : 1) + thick / 2 + 4}
          class="aw-layer-most"
          aria-hidden="true"
        >
          {numbered ? formatNumber(itemAt(both, top)) : "◂"}
        </text>
      )}
      <Frame of={at} name="aw-layer-stack" rx={4} />
    </>
  );
}

/** The map and its keys, at a given width (px). */
export function createMap(
  data: ReadonlySignal<MapData | null>,
  width: ReadonlySignal<number>,
  events: MapEvents,
  until: AbortSignal,
) {
  /** The box that Tab enters. */
  const entry = signal<StageId | null>(null);
  const open = computed(() => data.value?.open ?? null);
  let element: SVGSVGElement | null = null;
  const hold = (found: SVGSVGElement | null): void => {
    element = found;
  };

  function focus(id: StageId): void {
    entry.value = id;
    element?.querySelector<SVGElement>(`[data-stage="${id}"]`)?.focus({ preventScroll: true });
  }

  // The focus stays in the map, at what is open.
  watch(() => {
    const id = open.value;
    if (id !== null && element?.contains(document.activeElement)) untracked(() => focus(id));
    else entry.value = id;
  }, until);

  /** The stage or the layer that an event concerns. */
  function placeOf(target: EventTarget | null): StageBox | number | null {
    const found = (target as Element | null)?.closest<SVGElement>("[data-stage], .aw-layer");
    if (found == null) return null;
    const stage = data.peek()?.stages.find(({ id }) => id === found.dataset.stage);
    return stage ?? Number(found.dataset.layer);
  }

  function take({ target }: Event): void {
    const at = placeOf(target);
    if (typeof at === "number") events.layer(at);
    else if (at !== null) {
      focus(at.id);
      events.open(at.id);
    }
  }

  const point = ({ target }: Event): void => events.point(placeOf(target));
  const leave = (): void => events.point(null);

  function onKey(event: KeyboardEvent): void {
    const shown = data.peek();
    if (shown === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const ids = shown.stages.map(({ id }) => id);
    const at = placeOf(event.target);
    const from = at !== null && typeof at !== "number" ? at.id : (entry.peek() ?? shown.open);
    const [index, last] = [ids.indexOf(from), ids.length - 1];
    const next = {
      ArrowLeft: Math.max(index - 1, 0),
      ArrowRight: Math.min(index + 1, last),
      Home: 0,
      End: last,
    }[event.key];
    const shift = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (next !== undefined) focus(itemAt(ids, next));
    else if (shift !== undefined) events.layer(shown.layer + shift);
    else if (event.key === "Enter" || event.key === " ") take(event);
    else return;
    consume(event);
  }

  const ModelMap = memo(function ModelMap({ describedBy }: { readonly describedBy: string }) {
    const shown = data.value;
    const layout =
      shown === null || width.value === 0
        ? null
        : layoutMap(shown.stages, shown.layers, width.value);
    const size = layout && { width: layout.width, height: layout.height };
    const entered =
      shown?.stages.some(({ id }) => id === entry.value) === true
        ? entry.value
        : shown?.stages[0]?.id;
    return (
      <svg
        ref={hold}
        class="aw-inside-map"
        role="group"
        aria-label="The model, stage by stage"
        aria-describedby={describedBy}
        data-aw-part="inside-map"
        {...size}
        viewBox={size === null ? undefined : `0 0 ${size.width} ${size.height}`}
        onClick={take}
        onPointerOver={point}
        onPointerLeave={leave}
        onFocusIn={point}
        onFocusOut={leave}
        onKeyDown={onKey}
      >
        {shown !== null && layout !== null && (
          <>
            <Frame of={layout.frame} name="aw-layer-frame" rx={6} />
            <Column layout={layout} data={shown} />
            {layout.wires.map(({ kind, d, head }) => (
              <g key={d} class={`aw-wire aw-wire-${kind}`}>
                <path class="aw-wire-line" d={d} />
                <path class="aw-wire-head" d={`M${head.x} ${head.y}${HEADS[head.to]}`} />
              </g>
            ))}
            {layout.signs.map(({ x, y, text }) => write(x, y + 5, "aw-map-sign", text))}
            {layout.headings.map(({ x, y, zone }) =>
              write(x, y, "aw-map-heading", shown.headings[zone]),
            )}
            {layout.boxes.map((placed) => (
              <Stage
                key={placed.stage.id}
                placed={placed}
                open={placed.stage.id === shown.open}
                entry={placed.stage.id === entered}
              />
            ))}
          </>
        )}
      </svg>
    );
  });

  return { ModelMap, drawing: () => element };
}
