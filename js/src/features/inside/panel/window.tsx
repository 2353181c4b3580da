/** Which dimensions are on screen: an overview to drag in, steps, sizes, and a number to go to. */

import { formatCount } from "../../../figures/format";
import { Button } from "../../../ui/controls";
import { envelope } from "../dimensions";

const SIZES = [32, 64, 96, 128, 256] as const;
const BINS = 256;
const HEIGHT = 16;

interface WindowProps {
  readonly rows: readonly ArrayLike<number>[];
  /** Available range, and the size of the whole. */
  readonly have: number;
  readonly size: number;
  readonly window: readonly [start: number, stop: number];
  /** A size that is offered besides the others. */
  readonly first: number;
  /** Name of an index: `dimension`. */
  readonly unit: string;
  /** Left end and width of the cells below, px. */
  readonly cells: { readonly left: number; readonly width: number };
  readonly hidden: boolean;
  /** Show the window that begins at an index, or one of another size. */
  readonly start: (index: number) => void;
  readonly resize: (size: number) => void;
  readonly goTo: (index: number) => void;
}

/** The largest values of all rows as bars. */
function bars(rows: WindowProps["rows"], have: number) {
  const bins = Math.min(BINS, have);
  const most = envelope(rows, bins);
  const top = Math.max(...most) || 1;
  const step = BINS / bins;
  const d = [...most]
    .map((value, i) => `M${(i + 0.5) * step} ${HEIGHT}v${(-(HEIGHT - 1) * value) / top}`)
    .join("");
  return <path class="aw-window-bars" d={d} stroke-width={step * 0.7} />;
}

export function WindowControl(props: WindowProps) {
  const { rows, have, size, window, first, unit, cells, hidden, start, resize, goTo } = props;
  const [from, to] = window;
  const plural = `${unit}s`;
  const sizes = [...new Set([...SIZES, first])].filter((n) => n < have).sort((a, b) => a - b);
  const whole = from === 0 && to === have && have <= Math.min(...SIZES);
  const scale = BINS / have;
  const step = (face: string, name: string, sign: number, disabled: boolean) => (
    <Button
      label={`${name} ${plural}`}
      disabled={disabled}
      onClick={() => start(from + sign * (to - from))}
    >
      {face}
    </Button>
  );
  const drag = (overview: Element, clientX: number): void => {
    const box = overview.getBoundingClientRect();
    const share = (clientX - box.left) / box.width;
    start(Math.round(share * have - (to - from) / 2));
  };
  const jump = (field: HTMLInputElement): void => {
    const index = Number.parseInt(field.value, 10);
    if (Number.isNaN(index)) return;
    const inside = Math.min(Math.max(index, 0), have - 1);
    field.value = String(inside);
    goTo(inside);
  };
  return (
    <div
      class={`aw-window aw-muted aw-small${whole ? " is-whole" : ""}`}
      data-aw-part="window"
      role="group"
      aria-label={`Which ${plural} are shown`}
      hidden={hidden || rows.length === 0 || size <= 1}
      style={{ "--aw-window-left": `${cells.left}px`, "--aw-window-width": `${cells.width}px` }}
    >
      <div class="aw-window-track">
        <svg
          class="aw-window-overview"
          preserveAspectRatio="none"
          viewBox={`0 0 ${BINS} ${HEIGHT}`}
          aria-hidden="true"
          onPointerDown={({ currentTarget, pointerId, clientX }) => {
            currentTarget.setPointerCapture(pointerId);
            drag(currentTarget, clientX);
          }}
          onPointerMove={({ currentTarget, pointerId, clientX }) => {
            if (currentTarget.hasPointerCapture(pointerId)) drag(currentTarget, clientX);
          }}
        >
          <rect
            class="aw-window-pane"
            x={from * scale}
            y={0}
            width={(to - from) * scale}
            height={HEIGHT}
          />
          {bars(rows, have)}
        </svg>
      </div>
      <div class="aw-window-controls aw-cluster">
        <span class="aw-inline">
          {step("‹", "Earlier", -1, from === 0)}
          {step("›", "Later", 1, to >= have)}
        </span>
        <span class="aw-number aw-window-text">
          {`${plural} ${formatCount(from)}–${formatCount(to - 1)} of ${formatCount(size)}` +
            (have < size ? ` (this page has the first ${formatCount(have)})` : "")}
        </span>
        <label class="aw-window-label">
          {"show "}
          <select
            class="aw-select"
            aria-label={`How many ${plural} are shown`}
            value={String(to - from)}
            onChange={({ currentTarget }) => resize(Number(currentTarget.value))}
          >
            {[...sizes, have].map((n) => (
              <option key={n} value={n}>
                {n === have ? `all ${formatCount(n)}` : n}
              </option>
            ))}
          </select>
        </label>
        <label class="aw-window-label">
          {"go to "}
          <input
            type="number"
            class="aw-window-field"
            min={0}
            max={have - 1}
            step={1}
            inputMode="numeric"
            aria-label={`Go to ${unit}`}
            onChange={({ currentTarget }) => jump(currentTarget)}
            onKeyDown={(event) => {
              if (event.key === "Enter") jump(event.currentTarget);
              // Arrows change the number; a notebook must not get them.
              event.stopPropagation();
            }}
          />
        </label>
      </div>
    </div>
  );
}
