/** Figures as cards show them: of a head's matrix, and of where it looks. */

import { PATTERNS } from "../../figures/catalog/cards";
import type { Metric, SpecializationMetric } from "../../figures/catalog/types";
import { formatCount, formatNumber, formatPercent } from "../../figures/format";
import { metricExplanation, specializationExplanation } from "./explanation";
import { intervalOf, summarize } from "./figures";
import { type HeadsModel, specializationsOf } from "./model";

export interface CardFigure {
  readonly key: string;
  readonly name: string;
  readonly warning: string | null;
  /** One a head. */
  values(): ArrayLike<number>;
  /** Figure of uniform attention in a layer; NaN where there is none. */
  uniform(layer: number): number;
  /** Line below the figure. */
  detail(value: number): string;
  explain(anchor: HTMLElement | SVGElement): void;
}

/** `95%: 0.31 – 0.35, sd 0.08, 6 texts` of a profile's mean. */
function spread({ source, profile, nLayers, nHeads }: HeadsModel, key: string, index: number) {
  const of = (name: string): number | undefined => source.arrays.get(`${name}:${key}`)?.data[index];
  const [ends, texts] = [intervalOf(source, key)?.(index), of("count") ?? 0];
  const chance = profile?.by_chance?.[key];
  const best =
    chance === undefined
      ? ""
      : `, best of ${nLayers * nHeads} heads by chance ${formatNumber(chance)}`;
  const sd = formatNumber(of("sd") ?? Number.NaN);
  const range = ends
    ? `95%: ${formatNumber(ends[0])} – ${formatNumber(ends[1])}, sd ${sd}${best}`
    : "";
  if (texts === profile?.n_texts && range !== "") return range;
  return `${range} (${formatCount(texts)} text${texts === 1 ? "" : "s"})`.trim();
}

export function matrixFigure(model: HeadsModel, metric: Metric): CardFigure {
  const { source, nHeads, profile, selection, chosen, figures, scaleAt } = model;
  const { key, name, warning } = metric;
  const { tokens, keys } = source.meta;
  return {
    ...{ key, name, warning },
    values: () => model.valuesOf(key),
    uniform: (layer) => scaleAt(key, layer)[2],
    /** The entropy, which grows with n, as a share of its maximum. */
    detail(value) {
      const { layer } = selection.value;
      if (profile !== null && chosen.value >= 0) return spread(model, key, chosen.value);
      if (profile !== null || key !== "focus_entropy") return metric.summary;
      const all = [...(figures.value.arrays.get("metric:effective_keys")?.data ?? [])];
      const heads = all.slice(layer * nHeads, (layer + 1) * nHeads);
      const spreads = chosen.value < 0 ? summarize(heads).mean : (all[chosen.value] ?? Number.NaN);
      const largest = scaleAt(key, layer)[1];
      const normalized = largest > 0 ? formatPercent(value / largest) : formatNumber(Number.NaN);
      return `${normalized} of max, ${formatNumber(spreads)} keys a query`;
    },
    explain(anchor) {
      const scale = profile === null ? scaleAt(key, selection.value.layer) : null;
      const { tau } = figures.value;
      const [queries, others] = [tokens.text.length, keys?.text.length ?? null];
      const masked = source.arrays.has("possible");
      const about = { tau, scale, queries, keys: others, masked };
      model.explain(key, name, anchor, metricExplanation(metric, about));
    },
  };
}

/** A specialization or a pattern; N/A before its answer. */
function lookFigure(model: HeadsModel, metric: SpecializationMetric): CardFigure {
  const { source, profile, selection, chosen, looks } = model;
  const { key, name, meaning } = metric;
  const isSpecial = (): boolean => looks.answer.value?.specialization.keys.includes(key) === true;
  const uniform = (layer: number): number => {
    const { specialization, patterns } = looks.answer.value ?? {};
    return (isSpecial() ? specialization : patterns)?.chance(key, layer) ?? Number.NaN;
  };
  return {
    ...{ key, name, warning: null },
    values() {
      const { specialization, patterns } = looks.answer.value ?? {};
      return (isSpecial() ? specialization?.values("raw", key) : patterns?.values(key)) ?? [];
    },
    uniform,
    detail() {
      if (profile !== null) return chosen.value < 0 ? meaning : spread(model, key, chosen.value);
      const chance = uniform(selection.value.layer);
      return Number.isNaN(chance) ? meaning : `${meaning}, chance ${formatNumber(chance)}`;
    },
    explain(anchor) {
      const about = {
        chance: uniform(selection.value.layer),
        scaled: isSpecial(),
        profile: profile !== null,
        masked: source.arrays.has("possible"),
      };
      model.explain(key, name, anchor, specializationExplanation(metric, about));
    },
  };
}

/** All that a card can show of where heads look. */
export const lookFigures = (model: HeadsModel): ReadonlyMap<string, CardFigure> =>
  new Map(
    [...specializationsOf(model.source.meta), ...PATTERNS].map((metric) => [
      metric.key,
      lookFigure(model, metric),
    ]),
  );
