/** The picture inside of the view: the whole of it where the view stands alone, and for the file of a picture that is saved. */

import { render } from "preact";
import { fitCanvas } from "../../draw/canvas";
import { onTheme } from "../../draw/color/theme";
import { h } from "../../draw/dom";
import { formatNumber, formatSigned } from "../../figures/format";
import { groundSignal, type ImageModel } from "./model";
import { drawPicture } from "./picture";
import { paintShown, shownOf } from "./shown";
import { placeOfRow, subjectOf } from "./words";

/** Width in a file, px. */
const WIDTH = 440;

/** Meaning of the colors of the picture in a file; nothing where it has its own. */
export function captionOf(model: ImageModel): string {
  const { top, scale, painted, overlaid, numOf } = model;
  const most = top.value;
  if (!overlaid.value) return "";
  if (painted.value !== null)
    return `What each patch ${painted.value.verb}: ${formatNumber(-most)} to ${formatSigned(most)}`;
  const by = scale.value === "sqrt" ? ", by square root" : "";
  return `${subjectOf(model)}, ${placeOfRow(model)}: 0 to ${formatNumber(numOf(most))}${by}`;
}

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
  const { grid, picture } = model;
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
      render(captionOf(model), words);
    },
    until,
  );
}
