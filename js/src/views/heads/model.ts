/** State of the heads view as signals: the figures on screen, the columns of the table, and their order. */

import { computed, type ReadonlySignal, signal } from "@preact/signals-core";
import type { ComponentChildren } from "preact";
import { whenIdle } from "../../draw/wait";
import {
  ALIGNMENT,
  FIRST_TOKEN,
  METRICS,
  PATTERNS,
  SPECIALIZATIONS,
} from "../../figures/catalog/cards";
import type { Metric, SpecializationMetric, Tau } from "../../figures/catalog/types";
import {
  type Alignment,
  askAlignment,
  askPatterns,
  askRoles,
  askSpecialization,
  type Patterns,
  type Roles,
  type Specialization,
} from "../../figures/head-figures";
import { isAligned, roleName } from "../../figures/head-names";
import { metricName, spokenHead } from "../../figures/names";
import { asking } from "../../protocol/asking";
import { isAbort } from "../../protocol/failure";
import { keysOf, looksBack } from "../../protocol/meta";
import { arrayOf } from "../../protocol/required";
import type { HeadIndex, Meta, MetricScale, NdArray, Source } from "../../protocol/types";
import { modeSignal, onChange, selectionOf, signalOf } from "../../ui/mount";
import type { ViewContext } from "../contract";
import { intervalOf, scaleOf } from "./figures";
import type { Column, Sort } from "./filter";
import { linkOf } from "./link";
import { NO_STANDINGS, type Standings, standingsIn } from "./sentence";

/** Figures of all heads at a threshold. */
interface Shown {
  readonly arrays: ReadonlyMap<string, NdArray>;
  readonly tau: Tau;
  readonly scale: MetricScale;
}

interface Looks {
  readonly specialization: Specialization;
  /** Null in a profile of an older version. */
  readonly patterns: Patterns | null;
}

/** The specializations as this run calls them. */
export const specializationsOf = (meta: Meta): readonly SpecializationMetric[] =>
  SPECIALIZATIONS.map((metric) =>
    looksBack(meta) && metric.key === FIRST_TOKEN.key ? FIRST_TOKEN : metric,
  );

/** The figures of the matrix, at the threshold that is chosen. */
function createFigures({ source, report, layerProgress, signal: until }: ViewContext) {
  const { meta } = source;
  const first: Shown = { arrays: source.arrays, ...meta.metrics };
  const figures = signal<Shown>(first);
  const metrics = METRICS.filter(({ key }) => source.arrays.has(`metric:${key}`));
  const valuesOf = (key: string): ArrayLike<number> => arrayOf(figures.value, `metric:${key}`).data;
  const scaleAt = (key: string, layer: number) => scaleOf(figures.value.scale, layer, key);

  const thresholds = asking<Shown>(until, report);
  async function setTau(tau: Tau): Promise<void> {
    await thresholds.ask(async (signal) => {
      if (tau === meta.metrics.tau) return first;
      const { arrays, data } = await source.ask({ kind: "metrics", tau }, { signal });
      return { arrays, tau, scale: data.scale as MetricScale };
    });
    if (thresholds.answer.value !== null) figures.value = thresholds.answer.value;
  }

  // Everything is written again: once for all layers that come while the page is busy.
  let behind = false;
  const writeAgain = (): void => {
    if (behind) return;
    behind = true;
    whenIdle(() => {
      behind = false;
      if (!until.aborted) figures.value = { ...figures.value };
    });
  };
  if (layerProgress) onChange(layerProgress.state, writeAgain, until);
  return { metrics, figures, valuesOf, scaleAt, setTau, settingTau: thresholds.busy };
}

/** Questions about all heads: where they look, their patterns, their alignment, their roles. */
function createQuestions({ source, report, signal: until }: ViewContext) {
  const patterns = signal<Patterns | null>(null);
  const looks = asking<Looks>(until);
  const askLooks = (): Promise<void> =>
    looks.ask(async (signal) => {
      // Positions need no language: they are shown even if the tagger fails.
      patterns.value = await askPatterns(source, { signal }).catch((error: unknown) => {
        if (isAbort(error)) throw error;
        return null;
      });
      const specialization = await askSpecialization(source, { signal });
      return { specialization, patterns: patterns.value };
    });
  /** Alignment of cross-attention; null before the answer, and where a page has none. */
  const alignment = asking<Alignment>(until, report);
  if (source.meta.keys) void alignment.ask((signal) => askAlignment(source, { signal }));
  const roles = asking<Roles>(until);
  const askForRoles = (): Promise<void> => roles.ask((signal) => askRoles(source, { signal }));
  return { patterns, looks, askLooks, alignment: alignment.answer, roles, askForRoles };
}

/** A column of the table; `source` knows the intervals of a profile. */
function columnOf(
  source: Source,
  { key, name, short }: Pick<Metric, "key" | "name" | "short">,
  group: string,
  values: ArrayLike<number>,
): Column {
  const interval = intervalOf(source, key);
  return { key, name, short, group, values, ...(interval === null ? {} : { interval }) };
}

