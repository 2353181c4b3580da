/** All heads as a table, sorted and filtered by any figure, a row selects its head; and the figures by layer. */

import { computed, signal } from "@preact/signals-core";
import { consume, step } from "../../draw/dom";
import { scrollAcross, scrollDown } from "../../draw/scroll";
import { maximum } from "../../figures/derive/matrix";
import { exact, formatCount, formatNumber } from "../../figures/format";
import { headName } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import { Button, Segmented } from "../../ui/controls";
import { memo } from "../../ui/memo";
import { setter, watch } from "../../ui/mount";
import { Headings } from "../../ui/table";
import { layerSummaries, type Summary, summarize } from "./figures";
import { ALL, type Column, columnsOfKind, kindOf, kindsOf, parseFilter, sortHeads } from "./filter";
import type { HeadsModel } from "./model";

/** A region that scrolls, by keys too. */
const SCROLLS = { tabIndex: 0, role: "region", "aria-label": "By layer" } as const;

type TableModel = Pick<
  HeadsModel,
  | "aligned"
  | "nLayers"
  | "nHeads"
  | "columns"
  | "chosen"
  | "sort"
  | "sortBy"
  | "selectIndex"
  | "until"
>;

export function createHeadsTable(host: Element, model: TableModel) {
  const { nLayers, nHeads, columns, chosen, sort, until } = model;
  const size = nLayers * nHeads;
  const example = model.aligned ? "monotony > 0.3" : "syntax > 0.3";
  const filter = signal("");
  /** The kind of columns that the reader chose, or that of the column that was sorted last. */
  const choice = signal("");
  const kinds = computed(() => kindsOf(columns.value));
  const kind = computed(() => {
    if (kinds.value.length === 0) return ALL;
    return kinds.value.includes(choice.value) ? choice.value : itemAt(kinds.value, 0);
  });
  const shown = computed(() => columnsOfKind(columns.value, kind.value));
  const scales = computed(() => shown.value.map(({ values }) => maximum(values)));
  const passes = computed(() => parseFilter(filter.value, columns.value, nHeads));
  const order = computed(() => {
    const column = columns.value.find(({ key }) => key === sort.value.key);
    const all = sortHeads(column?.values ?? null, size, sort.value);
    return passes.value === null ? all : all.filter(passes.value);
  });
  /** The head whose row was reached with the keyboard. */
  const visited = signal<number | null>(null);
  const entry = computed(() => {
    const wanted = visited.value ?? chosen.value;
    return order.value.includes(wanted) ? wanted : order.value[0];
  });

  watch(() => {
    const { key } = sort.value;
    const column = columns.value.find((column) => column.key === key);
    if (choice.peek() !== ALL && column !== undefined && column.group !== "Role")
      choice.value = kindOf(column);
  }, until);

  // -- scrolling, with the next frame: measuring now would lay the page out once more -------------

  const find = (selector: string): HTMLElement | null =>
    host.querySelector(`.aw-heads-all ${selector}`);
  let frame = 0;
  function later(act: (scroller: HTMLElement) => void): void {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      const scroller = find(".aw-heads-scroll");
      if (scroller !== null && !until.aborted) act(scroller);
    });
  }
  function reveal(index: number): void {
    later((scroller) => {
      const [row, head] = [find(`tr[data-index="${index}"]`), find("thead")];
      if (row !== null)
        scrollDown(
          scroller,
          row.offsetTop - (head?.offsetHeight ?? 0),
          row.offsetTop + row.offsetHeight,
        );
    });
  }
  watch(() => {
    visited.value = null;
    if (chosen.value >= 0) reveal(chosen.value);
  }, until);
  // A sort asks for the first row of its column.
  watch(() => {
    const { key } = sort.value;
    if (key === "head") reveal(chosen.peek());
    else
      later((scroller) => {
        scroller.scrollTop = 0;
        const column = find(`th[data-key="${key}"]`);
        if (column === null) return;
        const { offsetLeft: left, offsetWidth: width } = column;
        scrollAcross(
          scroller,
          left - (find('th[data-key="head"]')?.offsetWidth ?? 0),
          left + width,
        );
      });
  }, until);

  // -- what the reader does -----------------------------------------------------------------------

  const indexOf = ({ target }: Event): number =>
    Number((target as Element).closest("tr")?.dataset.index ?? Number.NaN);
  function onClick(event: MouseEvent): void {
    const index = indexOf(event);
    if (!Number.isNaN(index) && document.getSelection()?.isCollapsed !== false)
      model.selectIndex(index);
  }
  function onKey(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
    const at = order.value.indexOf(indexOf(event));
    const to = /Left|Right/.test(event.key) ? null : step(event.key, at, order.value.length);
    if (at < 0 || to === null) return;
    consume(event);
    const next = itemAt(order.value, to);
    visited.value = next;
    find(`tr[data-index="${next}"] button`)?.focus({ preventScroll: true });
    reveal(next);
  }

  const Header = ({
    of,
    label,
    title,
    word,
  }: {
    of: string;
    label: string;
    title: string;
    word?: boolean;
  }) => {
    const { key, descending } = sort.value;
    // Figures are asked for largest first, heads and roles in their order.
    const first = !["head", "role"].includes(of);
    const direction = descending ? "descending" : "ascending";
    return (
      <th
        scope="col"
        class={word ? "aw-heads-word" : undefined}
        data-key={of}
        aria-sort={key === of ? direction : undefined}
      >
        <Button
          class="aw-flat"
          title={title}
          onClick={() => model.sortBy({ key: of, descending: key === of ? !descending : first })}
        >
          {label}
        </Button>
      </th>
    );
  };

  const Rows = memo(function Rows() {
    return (
      <table
        class="aw-number-table aw-heads-table"
        style={{ "--aw-columns": String(shown.value.length) }}
      >
        <thead>
          <tr class="aw-heads-groups">
            <td />
            <GroupHeads columns={shown.value} />
          </tr>
          <tr>
            <Header of="head" label="Head" title="Layer and head, 0-based" />
            {shown.value.map(({ key, short, name, text }) => (
              <Header key={key} of={key} label={short} title={name} word={text !== undefined} />
            ))}
          </tr>
        </thead>
        <tbody onClick={onClick} onKeyDown={onKey}>
          {order.value.map((index) => (
            <Row
              key={index}
              index={index}
              nHeads={nHeads}
              columns={shown.value}
              scales={scales.value}
              current={index === chosen.value}
              stop={index === entry.value}
            />
          ))}
        </tbody>
      </table>
    );
  });

  return memo(function HeadsTable() {
    const found = order.value.length;
    return (
      <section class="aw-heads-all" aria-label="All heads">
        <div class="aw-heads-bar">
          <h4>All heads</h4>
          <input
            type="search"
            placeholder={`Filter: L3, 3.5, ${example}`}
            aria-label={`Filter heads, for example L3, 3.5 or ${example}`}
            aria-invalid={passes.value === null}
            spellcheck={false}
            onInput={({ currentTarget }) => {
              filter.value = currentTarget.value;
            }}
          />
          {kinds.value.length > 0 && (
            <Segmented
              label="Figures"
              name="group"
              // Paper has room for all, in several tables.
              options={kinds.value.map((kind) => [
                kind,
                kind,
                kind === ALL ? { "data-print": "" } : {},
              ])}
              value={kind.value}
              choose={setter(choice)}
            />
          )}
          <span class="aw-heads-count aw-muted aw-small" role="status">
            {passes.value === null
              ? "Not understood: try L3, 3.5 or sparsity > 0.9"
              : found === size
                ? `${formatCount(size)} heads`
                : `${formatCount(found)} of ${formatCount(size)} heads`}
          </span>
        </div>
        <div class="aw-scroll aw-heads-scroll">
          <Rows />
        </div>
      </section>
    );
  });
}

