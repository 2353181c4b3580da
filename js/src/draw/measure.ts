/** Widths of what is written on a canvas or as SVG, and labels cut to fit. */

import { fitText } from "./canvas";
import { palette } from "./color/theme";

interface Label {
  readonly text: string;
  /** px */
  readonly width: number;
}

interface Ruler {
  /** Width of `text` at a size (px) and a weight. */
  width(text: string, size: number, weight: number): number;
  /** `text` in at most `most` px. */
  fit(text: string, size: number, weight: number, most: number): Label;
}

/** Average width of a letter over its size, where there is no canvas to ask. */
const LETTER = 0.55;

export function createRuler(element: HTMLElement): Ruler {
  const pen = document.createElement("canvas").getContext("2d");
  let font = "";
  const widths = new Map<string, number>();
  const labels = new Map<string, Label>();

  function write(pen: CanvasRenderingContext2D, size: number, weight: number): void {
    // An element has no font before it stands in the page.
    font ||= palette(element).font;
    pen.font = `${weight} ${size}px ${font}`;
  }

  function width(text: string, size: number, weight: number): number {
    const key = `${size} ${weight} ${text}`;
    let width = widths.get(key);
    if (width === undefined) {
      if (pen !== null) write(pen, size, weight);
      width = pen?.measureText(text).width ?? text.length * size * LETTER;
      widths.set(key, width);
    }
    return width;
  }

  return {
    width,
    fit(text, size, weight, most) {
      const key = `${size} ${weight} ${most} ${text}`;
      let label = labels.get(key);
      if (label === undefined) {
        let cut = text;
        if (pen !== null && width(text, size, weight) > most) {
          write(pen, size, weight);
          cut = fitText(pen, text, most);
        }
        label = { text: cut, width: width(cut, size, weight) };
        labels.set(key, label);
      }
      return label;
    },
  };
}
