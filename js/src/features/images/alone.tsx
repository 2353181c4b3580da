/** The picture inside of the view: the whole of it where the view stands alone, and for the file of a picture that is saved. */

import { render } from "preact";
import { fitCanvas } from "../../draw/canvas";
import { onTheme } from "../../draw/color/theme";
import { h } from "../../draw/dom";
import { formatNumber } from "../../figures/format";
import { groundSignal, type ImageModel } from "./model";
import { drawPicture } from "./picture";
import { paintShown, shownOf } from "./shown";
import { placeOfRow, subjectOf } from "./words";

/** Width in a file, px. */
const WIDTH = 440;

/** `chrome`: whether the picture is there in place of the text. */
export function drawAlone(
  host: HTMLElement,
  model: ImageModel,
  chrome: boolean,
  until: AbortSignal,
): void {
  if (!chrome) {
    drawPicture(host, model, until);
    return;
  }
  const { grid, picture, top, scale } = model;
  const canvas = h("canvas", { class: "aw-picture-file" });
  const words = h("p", { class: "aw-picture-scale" });
  host.append(canvas, words);
  const ground = groundSignal(host, model, until);
  // Who saves a picture has everything drawn again.
  onTheme(
    host,
    () => {
      const [found, under] = [picture.answer.peek(), ground.peek()];
      if (found === null || under === null) return;
      const high = (WIDTH * found.height) / found.width;
      const shown = shownOf(model);
      paintShown(fitCanvas(canvas, WIDTH, high), WIDTH, { grid, found, under, shown });
      const by = scale.value === "sqrt" ? ", by square root" : "";
      const text = `${subjectOf(model)}, ${placeOfRow(model)}: 0 to ${formatNumber(model.numOf(top.value))}${by}`;
      render(text, words);
    },
    until,
  );
}
