/** Table of what the selected head looks at. */

import type { SpecializationMetric } from "../../figures/catalog/types";
import { ABSENT, exact, formatNumber } from "../../figures/format";
import type { Form } from "../../figures/head-figures";
import { metricName } from "../../figures/names";
import { type Column, FigureRow } from "../../marks/table";
import { Button } from "../../ui/controls";
import { memo } from "../../ui/memo";
import { Headings } from "../../ui/table";
import { intervalOf } from "./figures";
import type { LooksModel } from "./looks";

type Columns = Column<SpecializationMetric>[];

/** For a text, chance and the multiple of it; for a profile, the mean's interval. */
function referenceColumns({
  source,
  selection,
  nHeads,
  profile,
  chanceOf,
  figureOf,
}: LooksModel): Columns {
  if (profile === null)
    return [
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
    ];
  return [
    {
      ...{
        key: "interval",
        label: "95%",
        title: "Bootstrap interval of the mean over texts",
      },
      cell({ key }) {
        const { layer, head } = selection.value;
        const range = head === "mean" ? null : intervalOf(source, key)?.(layer * nHeads + head);
        if (!range) return { value: Number.NaN, text: ABSENT };
        const text = range.map((end) => formatNumber(end, 2)).join(" – ");
        return { value: range[0], text, title: range.map((end) => exact(end)).join(" to ") };
      },
    },
  ];
}

function columnsOf(model: LooksModel): Columns {
  const { profile, figureOf, isSpecial } = model;
  const of = (by: Form, label: string, title: string): Columns[number] => ({
    ...{ key: by, label, title },
    cell: (metric) => (by === "raw" || isSpecial(metric) ? { value: figureOf(metric, by) } : null),
  });
  return [
    of("raw", profile ? "Mean" : "Raw", "As defined"),
    ...referenceColumns(model),
    of("scaled", "Per layer", "0: lowest of the layer’s heads, 1: highest"),
    of("z", "z", "Standard deviations from the mean of all heads"),
  ];
}

export function looksNumbers(model: LooksModel) {
  const { metrics, positions, together, notes, selection, absent, explain } = model;
  const columns = columnsOf(model);
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
  return () => (
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
  );
}
