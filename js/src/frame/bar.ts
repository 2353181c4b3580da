/** The bar: which head, what is shown, on which scale, and what the colors mean. */

import { ramp, rampImage } from "../draw/color/ramp";
import { rampValue, SCALE_LABELS } from "../draw/color/scale";
import { modeOf, onTheme } from "../draw/color/theme";
import { h, setAttributes } from "../draw/dom";
import { icon } from "../draw/icon";
import { exact, formatNumber } from "../figures/format";
import { isLong } from "../figures/long/levels";
import { beyondText, errorOf, topOf } from "../figures/matrix";
import { calledOf, hasHead, isRolled } from "../figures/quantities";
import type { Scale, Selection, Theme } from "../state/selection";
import type { ViewContext } from "../views/contract";

/** Color stops of a CSS gradient: enough that no eye sees them. */
const STOPS = 17;

const NO_HEAD = {
  rollout: "Rollout mixes the heads of all layers up to this one, so there is no head to choose.",
  layer:
    "It belongs to the layer, because the residual and the norm follow the sum of all heads. There is no head to choose.",
};

export interface BarActions {
  toggleKeys(): void;
  toggleFullScreen(): void;
}

export function bar(element: HTMLElement, stage: ViewContext, actions: BarActions): () => void {
  const { source, state, signal, matrix } = stage;
  const { n_layers, n_heads } = source.meta.model;
  const { tokens, profile } = source.meta;
  /** A long text is drawn by tokens, with a legend in its view. */
  const long = isLong(source.meta);
  const noHead = (): string => NO_HEAD[isRolled(state.get().quantity) ? "rollout" : "layer"];

  const act = (target: HTMLElement, type: string, listener: () => void): void =>
    target.addEventListener(type, listener, { signal });

  function stepper(
    name: "Layer" | "Head",
    size: number,
    get: () => number | null,
    set: (value: number) => void,
  ) {
    const value = h("span", { class: "aw-number aw-stepper-value" });
    const less = h("button", { class: "aw-button", "aria-label": `${name} before` }, "‹");
    const more = h("button", { class: "aw-button", "aria-label": `${name} after` }, "›");
    act(less, "click", () => set(Math.max(0, (get() ?? 0) - 1)));
    act(more, "click", () => set(Math.min(size - 1, (get() ?? -1) + 1)));
    const made = h(
      "div",
      {
        class: "aw-stepper",
        role: "group",
        "aria-label": name,
        "data-aw-part": name.toLowerCase(),
      },
      less,
      value,
      more,
    );
    const show = () => {
      const now = get();
      const without = name === "Head" && !hasHead(state.get().quantity);
      value.textContent = without ? "all" : `${name[0]}${now ?? " mean"}`;
      value.title = `${name} ${now ?? "mean"} of ${size} (counted from 0)`;
      less.disabled = without || now === null || now <= 0;
      more.disabled = without || (now !== null && now >= size - 1);
      setAttributes(made, {
        title: without ? noHead() : null,
        "aria-label": without ? `${name}: ${noHead()}` : name,
      });
      if (without) value.title = noHead();
    };
    state.on(["layer", "head", "quantity"], show, signal);
    show();
    return made;
  }

  function toggle(
    label: string,
    part: string,
    get: (selection: Selection) => boolean,
    set: (on: boolean) => void,
    title = "",
  ): HTMLButtonElement {
    const made = h("button", { class: "aw-toggle", "data-aw-part": part, title }, label);
    const show = () => {
      const without = part === "mean" && !hasHead(state.get().quantity);
      made.disabled = without;
      made.title = without ? noHead() : title;
      made.setAttribute("aria-pressed", String(!without && get(state.get())));
    };
    act(made, "click", () => set(!get(state.get())));
    state.on(["head", "special", "words", "quantity"], show, signal);
    show();
    return made;
  }

  function choose<T extends string>(
    label: string,
    key: "scale" | "theme",
    options: readonly (readonly [T, string])[],
  ): HTMLElement {
    const made = h(
      "select",
      { class: "aw-select", "aria-label": label, title: label, "data-aw-part": key },
      ...options.map(([value, text]) => h("option", { value }, text)),
    );
    const show = () => {
      made.value = state.get()[key];
    };
    act(made, "change", () => state.set({ [key]: made.value }));
    state.on([key], show, signal);
    show();
    return made;
  }

  let lastHead = 0;
  const meanHead = toggle(
    "mean head",
    "mean",
    ({ head }) => head === "mean",
    (on) => {
      const { head } = state.get();
      if (head !== "mean") lastHead = head;
      state.set({ head: on ? "mean" : lastHead });
    },
    "The average of the layer's matrices, treated as a head",
  );
  // Heads over many texts have no matrices to average.
  meanHead.hidden = profile !== null;
  const special =
    tokens.special.some(Boolean) && !long
      ? toggle(
          "special tokens",
          "special",
          (selection) => selection.special,
          (on) => state.set({ special: on }),
          "Hidden special tokens keep their weight, so rows sum to less than 1",
        )
      : null;
  const words =
    profile === null && !long
      ? toggle(
          "words",
          "words",
          (selection) => selection.words,
          (on) => state.set({ words: on }),
          "Pieces merged into words: mean over query rows, sum over key columns",
        )
      : null;

  const low = h("span", { class: "aw-number" });
  const high = h("span", { class: "aw-number" });
  const middle = h("span", { class: "aw-number aw-ramp-middle" });
  const gradient = h("span", { class: "aw-ramp-bar", "aria-hidden": "true" });
  const quantityName = h("span", {}, "weight");
  const legend = h(
    "div",
    { class: "aw-ramp", role: "img", "data-aw-part": "legend", hidden: profile !== null || long },
    quantityName,
    low,
    h("span", { class: "aw-ramp-track" }, gradient, middle),
    high,
  );
  const hatched = h(
    "span",
    { class: "aw-ramp-hatched", hidden: true },
    h("i", { "aria-hidden": "true" }),
    "masked",
  );

  const passed = h("span", { class: "aw-number" });
  const tile = h("i", { "aria-hidden": "true" });
  const passing = h(
    "span",
    { class: "aw-ramp-hatched aw-ramp-beyond", "data-aw-part": "legend-beyond", hidden: true },
    tile,
    passed,
  );

  function explain(): void {
    const shown = matrix.get();
    if (shown === null) return;
    const { scale, quantity } = state.get();
    // Signed numbers have their legend in the view that draws them.
    legend.hidden = (quantity === "scores" && shown.scores !== null) || state.get().view === "why";
    const called = calledOf(shown.quantity);
    quantityName.textContent = called;
    const { css } = ramp("weight", modeOf(element));
    gradient.style.background = rampImage("weight", modeOf(element), STOPS);
    const max = topOf(shown, scale);
    const top = rampValue(1, max, scale);
    low.textContent = "0";
    const error = scale === "unit" ? 0 : errorOf(shown, top);
    const most = formatNumber(top, undefined, error);
    const half = rampValue(0.5, max, scale);
    high.textContent = most;
    middle.textContent = scale === "sqrt" ? formatNumber(half, undefined, error) : "";
    setAttributes(high, { "data-aw-value": exact(top, error), title: exact(top, error) });
    legend.setAttribute("aria-label", `Color of a ${called}: ${SCALE_LABELS[scale]}, ${most}`);
    legend.title = SCALE_LABELS[scale];
    const beyond = legend.hidden ? "" : beyondText(shown, scale);
    passing.hidden = beyond === "";
    passed.textContent = beyond;
    passing.title = `${beyond}: hatched, beyond the end of the ramp`;
    tile.style.backgroundColor = css.at(-1) ?? "";
    hatched.hidden = shown.allowed === null || !shown.allowed.includes(0);
  }

  const keys = h(
    "button",
    {
      class: "aw-button",
      "aria-label": "Keys",
      title: "Keys (?)",
      "data-aw-part": "keys-button",
    },
    "?",
  );
  const full = h(
    "button",
    {
      class: "aw-button",
      "aria-label": "Full screen",
      title: "Full screen",
      "data-aw-part": "full-screen",
    },
    icon("full"),
  );
  act(keys, "click", actions.toggleKeys);
  act(full, "click", actions.toggleFullScreen);
  full.hidden = !document.fullscreenEnabled;

  element.append(
    h(
      "div",
      { class: "aw-bar-group" },
      stepper(
        "Layer",
        n_layers,
        () => state.get().layer,
        (layer) => state.set({ layer }),
      ),
      stepper(
        "Head",
        n_heads,
        () => {
          const { head } = state.get();
          return head === "mean" ? null : head;
        },
        (head) => state.set({ head }),
      ),
    ),
    h("div", { class: "aw-bar-group" }, meanHead, special, words),
    h(
      "div",
      { class: "aw-bar-group aw-bar-end" },
      hatched,
      legend,
      passing,
      profile === null
        ? choose<Scale>("Color scale", "scale", [
            ["words", "scale: max of words"],
            ["head", "scale: max of head"],
            ["unit", "scale: 0 to 1"],
            ["sqrt", "scale: √ of head"],
          ])
        : null,
      choose<Theme>("Theme", "theme", [
        ["auto", "theme: auto"],
        ["light", "theme: light"],
        ["dark", "theme: dark"],
      ]),
      keys,
      full,
    ),
  );
  matrix.on(explain, signal);
  state.on(["scale", "quantity", "view"], explain, signal);
  onTheme(element, explain, signal);
  return () => element.replaceChildren();
}
