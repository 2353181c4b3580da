/**
 * The picture in place of the text: the overlay of what is in focus, special tokens as chips, the scale.
 *
 * `data-aw-part`: picture, patch, picture-title, special, picture-legend, picture-readout, region-button.
 */

import { computed, signal } from "@preact/signals-core";
import { render } from "preact";
import { fitCanvas } from "../../draw/canvas";
import { byTouch } from "../../draw/touch";
import { NoAnswer } from "../../ui/answered";
import { Button } from "../../ui/controls";
import { copyExactValues } from "../../ui/copy-exact";
import { memo } from "../../ui/memo";
import { modeSignal, mount, watch, widthOf } from "../../ui/mount";
import type { ViewContext } from "../../views/contract";
import { createWords } from "./caption";
import { placeOf, regionOf, tokenAt } from "./geometry";
import { createInput } from "./input";
import { groundSignal, type ImageModel, modelOf } from "./model";
import { paintPicture, paintRing, ringOf } from "./paint";

const HINT = "Click a patch to keep it; drag for the mean of a region.";
const TOUCH_HINT = "Tap a patch to keep it.";

/** Draws the picture of the model into `host`. */
export function drawPicture(host: HTMLElement, model: ImageModel, until: AbortSignal): void {
  const { grid, picture, values, top, selection, region, pointed, focus } = model;
  const root = document.createElement("div");
  root.className = "aw-picture";
  root.dir = "ltr";
  host.replaceChildren(root);
  const mode = modeSignal(host, until);
  const ground = groundSignal(host, model, until);
  let canvas: HTMLCanvasElement | null = null;
  let stage: HTMLElement | null = null;
  const input = createInput(model, () => stage);
  const at = computed(() => {
    const { token } = selection.value;
    return (token === null ? null : placeOf(grid, token)) ?? input.cursor.value;
  });
  const hasKeys = signal(false);

  const Stage = memo(function Stage() {
    const found = picture.answer.value;
    const { row, column } = at.value;
    const token = tokenAt(grid, at.value);
    const rect = found && ringOf(grid, found, regionOf(at.value, at.value), 100, 100);
    const pinned = selection.value.token === token;
    void values.value;
    return (
      <div
        class={`aw-picture-stage${input.drawing.value ? " is-drawing" : ""}`}
        role="group"
        aria-label={`Picture of ${grid.rows} by ${grid.columns} patches: choose the patch whose attention is shown`}
        data-aw-part="picture"
        ref={(element) => {
          stage = element;
        }}
        onPointerDown={input.pointerDown}
        onPointerMove={input.pointerMove}
        onPointerUp={input.pointerUp}
        onPointerLeave={input.leave}
        onClick={input.click}
        onKeyDown={input.press}
      >
        <canvas
          class="aw-picture-canvas"
          aria-hidden="true"
          ref={(element) => {
            canvas = element;
          }}
        />
        <Button
          class="aw-picture-patch"
          part="patch"
          label={`Row ${row + 1} of ${grid.rows}, column ${column + 1} of ${grid.columns}; ${input.spoken(token)}`}
          aria-pressed={pinned}
          data-token={token}
          onFocus={() => {
            hasKeys.value = true;
          }}
          onBlur={() => {
            hasKeys.value = false;
          }}
          style={
            rect === null
              ? {}
              : {
                  left: `${rect[0]}%`,
                  top: `${rect[1]}%`,
                  width: `${rect[2]}%`,
                  height: `${rect[3]}%`,
                }
          }
        />
      </div>
    );
  });

  const Words = createWords(model, mode);
  const View = () => {
    const failure = picture.failure.value;
    return (
      <>
        {failure !== null && <NoAnswer failure={failure} again={() => undefined} />}
        <Stage />
        <div class="aw-picture-words">
          <Words />
          <p class="aw-picture-hint aw-hint aw-tiny">
            {byTouch() ? TOUCH_HINT : HINT}
            {byTouch() && (
              <Button
                class="aw-plain"
                part="region-button"
                aria-pressed={input.drawing.value}
                onClick={() => {
                  input.drawing.value = !input.drawing.peek();
                }}
              >
                Draw a region
              </Button>
            )}
          </p>
        </div>
      </>
    );
  };
  mount(root, View, until);
  copyExactValues(root, until);

  const width = stage === null ? signal(0) : widthOf(stage, 0, until);
  function paint(): void {
    const [found, under] = [picture.answer.value, ground.value];
    const wide = width.value;
    const [row, most, { token }] = [values.value, top.value, selection.value];
    const [over, drawn, passing] = [pointed.value, region.value, focus.value.kind === "pointed"];
    if (canvas === null || found === null || under === null || wide === 0) return;
    const high = (wide * found.height) / found.width;
    const pen = fitCanvas(canvas, wide, high);
    const colors = { values: row, top: most, scale: model.scale.value, mode: under.mode };
    paintPicture(pen, wide, high, grid, found, under.ground, colors);
    const ring = (place: { row: number; column: number } | null, kind: "pinned" | "pointed") => {
      if (place !== null)
        paintRing(pen, ringOf(grid, found, regionOf(place, place), wide, high), kind);
    };
    if (over !== null && (over !== token || passing)) ring(placeOf(grid, over), "pointed");
    if (token !== null) ring(placeOf(grid, token), "pinned");
    if (drawn !== null) paintRing(pen, ringOf(grid, found, drawn, wide, high), "region");
  }
  watch(paint, until);
}

/** Draws the picture in place of the text. */
export function picture(host: HTMLElement, context: ViewContext): void {
  const { signal: until } = context;
  drawPicture(host, modelOf(context), until);
  until.addEventListener("abort", () => render(null, host), { once: true });
}

declare module "../../views/contract" {
  interface LazyCode {
    readonly picture: typeof picture;
  }
}
