/** Specializations of the heads: the radar of the specializations, the heads of the layer, and the table of numbers. */
import { computed, type ReadonlySignal, signal } from "@preact/signals-core";
import type { ComponentType } from "preact";
import { onResize } from "../../draw/resize";
import { standalone } from "../../draw/vector";
import { PATTERNS } from "../../figures/catalog/cards";
import type { SpecializationMetric } from "../../figures/catalog/types";
import { ABSENT, capital, exact, formatNumber } from "../../figures/format";
import type { Form, Patterns, Specialization } from "../../figures/head-figures";
import { headName, metricName, spokenHead } from "../../figures/names";
import { navigateList } from "../../marks/navigate";
import { cls } from "../../marks/plot";
import { type Column, FigureRow } from "../../marks/table";
import { firstLargest } from "../../protocol/ties";
import { Button, Segmented, Toggle } from "../../ui/controls";
import { Mark } from "../../ui/legend";
import { memo } from "../../ui/memo";
import { setter, watch } from "../../ui/mount";
import { Headings } from "../../ui/table";
import { answeredSection } from "./answered";
import { lookFigures } from "./figure-of";
import { intervalOf, summarize } from "./figures";
import { type HeadsModel, specializationsOf } from "./model";
import { Radar, spokenRadar } from "./radar";
import { type RadarForm, radarScale } from "./radar-geometry";

const FORMS = [
  ["scaled", "Per layer"],
  ["raw", "Raw"],
] as const;
const SCALES: Readonly<Record<RadarForm, string>> = {
  scaled: "Center: lowest head of this layer. Rim: highest (may still be small).",
  raw: "One scale for all axes, from 0 by the square root.",
};
const SAME = "The heads of this layer do not differ.";
const TWICE = "No token stands twice in the text.";
const ABSENT_PATTERNS: Readonly<Record<string, string>> = { duplicate: TWICE, induction: TWICE };
const NO_NEIGHBOR = "No token has a neighbor on that side that the mask lets it see.";

/** The radar for a file, with space for the names that stand out of its box on screen. */
export function radarFile(host: Element): SVGSVGElement | null {
  const radar = host.querySelector<SVGSVGElement>(".aw-radar");
  if (radar === null) return null;
  const copy = standalone(radar);
  const { x, y, width, height } = radar.getBBox();
  const box = { viewBox: `${x} ${y} ${width} ${height}`, width, height };
  for (const [name, value] of Object.entries(box)) copy.setAttribute(name, String(value));
  return copy;
}

/** Reasons why figures are N/A that more than one of them has. */
export function sharedReasons(
  reasons: Readonly<Record<string, string>>,
): readonly (readonly [reason: string, keys: readonly string[]])[] {
  const keysOf = new Map<string, string[]>();
  for (const [key, reason] of Object.entries(reasons))
    keysOf.set(reason, [...(keysOf.get(reason) ?? []), key]);
  return [...keysOf].filter(([, keys]) => keys.length > 1);
}

/** The radar, for the first screen, and the figures in numbers, null before they are known. */
export function createLooks(model: HeadsModel) {
  void model.askLooks();
  const numbers = signal<ComponentType | null>(null);
  const Section = answeredSection(
    model.looks,
    (found) => {
      const { Plot, Numbers } = createContent(model, found);
      numbers.value = Numbers;
      return Plot;
    },
    {
      until: model.until,
      section: { class: "aw-specialization-section", "aria-label": "Where the heads look" },
      class: "aw-specialization-body",
      waiting: "Tagging the words of the text …",
      again: () => void model.askLooks(),
    },
  );
  return { Section, numbers: numbers as ReadonlySignal<ComponentType | null> };
}

