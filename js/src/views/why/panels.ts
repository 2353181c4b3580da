/** Below the strips: the masking test and the agreement of methods, heads that matter, the target by layer. */

import type { Mode } from "../../draw/color/ramp";
import { h } from "../../draw/dom";
import { lensPanel } from "../../draw/lens/lens";
import { fillWhenAnswered } from "../../draw/wait";
import { askLens, type Described } from "../../figures/targets";
import type { ViewContext } from "../contract";
import { askEffects, type Trust } from "./data";
import { headList } from "./heads";
import { agreement, CIRCULAR, curve, curveLegend } from "./trust";

export interface Panels {
  readonly element: HTMLElement;
  clear(): void;
  /** Draw both tests, with the curve of the chosen method in front. */
  tests(trust: Trust, method: string): void;
  /** Switch off each head: at once, or when the reader asks for it. */
  heads(of: Described, atOnce: boolean, signal: AbortSignal): void;
  lens(of: Described, signal: AbortSignal): void;
}

export function createPanels(context: ViewContext, mode: () => Mode): Panels {
  const { source } = context;
  const tests = h("div", { class: "aw-why-tests" });
  const heads = h("div", { class: "aw-why-panel" });
  const lens = h("div", { class: "aw-why-panel" });
  const element = h(
    "div",
    { class: "aw-why-below" },
    tests,
    h("div", { class: "aw-why-more" }, heads, lens),
  );
  const title = (words: string): HTMLElement => h("h4", {}, words);

  function askHeads(of: Described, signal: AbortSignal): void {
    const box = h("div", {});
    heads.replaceChildren(title("Heads that matter"), box);
    const mine = new AbortController();
    const ends = AbortSignal.any([signal, mine.signal]);
    const share = h("span", {});
    const cancel = h("button", { class: "aw-why-link", "data-aw-part": "why-cancel" }, "cancel");
    cancel.addEventListener("click", () => {
      mine.abort();
      offerHeads(of, signal);
    });
    const waiting = h("span", {}, share, " ", cancel);
    void fillWhenAnswered(box, {
      waiting: "Switching off each head in turn …",
      ask: () =>
        askEffects(source, of.target, {
          signal: ends,
          progress: (done, total) => {
            share.textContent = total > 0 ? ` ${Math.round((100 * done) / total)}%` : "";
            if (!waiting.isConnected) box.firstElementChild?.append(waiting);
          },
        }),
      fill: (found) => box.append(headList(context, found, mode())),
      signal: ends,
    });
  }

  function offerHeads(of: Described, signal: AbortSignal): void {
    const button = h("button", { class: "aw-why-link" }, "Switch off each head in turn");
    button.addEventListener("click", () => askHeads(of, signal), { signal });
    heads.replaceChildren(title("Heads that matter"), button);
  }

  return {
    element,
    clear: () => {
      for (const part of [tests, heads, lens]) part.replaceChildren();
    },
    tests(trust, method) {
      const table = agreement(trust, mode());
      const figure = h("figure", { "data-aw-part": "why-curve" }, curveLegend(method));
      figure.prepend(curve(trust, method));
      tests.replaceChildren(
        h(
          "div",
          { class: "aw-why-panel" },
          title("Masking test"),
          figure,
          h("p", { class: "aw-hint" }, CIRCULAR),
        ),
        ...(table === null
          ? []
          : [h("div", { class: "aw-why-panel aw-why-scroll" }, title("Agreement"), table)]),
      );
    },
    heads(of, atOnce, signal) {
      if (atOnce) askHeads(of, signal);
      else offerHeads(of, signal);
    },
    lens(of, signal) {
      askLens(source, of.target, signal)
        .then((found) => {
          if (signal.aborted) return;
          lens.replaceChildren(title("Layer by layer"), lensPanel(found, ""));
        })
        .catch(() => undefined); // some heads cannot be taken by themselves: that says nothing of the target
    },
  };
}
