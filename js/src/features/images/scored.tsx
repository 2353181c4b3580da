/**
 * A picture among other inputs, with signed numbers of its patches: what they add to a score.
 *
 * `data-aw-part`: scored, scored-patch, scored-title, scored-special, scored-legend.
 */

import { computed, signal } from "@preact/signals-core";
import { fitCanvas } from "../../draw/canvas";
import { inkOn } from "../../draw/color/ramp";
import { largestOf } from "../../draw/color/scale";
import { consume } from "../../draw/dom";
import { isSecondClick } from "../../draw/touch";
import { formatNumber, formatSigned } from "../../figures/format";
import { onAbort } from "../../protocol/abort";
import { asking } from "../../protocol/asking";
import { NoAnswer } from "../../ui/answered";
import { Button } from "../../ui/controls";
import { memo } from "../../ui/memo";
import { modeSignal, watch, widthOf } from "../../ui/mount";
import { Num } from "../../ui/number";
import type { DrawnInput, InputToDraw } from "../../views/contract";
import { type Picture, pictureOf } from "./data";
import {
  type PatchGrid,
  type Place,
  placeOf,
  regionOf,
  specialTokens,
  stepFrom,
  tokenAt,
  tokenUnder,
} from "./geometry";
import { groundSignal } from "./model";
import { type Coloring, entryOf, overlayImage, overMiddle, ringOf } from "./paint";
import { areasOf, regionAround, strongestPlace } from "./places";
import { paintShown } from "./shown";

/** The picture on its canvas, and pointer and keys on it. */
function createStage(given: InputToDraw, grid: PatchGrid) {
  const { special, painted, at, pinned, outlined, host, signal: until } = given;
  const picture = asking<Picture>(until);
  const ask = (): void =>
    void picture.ask(async (signal) => pictureOf(await given.ask("image", signal)));
  ask();
  const mode = modeSignal(host, until);
  const ground = groundSignal(host, { picture }, until);
  const top = computed(() => largestOf(Array.from(painted.value?.values ?? []), special));
  const scaled = computed((): Omit<Coloring, "mode"> => {
    const signed = painted.value?.signed !== false;
    return { scale: signed ? "head" : "sqrt", signed };
  });
  /** The patch that has the keys. */
  const cursor = signal<Place>({ row: grid.rows >> 1, column: grid.columns >> 1 });
  const canvas = signal<HTMLCanvasElement | null>(null);
  const width = signal(0);
  let stage: HTMLElement | null = null;
  let sizing = new AbortController();
  onAbort(until, () => sizing.abort());

  const keepCanvas = (element: HTMLCanvasElement | null): void => {
    canvas.value = element;
  };
  const keepStage = (element: HTMLElement | null): void => {
    sizing.abort();
    stage = element;
    if (element === null) return;
    sizing = new AbortController();
    const wide = widthOf(element, 0, sizing.signal);
    watch(() => {
      width.value = wide.value;
    }, sizing.signal);
  };

  function tokenOf({ clientX, clientY }: MouseEvent): number | null {
    const found = picture.answer.peek();
    const box = stage?.getBoundingClientRect();
    if (found === null || box === undefined || box.width === 0) return null;
    const x = ((clientX - box.left) / box.width) * found.width;
    const y = ((clientY - box.top) / box.height) * found.height;
    return tokenUnder(grid, found.rects, x, y);
  }
  function click(event: MouseEvent): void {
    const token = isSecondClick(event) ? null : tokenOf(event);
    if (token === null) return;
    cursor.value = placeOf(grid, token) ?? cursor.peek();
    given.pin(token);
  }
  function press(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape") {
      if (!pinned.peek()) return;
      given.pin(null);
    } else if (event.key === "Enter" || event.key === " ") {
      given.pin(tokenAt(grid, cursor.peek()));
    } else {
      const to = stepFrom(grid, cursor.peek(), event.key);
      if (to === null) return;
      cursor.value = to;
      given.point(tokenAt(grid, to));
    }
    consume(event);
  }

  watch(() => {
    const [element, wide] = [canvas.value, width.value];
    if (element === null || wide === 0) return;
    const [found, under, token] = [picture.answer.value, ground.value, at.value];
    if (found === null || under === null) return;
    const place = token === null ? null : placeOf(grid, token);
    const shown = {
      ...{
        values: painted.value?.values ?? null,
        top: top.value,
        ...scaled.value,
      },
      ...{ region: regionAround(grid, outlined.value), gathered: [], divided: null },
      pinned: pinned.value ? place : null,
      pointed: pinned.value ? null : place,
    };
    const pen = fitCanvas(element, wide, (wide * found.height) / found.width);
    paintShown(pen, wide, { grid, found, under, shown });
  }, until);

  return { picture, ask, mode, top, scaled, cursor, keepCanvas, keepStage, tokenOf, click, press };
}