function columnsOf(
  source: Source,
  { metrics, valuesOf }: ReturnType<typeof createFigures>,
  { patterns, looks, alignment, roles }: ReturnType<typeof createQuestions>,
): ReadonlySignal<readonly Column[]> {
  const { meta } = source;
  return computed((): readonly Column[] => {
    const { labels, names } = roles.answer.value ?? { labels: null, names: [] };
    const specialization = looks.answer.value?.specialization;
    const [positions, aligned] = [patterns.value, alignment.value];
    const role = { key: "role", name: "Role", short: "Role", group: "Role" };
    return [
      ...(labels === null
        ? []
        : [{ ...role, values: labels, text: (label: number) => roleName(names[label] ?? "") }]),
      ...metrics.map((metric) => columnOf(source, metric, "Matrix", valuesOf(metric.key))),
      ...specializationsOf(meta)
        .filter(({ key }) => specialization?.keys.includes(key))
        .map((metric) =>
          columnOf(
            source,
            metric,
            "Where it looks",
            specialization?.values("raw", metric.key) ?? [],
          ),
        ),
      ...PATTERNS.filter(({ key }) => positions?.keys.includes(key)).map((metric) =>
        columnOf(source, metric, "Pattern", positions?.values(metric.key) ?? []),
      ),
      // A profile of cross-attention has its means.
      ...ALIGNMENT.flatMap((metric) => {
        const values =
          aligned?.values(metric.key) ?? source.arrays.get(`metric:${metric.key}`)?.data;
        return values === undefined ? [] : [columnOf(source, metric, "Alignment", values)];
      }),
      ...(meta.profile?.accuracies ?? []).map((key) =>
        columnOf(
          source,
          { key, name: metricName(key), short: metricName(key) },
          "Accuracy",
          arrayOf(source, `metric:${key}`).data,
        ),
      ),
    ];
  });
}

/** The figure that shades the head grid sorts the table. */
function createSort({ source, state, signal: until }: ViewContext, metrics: readonly Metric[]) {
  const sortable = new Set([
    "role",
    ...[...SPECIALIZATIONS, ...PATTERNS, ...ALIGNMENT, ...metrics].map(({ key }) => key),
    ...(source.meta.profile?.accuracies ?? []),
  ]);
  const sort = signal<Sort>({ key: "head", descending: false });
  function sortByShade(): void {
    const { metric: key } = state.get();
    if (key !== sort.value.key && sortable.has(key))
      sort.value = { key, descending: key !== "role" };
  }
  sortByShade();
  state.on(["metric"], sortByShade, until);
  return sort;
}

/** `explain` opens what a figure means at `anchor`. */
export function createHeadsModel(
  host: Element,
  context: ViewContext,
  explain: (anchor: HTMLElement | SVGElement, label: string, content: ComponentChildren) => void,
) {
  const { source, state, matrix, announce, signal: until } = context;
  const { meta } = source;
  const { n_layers: nLayers, n_heads: nHeads } = meta.model;
  const selection = selectionOf(state, ["layer", "head", "metric"], until);
  const mode = modeSignal(host, until);
  /** Index of the selected head; -1 for the mean of its layer. */
  const chosen = computed(() => indexOf(selection.value.layer, selection.value.head));
  function indexOf(layer: number, head: HeadIndex): number {
    return head === "mean" ? -1 : layer * nHeads + head;
  }

  const of = createFigures(context);
  const questions = createQuestions(context);
  const { looks, alignment } = questions;
  const columns = columnsOf(source, of, questions);
  const sort = createSort(context, of.metrics);
  const aligned = isAligned(meta) || meta.wordless === true;
  /** Nothing before the heads are known. */
  const standings = computed((): Standings => {
    const { layer, head } = selection.value;
    const found = looks.answer.value;
    if (!aligned && found === null && looks.failure.value === null) return NO_STANDINGS;
    const spread = of.figures.value.arrays.get("metric:effective_keys")?.data ?? [];
    return standingsIn(source, { layer, head }, found, spread);
  });
  const shown = signalOf(matrix.get, (changed) => matrix.on(changed, until));
  const focus = selectionOf(state, ["token"], until);
  const link = computed(() => {
    const { layer, head } = selection.value;
    const there = shown.value;
    return there?.layer === layer && there.head === head
      ? linkOf(there, focus.value.token, meta.tokens, keysOf(meta))
      : null;
  });

  return {
    source,
    until,
    nLayers,
    nHeads,
    /** True if the heads are those of a profile, over many texts. */
    profile: meta.profile,
    selection,
    chosen,
    mode,
    ...of,
    figures: of.figures as ReadonlySignal<Shown>,
    /** True of cross-attention. */
    aligned,
    standings,
    link,
    alignment,
    looks,
    askLooks: questions.askLooks,
    roles: questions.roles,
    askForRoles: questions.askForRoles,
    columns,
    sort: sort as ReadonlySignal<Sort>,
    select(layer: number, head: number) {
      state.set({ layer, head });
      announce(spokenHead(layer, head));
    },
    selectIndex(index: number) {
      this.select(Math.floor(index / nHeads), index % nHeads);
    },
    sortBy(next: Sort) {
      sort.value = next;
      if (next.key !== "head") state.set({ metric: next.key });
    },
    /** Shade the heads by a figure, sort the table by it, and open what it means. */
    explain(
      key: string,
      label: string,
      anchor: HTMLElement | SVGElement,
      content: ComponentChildren,
    ) {
      state.set({ metric: key });
      sort.value = { key, descending: true };
      explain(anchor, label, content);
    },
  };
}

export type HeadsModel = ReturnType<typeof createHeadsModel>;
