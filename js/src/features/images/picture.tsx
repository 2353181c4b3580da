/**
 * The picture in place of the text: the overlay of what is in focus, special tokens as chips, the scale.
 *
 * `data-aw-part`: picture, patch, picture-title, special, picture-legend, picture-readout, overlay, region-button.
 */

import { signal } from "@preact/signals-core";
import { fitCanvas } from "../../draw/canvas";
import { byTouch } from "../../draw/touch";
import { onAbort } from "../../protocol/abort";
import { NoAnswer } from "../../ui/answered";
import { Button } from "../../ui/controls";
import { copyExactValues } from "../../ui/copy-exact";
import { memo } from "../../ui/memo";
import { modeSignal, mount, setter, watch, widthOf } from "../../ui/mount";
import { Toggle } from "../../ui/toggle";
import type { ViewContext } from "../../views/contract";
import { createWords } from "./caption";
import { regionOf, tokenAt } from "./geometry";
import { createInput } from "./input";
import { groundSignal, type ImageModel, modelOf } from "./model";
import { ringOf } from "./paint";
import { paintShown, shownOf } from "./shown";

const HINT = "Click a patch to keep it; drag for the mean of a region.";
const TOUCH_HINT = "Tap a patch to keep it.";

/** Draws the picture of the model into `host`. */
export function drawPicture(host: HTMLElement, model: ImageModel, until: AbortSignal): void {
  const { grid, picture, values, selection, overlaid } = model;
  const root = document.createElement("div");
  root.className = "aw-picture";
  root.dir = "ltr";
  root.style.setProperty("--aw-picture", String(grid.width / grid.height));
  host.replaceChildren(root);
  const mode = modeSignal(host, until);
  const ground = groundSignal(host, model, until);
  let canvas: HTMLCanvasElement | null = null;
  let stage: HTMLElement | null = null;
  const input = createInput(model, () => stage, until);

  const Stage = memo(function Stage() {
    const found = picture.answer.value;
    const at = input.cursor.value;
    const token = tokenAt(grid, at);
    const rect = found && ringOf(grid, found, regionOf(at, at), 100, 100);
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
        onPointerCancel={input.pointerUp}
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
          label={`Row ${at.row + 1} of ${grid.rows}, column ${at.column + 1} of ${grid.columns}; ${input.spoken(token)}`}
          aria-pressed={pinned}
          data-token={token}
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
        {failure !== null && <NoAnswer failure={failure} again={model.askForPicture} />}
        <Stage />
        <div class="aw-picture-words">
          <Words />
          <div class="aw-picture-tools aw-hint aw-tiny">
            <Toggle
              text="overlay"
              part="overlay"
              title="Off: the picture in its own colors"
              on={overlaid.value}
              set={setter(overlaid)}
            />
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
            <span>{byTouch() ? TOUCH_HINT : HINT}</span>
          </div>
        </div>
      </>
    );
  };
  mount(root, View, until);
  copyExactValues(root, until);

  const width = stage === null ? signal(0) : widthOf(stage, 0, until);
  function paint(): void {
    const [found, under, wide] = [picture.answer.value, ground.value, width.value];
    // Read before anything is missing: what is drawn follows them.
    const shown = shownOf(model);
    if (canvas === null || found === null || under === null || wide === 0) return;
    paintShown(fitCanvas(canvas, wide, (wide * found.height) / found.width), wide, {
      ...{ grid, found, under, shown },
    });
  }
  watch(paint, until);
}

/** Draws the picture in place of the text. */
export function picture(host: HTMLElement, context: ViewContext): void {
  const { signal: until } = context;
  drawPicture(host, modelOf(context), until);
  onAbort(until, () => host.replaceChildren());
}

declare module "../../views/contract" {
  interface LazyCode {
    readonly picture: typeof picture;
  }
}
