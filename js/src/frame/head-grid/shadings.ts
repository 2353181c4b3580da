/** Figures that may shade the heads. */

import { ALIGNMENT_KEYS, PATTERN_KEYS, SPECIALIZATION_KEYS } from "../../figures/catalog/names";
import { isAligned } from "../../figures/head-names";
import { metricName } from "../../figures/names";
import { cannotAnswer } from "../../protocol/failure";
import { looksBack } from "../../protocol/meta";
import type { OptionGroup } from "../../ui/controls";
import type { ViewContext } from "../../views/contract";

/** True of figures that are painted from zero outwards. */
export const isSigned = (key: string): boolean => key === "effect" || key === "monotony";

/** Figures that may shade the heads of a run. */
export function shadings({ source }: ViewContext) {
  const { profile, metrics, rest } = source.meta;
  const option = (key: string): readonly [string, string] => [
    key,
    looksBack(source.meta) && key === "cls" ? "First token" : metricName(key),
  ];
  const group = (label: string, keys: readonly string[]): OptionGroup<string> => ({
    label,
    options: keys.map(option),
  });
  const available = (keys: readonly string[]): string[] =>
    keys.filter((key) => profile?.keys.includes(key) ?? (rest || key !== "rest"));
  const aligned = isAligned(source.meta);
  const hasEffect = profile === null && !cannotAnswer(source, { kind: "head_effects", target: {} });
  return [
    ...(profile === null ? [["thumbnails", "Thumbnails"] as const] : []),
    group("Matrix", metrics.keys),
    ...[
      group("Where they look", aligned ? [] : available(SPECIALIZATION_KEYS)),
      group("Pattern", aligned ? [] : available(PATTERN_KEYS)),
      group("Alignment", aligned || profile !== null ? available(ALIGNMENT_KEYS) : []),
    ].filter(({ options }) => options.length > 0),
    ...(profile?.accuracies?.length ? [group("Accuracy", profile.accuracies)] : []),
    ...(aligned ? [] : [["role", "Role"] as const]),
    ...(hasEffect ? [option("effect")] : []),
  ];
}
