/** Numbers of where the heads look: figures of the chosen head, of its layer, of chance, and of the radar. */

import { computed, signal } from "@preact/signals-core";
import { onResize } from "../../draw/resize";
import { PATTERNS } from "../../figures/catalog/cards";
import type { SpecializationMetric } from "../../figures/catalog/types";
import { capital, formatNumber } from "../../figures/format";
import type { Form, Patterns, Specialization } from "../../figures/head-figures";
import { headName, metricName } from "../../figures/names";
import { navigateList } from "../../marks/navigate";
import { firstLargest } from "../../protocol/ties";
import { setter, watch } from "../../ui/mount";
import { lookFigures } from "./figure-of";
import { summarize } from "./figures";
import { type HeadsModel, specializationsOf } from "./model";
import { spokenRadar } from "./radar";
import { type RadarForm, radarScale } from "./radar-geometry";

const SAME = "The heads of this layer do not differ.";
const TWICE = "No token stands twice in the text.";
const ABSENT_PATTERNS: Readonly<Record<string, string>> = { duplicate: TWICE, induction: TWICE };
const NO_NEIGHBOR = "No token has a neighbor on that side that the mask lets it see.";

/** Reasons why figures are N/A that more than one of them has. */
function sharedReasons(
  reasons: Readonly<Record<string, string>>,
): readonly (readonly [reason: string, keys: readonly string[]])[] {
  const keysOf = new Map<string, string[]>();
  for (const [key, reason] of Object.entries(reasons))
    keysOf.set(reason, [...(keysOf.get(reason) ?? []), key]);
  return [...keysOf].filter(([, keys]) => keys.length > 1);
}

export interface Found {
  readonly specialization: Specialization;
  readonly patterns: Patterns | null;
}

/** The figures of the chosen head, or the means of its layer. */
function createFigures(model: HeadsModel, { specialization, patterns }: Found) {
  const { source, selection, nHeads } = model;
  const isSpecial = ({ key }: SpecializationMetric): boolean => specialization.keys.includes(key);
  const metrics = specializationsOf(source.meta).filter(isSpecial);
  const positions = PATTERNS.filter(({ key }) => patterns?.keys.includes(key));
  const heads = Array.from({ length: nHeads }, (_, head) => head);
  const chanceOf = (metric: SpecializationMetric): number =>
    (isSpecial(metric) ? specialization : patterns)?.chance(metric.key, selection.value.layer) ??
    Number.NaN;
  /** Figure of a head of the layer. */
  const at = (values: ArrayLike<number>, head: number): number =>
    values[selection.value.layer * nHeads + head] ?? Number.NaN;
  /** Figure of the selected head, or the mean of the figures of the layer's heads. */
  function figure(values: ArrayLike<number>): number {
    const { head } = selection.value;
    return head === "mean" ? summarize(heads.map((k) => at(values, k))).mean : at(values, head);
  }
  const figureOf = (metric: SpecializationMetric, by: Form = "raw"): number =>
    figure(
      isSpecial(metric)
        ? specialization.values(by, metric.key)
        : (patterns?.values(metric.key) ?? []),
    );
  /** Why no head of the layer has a figure; null where one has. */
  function absent(metric: SpecializationMetric, by: Form): string | null {
    const { key } = metric;
    if (!isSpecial(metric))
      return Number.isNaN(figureOf(metric)) ? (ABSENT_PATTERNS[key] ?? NO_NEIGHBOR) : null;
    const none = (form: Form): boolean =>
      heads.every((head) => Number.isNaN(at(specialization.values(form, key), head)));
    if (none("raw")) return specialization.reasons[key] ?? "Not defined here.";
    return none(by) ? SAME : null;
  }

  /** Reasons that several figures share stand once, below the radar. */
  const shared = sharedReasons(specialization.reasons);
  const together = new Set(shared.flatMap(([, keys]) => keys));
  const reasons = new Set(Object.values(specialization.reasons));
  const refusals = shared.map(
    ([reason, keys]) => `N/A: ${keys.map(metricName).join(", ")}. ${capital(reason)}`,
  );
  const notes = specialization.notes.filter((note) => !reasons.has(note));
  return {
    ...{ isSpecial, metrics, positions, heads, chanceOf, at, figure, figureOf, absent },
    ...{ together, refusals, notes },
  };
}

/** The radar, with the heads of the layer as radio buttons: names of its outlines, and their keyboard. */
function createRadar(
  model: HeadsModel,
  { specialization }: Found,
  { metrics, heads, chanceOf, at, figure, absent }: ReturnType<typeof createFigures>,
) {
  const { selection, until } = model;
  const form = signal<RadarForm>("scaled");
  const all = signal(true);
  const width = signal(0);
  const measure = (plot: HTMLElement | null): void => {
    if (plot !== null) onResize(plot, setter(width), until);
  };
  const select = (head: number): void => model.select(selection.value.layer, head);
  const { entry, pointed, props } = navigateList({
    attribute: "head",
    order: () => heads,
    pick: select,
    // Radio buttons: what has the focus is chosen.
    follows: true,
  });
  watch(() => {
    const { head } = selection.value;
    entry.value = head === "mean" ? 0 : head;
  }, until);
  const radar = computed(() => {
    const { layer, head } = selection.value;
    const by = form.value;
    const values = metrics.map(({ key }) => specialization.values(by, key));
    const rows = heads.map((k) => values.map((value) => at(value, k)));
    const chance = metrics.map((metric) => (by === "raw" ? chanceOf(metric) : Number.NaN));
    const chosen = values.map(figure);
    return {
      ...{ metrics, chosen, chance },
      scale: radarScale(by, [...rows.flat(), ...chance].filter(Number.isFinite)),
      heads: all.value ? rows : [],
      chosenHead: head === "mean" ? -1 : head,
      absent: metrics.map((metric) => absent(metric, by)),
      spoken: spokenRadar(layer, head, metrics, chosen),
    };
  });
  /** The specialization in which a head stands out most from all heads. */
  function strongest(layer: number, head: number): string {
    const z = metrics.map(({ key }) => at(specialization.values("z", key), head));
    const place = firstLargest(z);
    const [metric, most] = [metrics[place], z[place]];
    if (metric === undefined || most === undefined) return headName(layer, head);
    const raw = formatNumber(at(specialization.values("raw", metric.key), head));
    return `${headName(layer, head)}: most of all ${metric.name}, ${raw} (z ${formatNumber(most, 2)})`;
  }
  return { form, all, width, measure, select, entry, pointed, props, radar, strongest };
}

export function createLooksModel(model: HeadsModel, found: Found) {
  const figures = createFigures(model, found);
  const figuresOf = lookFigures(model);
  return {
    ...figures,
    ...createRadar(model, found, figures),
    ...{ source: model.source, selection: model.selection, nHeads: model.nHeads },
    ...{ profile: model.profile, until: model.until },
    explain: (key: string, anchor: HTMLElement | SVGElement): void =>
      figuresOf.get(key)?.explain(anchor),
  };
}

export type LooksModel = ReturnType<typeof createLooksModel>;
