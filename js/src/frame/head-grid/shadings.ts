/** Figures that may shade the heads. */

import { ALIGNMENT_KEYS, PATTERN_KEYS, SPECIALIZATION_KEYS } from "../../figures/catalog/names";
import type { Roles } from "../../figures/head-figures";
import { isAligned } from "../../figures/head-names";
import { metricName } from "../../figures/names";
import { cannotAnswer } from "../../protocol/failure";
import { isLong, looksBack } from "../../protocol/meta";
import type { Num, Source } from "../../protocol/types";
import type { OptionGroup } from "../../ui/controls";
import type { ViewContext } from "../../views/contract";

/** True of figures that are painted from zero outwards. */
export const isSigned = (key: string): boolean => key === "effect" || key === "monotony";

/** Shading of the heads: their own thumbnails, a figure, or their roles. */
export interface Shade {
  readonly key: string;
  /** One figure a head; null for thumbnails and roles. */
  readonly figures: ArrayLike<number> | null;
  readonly roles: Roles | null;
  /** Name of the figures, where their key does not say it. */
  readonly name?: string;
  /** A figure with its error, where a saved page has rounded it. */
  readonly num?: (value: number) => Num;
}

/** True where one link can be read in every head. */
export const linksAreHere = (source: Source): boolean =>
  source.meta.profile === null &&
  !isLong(source.meta) &&
  (source.has?.({ kind: "pair_weights", rows: [0, 1], cols: [0, 1] }) ?? source.live);

/** Figures that may shade the heads of a run; `pinned`: while a link is. */
export function shadings({ source }: ViewContext, pinned: boolean) {
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
  const aligned = isAligned(source.meta) || source.meta.wordless === true;
  const hasEffect = profile === null && !cannotAnswer(source, { kind: "head_effects", target: {} });
  return [
    ...(profile === null ? [["thumbnails", "Thumbnails"] as const] : []),
    ...(pinned && linksAreHere(source) ? [option("pair")] : []),
    group("Matrix", metrics.keys),
    ...[
      group("Where they look", aligned ? [] : available(SPECIALIZATION_KEYS)),
      group("Pattern", aligned ? [] : available(PATTERN_KEYS)),
      group("Alignment", source.meta.keys || profile ? available(ALIGNMENT_KEYS) : []),
    ].filter(({ options }) => options.length > 0),
    ...(profile?.accuracies?.length ? [group("Accuracy", profile.accuracies)] : []),
    ...(aligned ? [] : [["role", "Role"] as const]),
    ...(hasEffect ? [option("effect")] : []),
  ];
}
