/** A small picture in a list. */

import { penOf } from "../../draw/canvas";
import { decoded } from "./data";

/** Decodes into the canvas; what is no picture stays empty. */
function show(canvas: HTMLCanvasElement, type: string, bytes: Uint8Array): void {
  const draw = (pixels: ImageBitmap): void => {
    canvas.width = pixels.width;
    canvas.height = pixels.height;
    penOf(canvas).drawImage(pixels, 0, 0);
  };
  decoded(type, bytes).then(draw, () => undefined);
}

export const thumbnail = ({
  type,
  bytes,
}: {
  readonly type: string;
  readonly bytes: Uint8Array;
}) => (
  <canvas
    class="aw-picture-small"
    aria-hidden="true"
    width={0}
    height={0}
    ref={(canvas) => {
      if (canvas !== null) show(canvas, type, bytes);
    }}
  />
);