interface RowProps {
  readonly index: number;
  readonly nHeads: number;
  readonly columns: readonly Column[];
  /** The column's largest value, where its bars end. */
  readonly scales: readonly number[];
  readonly current: boolean;
  readonly stop: boolean;
}

const Row = memo(function Row({ index, nHeads, columns, scales, current, stop }: RowProps) {
  return (
    <tr data-index={index} aria-current={current ? "true" : undefined}>
      <th scope="row">
        <Button class="aw-flat" tabIndex={stop ? 0 : -1}>
          {headName(Math.floor(index / nHeads), index % nHeads)}
        </Button>
      </th>
      {columns.map(({ key, values, text, interval }, i) => {
        const value = values[index] ?? Number.NaN;
        const numbers = { "data-aw-value": exact(value), "data-metric": key };
        if (text !== undefined)
          return (
            <td key={key} class="aw-heads-word" title={text(value)} {...numbers}>
              {text(value)}
            </td>
          );
        const share = Math.max(0, value / (scales[i] || 1));
        const ends = interval?.(index)?.map((end) => formatNumber(end, 2));
        return (
          <td
            key={key}
            title={Number.isNaN(value) ? "Not defined for this head" : exact(value)}
            style={{ "--share": String(+share.toFixed(4) || 0) }}
            {...numbers}
          >
            {formatNumber(value)}
            {ends && (
              <small>
                <span>{ends[0]}</span> – <span>{ends[1]}</span>
              </small>
            )}
          </td>
        );
      })}
    </tr>
  );
});

