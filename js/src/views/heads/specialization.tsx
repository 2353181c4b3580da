/** Specializations of the heads: the radar of the specializations, the heads of the layer, and the table of numbers. */

import { computed, signal } from "@preact/signals-core";
import type { ComponentType } from "preact";
import { consume, step } from "../../draw/dom";
import { onResize } from "../../draw/resize";
import { standalone } from "../../draw/vector";
import { PATTERNS } from "../../figures/catalog/cards";
import type { SpecializationMetric } from "../../figures/catalog/types";
import { ABSENT, exact, formatNumber } from "../../figures/format";
import type { Form, Patterns, Specialization } from "../../figures/head-figures";
import { headName, metricName, spokenHead } from "../../figures/names";
import { firstLargest } from "../../protocol/ties";
import { Answered } from "../../ui/answered";
import { Button, Segmented, Toggle } from "../../ui/controls";
import { Mark } from "../../ui/legend";
import { memo } from "../../ui/memo";
import { setter, watch } from "../../ui/mount";
import { Headings } from "../../ui/table";
import { intervalOf, summarize } from "./figures";
import { type HeadsModel, specializationsOf } from "./model";
import { Radar, spokenRadar } from "./radar";
import { radarScale } from "./radar-geometry";

const FORMS = [
  ["scaled", "Per layer"],
  ["raw", "Raw"],
  ["z", "z-scores"],
] as const;
const SCALES: Readonly<Record<Form, string>> = {
  scaled: "Center: lowest head of this layer. Rim: highest (may still be small).",
  raw: "One scale for all axes, from 0 by the square root.",
  z: "Strong ring: mean of all heads of the model; in standard deviations.",
};
const SAME = "The heads of this layer do not differ.";
const ABSENT_PATTERNS: Readonly<Record<string, string>> = {
  duplicate: "No token stands twice in the text.",
  induction: "No token stands twice in the text.",
};
const NO_NEIGHBOR = "No token has a neighbor on that side that the mask lets it see.";

/** The radar for a file, with space for the names that stand out of its box on screen. */
export function radarFile(host: Element): SVGSVGElement | null {
  const radar = host.querySelector<SVGSVGElement>(".aw-radar");
  if (radar === null) return null;
  const copy = standalone(radar);
  const { x, y, width, height } = radar.getBBox();
  copy.setAttribute("viewBox", [x, y, width, height].join(" "));
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  return copy;
}

export function createLooks(host: Element, model: HeadsModel) {
  const { looks, until } = model;
  void model.askLooks();
  const content = signal<ComponentType | null>(null);
  watch(() => {
    const found = looks.answer.value;
    content.value = found && createContent(host, model, found);
  }, until);
  const Content = memo(function Content() {
    const Shown = content.value;
    return Shown && <Shown />;
  });
  return memo(function Looks() {
    return (
      <section class="aw-specialization-section" aria-label="Where the heads look">
        <Answered
          asked={looks}
          class="aw-specialization-body"
          waiting="Tagging the words of the text …"
          again={() => void model.askLooks()}
        >
          <Content />
        </Answered>
      </section>
    );
  });
}