interface Found {
  readonly specialization: Specialization;
  readonly patterns: Patterns | null;
}
function createContent(model: HeadsModel, { specialization, patterns }: Found) {
  const { source, selection, nHeads, profile, until } = model;
  const isSpecial = ({ key }: SpecializationMetric): boolean => specialization.keys.includes(key);
  const metrics = specializationsOf(source.meta).filter(isSpecial);
  const positions = PATTERNS.filter(({ key }) => patterns?.keys.includes(key));
  const heads = Array.from({ length: nHeads }, (_, head) => head);
  const chanceOf = (metric: SpecializationMetric): number =>
    (isSpecial(metric) ? specialization : patterns)?.chance(metric.key, selection.value.layer) ??
    Number.NaN;
  const form = signal<RadarForm>("scaled");
  const all = signal(true);
  const width = signal(0);
  const measure = (plot: HTMLElement | null): void => {
    if (plot !== null) onResize(plot, setter(width), until);
  };
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

  // -- the radar, and the heads of the layer as radio buttons: names of its outlines, and their keyboard ----------
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
  const figuresOf = lookFigures(model);
  const explain = (key: string, anchor: HTMLElement | SVGElement): void =>
    figuresOf.get(key)?.explain(anchor);
  const Plot = memo(function Plot() {
    const { layer, head } = selection.value;
    const index = pointed.value;
    return (
      <div class="aw-radar-plot" ref={measure}>
        {width.value > 0 && (
          <Radar
            {...radar.value}
            {...{ width: width.value, pointed: index, select, explain }}
            point={setter(pointed)}
          />
        )}
        <p class="aw-radar-readout" aria-hidden="true">
          {index === null ? headName(layer, head) : strongest(layer, index)}
        </p>
        <Chips />
        <p class="aw-marks aw-radar-legend">
          <Mark kind="this-line" text={headName(layer, head)} />
          {all.value && <Mark kind="layer-line" text="other heads of its layer" />}
          {radar.value.chance.some(Number.isFinite) && <Mark kind="chance" text="chance level" />}
          <span>{SCALES[form.value]}</span>
        </p>
      </div>
    );
  });
  const Chips = memo(function Chips() {
    const { layer, head } = selection.value;
    return (
      <div
        class="aw-chips"
        role="radiogroup"
        aria-label="Head of the layer"
        data-aw-part="radar-heads"
        {...props}
      >
        {heads.map((index) => (
          <Button
            key={index}
            role="radio"
            class={cls("aw-chip", { pointed: index === pointed.value })}
            aria-checked={index === head}
            label={`H${index}, ${spokenHead(layer, index)}`}
            tabIndex={index === entry.value ? 0 : -1}
            data-head={index}
          >
            {`H${index}`}
          </Button>
        ))}
      </div>
    );
  });

  // -- the figures in numbers -------------------------------------------------------------------
  type Columns = Column<SpecializationMetric>[];
  /** For a text, chance and the multiple of it; for a profile, the mean's interval. */
  const reference: Columns =
    profile === null
      ? [
          {
            ...{ key: "chance", label: "Chance" },
            title: "Value of a head that attends everywhere equally",
            cell: (metric) => ({ value: chanceOf(metric) }),
          },
          {
            ...{ key: "times", label: "×", title: "Raw as a multiple of chance" },
            cell(metric) {
              const value = figureOf(metric) / chanceOf(metric);
              return { value, text: Number.isFinite(value) ? `${formatNumber(value, 2)}×` : "" };
            },
          },
        ]
      : [
          {
            ...{
              key: "interval",
              label: "95%",
              title: "Bootstrap interval of the mean over texts",
            },
            cell({ key }) {
              const { layer, head } = selection.value;
              const range =
                head === "mean" ? null : intervalOf(source, key)?.(layer * nHeads + head);
              if (!range) return { value: Number.NaN, text: ABSENT };
              const text = range.map((end) => formatNumber(end, 2)).join(" – ");
              return { value: range[0], text, title: range.map((end) => exact(end)).join(" to ") };
            },
          },
        ];
  const of = (by: Form, label: string, title: string): Columns[number] => ({
    ...{ key: by, label, title },
    cell: (metric) => (by === "raw" || isSpecial(metric) ? { value: figureOf(metric, by) } : null),
  });
  const columns: Columns = [
    of("raw", profile ? "Mean" : "Raw", "As defined"),
    ...reference,
    of("scaled", "Per layer", "0: lowest of the layer’s heads, 1: highest"),
    of("z", "z", "Standard deviations from the mean of all heads"),
  ];
  const headings = columns.map(
    ({ key, label, title = "" }) => [label, title, `is-${key}`] as const,
  );
  const row = (metric: SpecializationMetric) => {
    const { key, name } = metric;
    const head = (
      <Button
        class="aw-flat aw-card-title"
        {...{ "aria-haspopup": "dialog", "aria-expanded": "false", "data-key": key }}
        onClick={({ currentTarget }) => explain(key, currentTarget)}
      >
        {name}
      </Button>
    );
    return (
      <FigureRow
        key={key}
        {...{ row: metric, columns, head, by: "column", attributes: { "data-key": key } }}
        class={key === selection.value.metric ? "is-chosen" : undefined}
        absent={absent(metric, "raw")}
        absentClass="aw-specialization-absent"
      />
    );
  };
  const Numbers = memo(function Numbers() {
    return (
      <table class="aw-number-table aw-specializations" data-aw-part="specialization">
        <caption class="aw-live">Where the selected head looks</caption>
        <Headings of={[null, ...headings]} />
        <tbody>
          {metrics.filter(({ key }) => !together.has(key)).map(row)}
          {together.size > 0 && (
            <tr>
              <th scope="row">{[...together].map(metricName).join(", ")}</th>
              <td class="aw-specialization-absent" colSpan={columns.length}>
                N/A
              </td>
            </tr>
          )}
          {positions.length > 0 && (
            <tr class="aw-specialization-group">
              <th colSpan={columns.length + 1} scope="colgroup">
                Pattern
              </th>
            </tr>
          )}
          {positions.map(row)}
        </tbody>
      </table>
    );
  });

  const reasons = new Set(Object.values(specialization.reasons));
  const refusals = shared.map(
    ([reason, keys]) => `N/A: ${keys.map(metricName).join(", ")}. ${capital(reason)}`,
  );
  const notes = specialization.notes.filter((note) => !reasons.has(note));
  return {
    Plot: memo(() => (
      <>
        <div class="aw-heads-bar">
          <h4>Where it looks</h4>
          <Segmented
            {...{ label: "Scale of the radar", part: "radar-form", name: "form", options: FORMS }}
            value={form.value}
            choose={setter(form)}
          />
          <Toggle text="all heads of the layer" part="radar-all" on={all.value} set={setter(all)} />
        </div>
        <Plot />
        {refusals.length > 0 && (
          <p class="aw-view-note aw-radar-refusals" data-aw-part="specialization-refusals">
            {refusals.join(" ")}
          </p>
        )}
      </>
    )),
    Numbers: () => (
      <div class="aw-specialization-numbers">
        <Numbers />
        {notes.length > 0 && (
          <ul class="aw-list aw-specialization-notes" data-aw-part="specialization-notes">
            {notes.map((note) => (
              <li key={note}>{note.replace(/^[a-z_]+(?=:)/, metricName)}</li>
            ))}
          </ul>
        )}
      </div>
    ),
  };
}