/** One cell above the headings of each kind of figure. */
function GroupHeads({ columns }: { readonly columns: readonly Column[] }) {
  return columns.map(({ group, short, text }, i) => {
    if (group === columns[i - 1]?.group) return null;
    const rest = columns.slice(i).findIndex((column) => column.group !== group);
    const span = rest < 0 ? columns.length - i : rest;
    return group === short ? (
      // The first row sets the widths of the columns.
      <td key={i} colSpan={span} class={text === undefined ? undefined : "aw-heads-word"} />
    ) : (
      <th key={i} scope="colgroup" colSpan={span}>
        {group}
      </th>
    );
  });
}

/** Every layer and the model: mean of the heads' figures, smallest to largest. Closed at first. */
export function createLayersTable({
  nLayers,
  nHeads,
  columns,
}: Pick<HeadsModel, "nLayers" | "nHeads" | "columns">) {
  const open = signal(false);
  const summaries = computed(() =>
    columns.value
      .filter(({ text }) => text === undefined)
      .map(({ key, short, name, values }) => {
        const layers = layerSummaries({ values, nLayers, nHeads });
        return { key, short, name, rows: [...layers, summarize(Array.from(values))] };
      }),
  );
  const cell = ({ mean, min, max }: Summary, key: string) => (
    <td
      key={key}
      data-aw-value={exact(mean)}
      data-metric={key}
      title={`mean ${exact(mean)}, ${exact(min)} to ${exact(max)}`}
    >
      {formatNumber(mean)}
      {!Number.isNaN(mean) && <small>{`${formatNumber(min, 2)} – ${formatNumber(max, 2)}`}</small>}
    </td>
  );
  return memo(function LayersTable() {
    return (
      <details
        class="aw-layers-all"
        data-aw-part="layers-summary"
        onToggle={({ currentTarget }) => {
          open.value = open.value || currentTarget.open;
        }}
      >
        <summary>By layer: mean of its heads’ figures, smallest to largest</summary>
        <div class="aw-scroll aw-heads-scroll" {...SCROLLS}>
          {open.value && (
            <table
              class="aw-number-table aw-heads-table aw-layers-table"
              style={{ "--aw-columns": String(summaries.value.length) }}
            >
              <Headings
                of={[null, ...summaries.value.map(({ short, name }) => [short, name] as const)]}
              />
              <tbody>
                {Array.from({ length: nLayers + 1 }, (_, row) => (
                  <tr key={row}>
                    <th scope="row">{row < nLayers ? `L${row}` : "Model"}</th>
                    {summaries.value.map(({ key, rows }) => cell(itemAt(rows, row), key))}
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </div>
      </details>
    );
  });
}