function createContent(
  host: Element,
  model: HeadsModel,
  {
    specialization,
    patterns,
  }: { readonly specialization: Specialization; readonly patterns: Patterns | null },
) {
  const { source, selection, nHeads, profile, until } = model;
  const metrics = specializationsOf(source.meta).filter(({ key }) =>
    specialization.keys.includes(key),
  );
  const positions = PATTERNS.filter(({ key }) => patterns?.keys.includes(key));
  const heads = Array.from({ length: nHeads }, (_, head) => head);
  const chanceOf = ({ key }: SpecializationMetric): number =>
    (specialization.keys.includes(key) ? specialization : patterns)?.chance(
      key,
      selection.value.layer,
    ) ?? Number.NaN;

  const form = signal<Form>("scaled");
  const all = signal(true);
  const pointed = signal<number | null>(null);
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
  /** Why no head of the layer has a figure; null where one has. */
  function absent({ key }: SpecializationMetric, by: Form): string | null {
    const none = (form: Form): boolean =>
      heads.every((head) => Number.isNaN(at(specialization.values(form, key), head)));
    if (none("raw")) return specialization.reasons[key] ?? "Not defined here.";
    return none(by) ? SAME : null;
  }

  const radar = computed(() => {
    const { layer, head } = selection.value;
    const by = form.value;
    const values = metrics.map(({ key }) => specialization.values(by, key));
    const rows = heads.map((k) => values.map((value) => at(value, k)));
    const chance = metrics.map((metric) => (by === "raw" ? chanceOf(metric) : Number.NaN));
    const chosen = values.map(figure);
    return {
      metrics,
      scale: radarScale(by, [...rows.flat(), ...chance].filter(Number.isFinite)),
      heads: all.value ? rows : [],
      chosen,
      chosenHead: head === "mean" ? -1 : head,
      chance,
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

  const select = (head: number): void => model.select(selection.value.layer, head);
  const point = setter(pointed);

  const Plot = memo(function Plot() {
    const { layer, head } = selection.value;
    const index = pointed.value;
    return (
      <div class="aw-radar-plot" ref={measure}>
        {width.value > 0 && (
          <Radar
            {...radar.value}
            width={width.value}
            pointed={index}
            select={select}
            point={point}
            explain={(key) =>
              host
                .querySelector<HTMLElement>(`.aw-specializations button[data-key="${key}"]`)
                ?.click()
            }
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

  /** The heads of the layer as radio buttons: names of the radar's outlines, and their keyboard. */
  const Chips = memo(function Chips() {
    const { layer, head } = selection.value;
    const headOf = ({ target }: Event): number | null => {
      const chip = (target as Element).closest<HTMLElement>(".aw-chip");
      return chip && Number(chip.dataset.head);
    };
    function onKey(event: KeyboardEvent & { readonly currentTarget: Element }): void {
      const from = headOf(event);
      const next = from === null ? null : step(event.key, from, nHeads);
      if (next === null) return;
      consume(event);
      select(next);
      event.currentTarget
        .querySelector<HTMLElement>(`[data-head="${next}"]`)
        ?.focus({ preventScroll: true });
    }
    return (
      <div
        class="aw-chips"
        role="radiogroup"
        aria-label="Head of the layer"
        data-aw-part="radar-heads"
        onKeyDown={onKey}
        onPointerOver={(event) => point(headOf(event))}
        onPointerLeave={() => point(null)}
        onFocusIn={(event) => point(headOf(event))}
        onFocusOut={() => point(null)}
      >
        {heads.map((index) => (
          <Button
            key={index}
            role="radio"
            class={index === pointed.value ? "aw-chip is-pointed" : "aw-chip"}
            aria-checked={index === head}
            label={`H${index}, ${spokenHead(layer, index)}`}
            tabIndex={index === head || (head === "mean" && index === 0) ? 0 : -1}
            data-head={index}
            onClick={() => select(index)}
          >
            {`H${index}`}
          </Button>
        ))}
      </div>
    );
  });

  // -- the figures in numbers -------------------------------------------------------------------

  const columns = [
    ["raw", profile ? "Mean" : "Raw", "As defined"],
    ...(profile
      ? [["interval", "95%", "Bootstrap interval of the mean over texts"]]
      : [
          ["chance", "Chance", "Value of a head that attends everywhere equally"],
          ["times", "×", "Raw as a multiple of chance"],
        ]),
    ["scaled", "Per layer", "0: lowest of the layer’s heads, 1: highest"],
    ["z", "z", "Standard deviations from the mean of all heads"],
  ] as const;

  const numberCell = (value: number, column: string, text = formatNumber(value)) => (
    <td data-column={column} data-aw-value={exact(value)} title={exact(value)}>
      {text}
    </td>
  );

  /** Chance and the multiple of it; of a profile the mean's interval. */
  function Reference({
    metric,
    raw,
  }: {
    readonly metric: SpecializationMetric;
    readonly raw: number;
  }) {
    if (profile !== null) {
      const { layer, head } = selection.value;
      const ends = head === "mean" ? null : intervalOf(source, metric.key)?.(layer * nHeads + head);
      return (
        <td
          data-column="interval"
          title={ends ? ends.map((end) => exact(end)).join(" to ") : undefined}
        >
          {ends ? ends.map((end) => formatNumber(end, 2)).join(" – ") : ABSENT}
        </td>
      );
    }
    const chance = chanceOf(metric);
    const times = raw / chance;
    return (
      <>
        {numberCell(chance, "chance")}
        <td data-column="times" title={exact(times)}>
          {Number.isFinite(times) && `${formatNumber(times, 2)}×`}
        </td>
      </>
    );
  }

  function MetricRow({ metric }: { readonly metric: SpecializationMetric }) {
    const { key, name } = metric;
    const scaled = specialization.keys.includes(key);
    const raw = figure(scaled ? specialization.values("raw", key) : (patterns?.values(key) ?? []));
    const why = scaled
      ? absent(metric, "raw")
      : Number.isNaN(raw)
        ? (ABSENT_PATTERNS[key] ?? NO_NEIGHBOR)
        : null;
    const about = {
      chance: chanceOf(metric),
      scaled,
      profile: profile !== null,
      masked: source.arrays.has("possible"),
    };
    return (
      <tr class={key === selection.value.metric ? "is-chosen" : undefined} data-key={key}>
        <th scope="row">
          <Button
            class="aw-flat aw-card-title"
            aria-haspopup="dialog"
            aria-expanded="false"
            data-key={key}
            onClick={({ currentTarget }) =>
              model.explain(key, name, currentTarget, (texts) =>
                texts.specialization(metric, about),
              )
            }
          >
            {name}
          </Button>
        </th>
        {why === null ? (
          <>
            {numberCell(raw, "raw")}
            <Reference metric={metric} raw={raw} />
            {(["scaled", "z"] as const).map((by) =>
              scaled ? numberCell(figure(specialization.values(by, key)), by) : <td key={by} />,
            )}
          </>
        ) : (
          <>
            {numberCell(Number.NaN, "raw", ABSENT)}
            <td class="aw-specialization-absent" colSpan={columns.length - 1}>
              {why}
            </td>
          </>
        )}
      </tr>
    );
  }

  const Numbers = memo(function Numbers() {
    void selection.value;
    return (
      <table class="aw-number-table aw-specializations" data-aw-part="specialization">
        <caption class="aw-live">Where the selected head looks</caption>
        <Headings
          of={[null, ...columns.map(([key, head, title]) => [head, title, `is-${key}`] as const)]}
        />
        <tbody>
          {metrics.map((metric) => (
            <MetricRow key={metric.key} metric={metric} />
          ))}
          {positions.length > 0 && (
            <tr class="aw-specialization-group">
              <th colSpan={columns.length + 1} scope="colgroup">
                Pattern
              </th>
            </tr>
          )}
          {positions.map((metric) => (
            <MetricRow key={metric.key} metric={metric} />
          ))}
        </tbody>
      </table>
    );
  });

  const reasons = new Set(Object.values(specialization.reasons));
  const notes = specialization.notes.filter((note) => !reasons.has(note));
  return memo(function Content() {
    return (
      <>
        <div class="aw-heads-bar">
          <h4>Where they look</h4>
          <Segmented
            label="Scale of the radar"
            part="radar-form"
            name="form"
            options={FORMS}
            value={form.value}
            choose={setter(form)}
          />
          <Toggle text="all heads of the layer" part="radar-all" on={all.value} set={setter(all)} />
        </div>
        <div class="aw-specialization-parts">
          <Plot />
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
        </div>
      </>
    );
  });
}