/** Null of an input that is no picture. */
export function drawInput(given: InputToDraw): DrawnInput | null {
  const { meta, names, painted, at, pinned } = given;
  const grid = meta.image;
  if (grid === undefined) return null;
  const { picture, ask, mode, top, scaled, cursor, ...stage } = createStage(given, grid);
  const specials = specialTokens(grid, names.length);

  /** Weights have no sign. */
  const said = (value: number): string =>
    painted.value?.signed === false ? formatNumber(value) : formatSigned(value);
  const spoken = (token: number): string => {
    const value = painted.value?.values[token];
    return value === undefined ? String(names[token]) : `${names[token]}: ${said(value)}`;
  };
  const Patch = memo(function Patch() {
    const found = picture.answer.value;
    const place = cursor.value;
    const token = tokenAt(grid, place);
    const rect = found && ringOf(grid, found, regionOf(place, place), 100, 100);
    const [left, top, wide, high] = rect ?? [0, 0, 0, 0];
    return (
      <Button
        class="aw-picture-patch"
        part="scored-patch"
        label={`Row ${place.row + 1} of ${grid.rows}, column ${place.column + 1} of ${grid.columns}; ${spoken(token)}`}
        aria-pressed={pinned.value && at.value === token}
        data-token={token}
        style={{ left: `${left}%`, top: `${top}%`, width: `${wide}%`, height: `${high}%` }}
        onFocus={() => given.point(token)}
        onBlur={() => given.point(null)}
      />
    );
  });
  const Specials = memo(function Specials() {
    const values = painted.value?.values;
    if (specials.length === 0 || values === undefined) return null;
    const coloring: Coloring = { mode: mode.value, ...scaled.value };
    return (
      <div class="aw-picture-chips" role="group" aria-label="Special tokens">
        {specials.map((token) => {
          const value = values[token] ?? 0;
          const color = overMiddle(entryOf(value, top.value, coloring), coloring);
          return (
            <Button
              key={token}
              class="aw-picture-chip"
              part="scored-special"
              data-token={token}
              data-aw-value={value}
              aria-pressed={pinned.value && at.value === token}
              style={{ background: `rgb(${color.join(" ")})`, color: inkOn(color) }}
              onPointerEnter={() => given.point(token)}
              onPointerLeave={() => given.point(null)}
              onFocus={() => given.point(token)}
              onBlur={() => given.point(null)}
              onClick={() => given.pin(token)}
            >
              <bdi dir="ltr">{names[token]}</bdi>
              <span class="aw-number">{said(value)}</span>
            </Button>
          );
        })}
      </div>
    );
  });
  const Legend = memo(function Legend() {
    const most = top.value;
    const now = painted.value;
    if (now === null) return null;
    const { signed } = now;
    const [low, high] = [signed ? formatNumber(-most) : "0", said(most)];
    const rooted = signed ? "" : ", by square root";
    return (
      <>
        <p class="aw-picture-title" data-aw-part="scored-title">
          {now.caption}
        </p>
        <Specials />
        <div
          class="aw-picture-legend aw-tiny"
          role="img"
          aria-label={`Colors: ${low} to ${high}${rooted}`}
          data-aw-part="scored-legend"
        >
          <span class="aw-number">{low}</span>
          <span
            class="aw-picture-ramp"
            style={{ background: overlayImage({ mode: mode.value, signed }) }}
          />
          <Num value={most} text={high} />
          {!signed && <span>by square root</span>}
        </div>
      </>
    );
  });
  const View = memo(function ScoredPicture() {
    const failure = picture.failure.value;
    return (
      <div
        class="aw-picture is-scored"
        dir="ltr"
        style={{ "--aw-picture": String(grid.width / grid.height) }}
      >
        {failure !== null && <NoAnswer failure={failure} again={ask} />}
        <div
          class="aw-picture-stage"
          role="group"
          aria-label={`${given.title}: picture of ${grid.rows} by ${grid.columns} patches; choose the patch whose pairs are shown`}
          data-aw-part="scored"
          ref={stage.keepStage}
          onPointerMove={(event) => given.point(stage.tokenOf(event))}
          onPointerLeave={() => given.point(null)}
          onClick={stage.click}
          onKeyDown={stage.press}
        >
          <canvas class="aw-picture-canvas" aria-hidden="true" ref={stage.keepCanvas} />
          <Patch />
        </div>
        <Legend />
      </div>
    );
  });

  return {
    View: () => <View />,
    strongest: (values) => strongestPlace(grid, values),
    areas: areasOf(grid),
  };
}
