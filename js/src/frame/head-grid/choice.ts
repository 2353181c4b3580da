/** The menu of what shades the heads. */

import { h } from "../../draw/dom";
import { PATTERN_KEYS, SPECIALIZATION_KEYS } from "../../figures/catalog/names";
import { metricName } from "../../figures/names";
import { isBeyond } from "../../protocol/failure";
import type { ViewContext } from "../../views/contract";

export function shadeChoice({ source, state, signal }: ViewContext): HTMLSelectElement {
  const { profile, metrics } = source.meta;
  const group = (label: string, options: readonly string[]): HTMLElement =>
    h("optgroup", { label }, ...options.map((key) => h("option", { value: key }, metricName(key))));
  const held = (aims: readonly string[]): string[] =>
    aims.filter((key) => profile?.keys.includes(key) ?? true);
  const choice = h(
    "select",
    { class: "aw-select", "aria-label": "Figure that shades the heads", "data-aw-part": "metric" },
    profile === null ? h("option", { value: "thumbnails" }, "Thumbnails") : null,
    group("Matrix", metrics.keys),
    group("Where they look", held(SPECIALIZATION_KEYS)),
    group("Position", held(PATTERN_KEYS)),
    profile?.accuracies?.length ? group("Accuracy", profile.accuracies) : null,
    h("option", { value: "role" }, "Role"),
    profile === null && !isBeyond(source, { kind: "head_effects", target: {} })
      ? h("option", { value: "effect" }, metricName("effect"))
      : null,
  );
  choice.addEventListener("change", () => state.set({ metric: choice.value }), { signal });
  return choice;
}
