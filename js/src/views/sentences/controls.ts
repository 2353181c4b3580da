/** Which weights the matrix of sentences gathers, and how: two choices above it. */

import { h } from "../../draw/dom";
import { mixingDefinition } from "../../figures/quantities";
import type { Selection } from "../../state/selection";
import { askedOf, carriedName, carriedOf } from "./carried";
import type { Aggregation, Scope } from "./data";

const MEANING: Record<Aggregation, string> = {
  mass: "Mass: the share of a row sentence's attention that lands on each column sentence; mean over its tokens.",
  max: "Max: the largest single weight between two sentences. It saturates near 1 in most models, so it only shows whether any link is strong.",
};

const CARRIED: Record<Aggregation, string> = {
  mass: "Mass: each column sentence's share of what a row sentence takes; mean over its tokens.",
  max: "Max: the largest single entry between two sentences.",
};
const ROLLOUT =
  "Attention rollout: the layers up to this one multiplied, half of each the identity.";

export interface Choice {
  readonly aggregation: Aggregation;
  readonly scope: Scope;
}

export interface SentenceControls {
  readonly elements: readonly HTMLElement[];
  /** Meaning of the aggregation. */
  readonly meaning: HTMLElement;
  /** Write the controls as `wanted` has them. */
  show(wanted: Choice, selection: Pick<Selection, "layer" | "head" | "quantity">): void;
}

function segmented<T extends string>(
  label: string,
  part: string,
  values: readonly T[],
  pick: (value: T) => void,
  signal: AbortSignal,
) {
  const buttons = values.map((value) => {
    const button = h("button", { [`data-${part}`]: value }, value);
    button.addEventListener("click", () => pick(value), { signal });
    return { value, button };
  });
  return {
    element: h(
      "div",
      { class: "aw-segmented", role: "group", "aria-label": label, "data-aw-part": part },
      ...buttons.map(({ button }) => button),
    ),
    set(chosen: T, names: Readonly<Record<T, string>>): void {
      for (const { value, button } of buttons) {
        button.setAttribute("aria-pressed", String(value === chosen));
        button.textContent = names[value];
      }
    },
    button: (value: T) => buttons.find((button) => button.value === value)?.button,
  };
}

export function sentenceControls(
  choose: (part: Partial<Choice>) => void,
  toWeights: () => void,
  signal: AbortSignal,
): SentenceControls {
  const kinds = segmented<Aggregation>(
    "Aggregation",
    "aggregation",
    ["mass", "max"],
    (aggregation) => choose({ aggregation }),
    signal,
  );
  const scopes = segmented<Scope>(
    "Layers and heads",
    "scope",
    ["all", "layer", "head"],
    (scope) => choose({ scope }),
    signal,
  );
  const carriedPlace = h("strong", {});
  const back = h("button", { class: "aw-plain-button", "data-aw-part": "to-weights" });
  back.textContent = "Attention weights instead";
  back.addEventListener("click", toWeights, { signal });
  const carried = h(
    "div",
    { class: "aw-isa-carried", "data-aw-part": "sentences-carried", hidden: true },
    carriedPlace,
    back,
  );
  const meaning = h("p", { class: "aw-view-note", "data-aw-part": "meaning" });
  return {
    elements: [kinds.element, scopes.element, carried],
    meaning,
    show(wanted, selection) {
      const { layer, head } = selection;
      const quantity = carriedOf(selection);
      carried.hidden = quantity === null;
      scopes.element.hidden = quantity !== null;
      if (quantity !== null) {
        kinds.set(wanted.aggregation, { mass: "Mass", max: "Max" });
        carriedPlace.textContent = carriedName(askedOf(wanted.aggregation, quantity, selection));
        meaning.textContent = `${CARRIED[wanted.aggregation]} ${mixingDefinition(quantity) ?? ROLLOUT}`;
        return;
      }
      const scope = wanted.scope === "head" && head === "mean" ? "layer" : wanted.scope;
      kinds.set(wanted.aggregation, { mass: "Mass", max: "Max" });
      scopes.set(scope, {
        all: "All heads",
        layer: `Layer L${layer}`,
        head: head === "mean" ? "Head: mean" : `Head L${layer} H${head}`,
      });
      const ofHead = scopes.button("head");
      if (ofHead) {
        ofHead.disabled = head === "mean";
        ofHead.title = head === "mean" ? "The mean head of a layer is the layer" : "";
      }
      meaning.textContent = MEANING[wanted.aggregation];
    },
  };
}
