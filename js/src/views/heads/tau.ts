/** Sparsity's threshold: as published, or 1/n, because the fixed one is confounded with length. */

import { h } from "../../draw/dom";
import type { Tau } from "../../figures/catalog/types";
import { formatNumber } from "../../figures/format";

/** The threshold of Golshanrad & Faghih 2024; the alternative is 1/n. */
const PUBLISHED_TAU = 0.01;

export interface TauSwitch {
  readonly element: HTMLElement;
  show(tau: Tau): void;
}

export function createTauSwitch(n: number, choose: (tau: Tau) => void): TauSwitch {
  const choices: [Tau, string][] = [
    [PUBLISHED_TAU, `τ = ${PUBLISHED_TAU}`],
    ["uniform", `1/n = ${formatNumber(1 / n)}`],
  ];
  const buttons = choices.map(([value, text]) => {
    const button = h("button", { "data-tau": value }, text);
    button.addEventListener("click", () => choose(value));
    return { value, button };
  });
  return {
    element: h(
      "div",
      { class: "aw-segmented aw-tau", role: "group", "aria-label": "Threshold of sparsity" },
      ...buttons.map(({ button }) => button),
    ),
    show(tau) {
      for (const { value, button } of buttons) {
        button.setAttribute("aria-pressed", String(value === tau));
      }
    },
  };
}
