/** Header of the predictions: the choice of their input, the legend, and a notice if the model has no head for them. */

import { h } from "../../draw/dom";
import { formatCount } from "../../figures/format";
import type { Source } from "../../protocol/types";
import { type Mode, predictionsRequest } from "./data";

const MODES: readonly {
  mode: Mode;
  label: string;
  note: (n: number, masked: number) => string;
}[] = [
  {
    mode: "as_is",
    label: "As is",
    note: (_, masked) =>
      masked === 0
        ? "The unmasked input: at each position the model also sees the token itself."
        : `The input with ${formatCount(masked)} masked ${masked === 1 ? "token" : "tokens"}: at every other ` +
          "position the model also sees the token itself.",
  },
  {
    mode: "masked",
    label: "Masked",
    note: (n) =>
      `Each of the ${formatCount(n)} positions replaced by the mask token in turn: the model has to guess.`,
  },
];

/** Description of a mode's input. */
export const noteOf = (mode: Mode, n: number, masked: number): string =>
  MODES.find((one) => one.mode === mode)?.note(n, masked) ?? "";

export interface ModeSwitch {
  readonly element: HTMLElement;
  set(wanted: Mode): void;
}

export function createModeSwitch(
  source: Source,
  topK: number,
  choose: (mode: Mode) => void,
  signal: AbortSignal,
): ModeSwitch {
  const buttons = MODES.map(({ mode, label }) => {
    const needsKernel =
      mode === "masked" && !source.live && !source.has?.(predictionsRequest(mode, topK));
    const button = h(
      "button",
      { "data-mode": mode },
      label,
      needsKernel ? h("small", {}, " needs a kernel") : null,
    );
    button.addEventListener("click", () => choose(mode), { signal });
    return { mode, button };
  });
  return {
    element: h(
      "div",
      { class: "aw-segmented", role: "group", "aria-label": "Input of the predictions" },
      ...buttons.map(({ button }) => button),
    ),
    set(wanted) {
      for (const { mode, button } of buttons) {
        button.setAttribute("aria-pressed", String(mode === wanted));
      }
    },
  };
}

export function noHead(model: string): HTMLElement {
  return h(
    "div",
    { class: "aw-empty" },
    h("p", { class: "aw-empty-title" }, "No predictions: this model has no masked-LM head"),
    h(
      "p",
      {},
      h("bdi", {}, model),
      " has an encoder, but no head that turns hidden states into words. A checkpoint trained for " +
        "masked-language modeling has such a head, and so has the embedded model: ",
      h("code", {}, "show(text)"),
      ".",
    ),
  );
}

export function legend(): HTMLElement {
  return h(
    "p",
    { class: "aw-marks" },
    h(
      "span",
      { class: "aw-mark" },
      h("i", { class: "aw-mark-bar", "aria-hidden": "true" }),
      "probability, 0 to 100%",
    ),
    h(
      "span",
      { class: "aw-mark" },
      h("i", { class: "aw-mark-original", "aria-hidden": "true" }),
      "the original token",
    ),
  );
}
