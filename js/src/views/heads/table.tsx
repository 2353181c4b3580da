/** All heads as a table, sorted and filtered by any figure, a row selects its head; and the figures by layer. */
import { computed, signal } from "@preact/signals-core";
import { scrollAcross, scrollDown } from "../../draw/scroll";
import { maximum } from "../../figures/derive/matrix";
import { exact, formatCount, formatNumber } from "../../figures/format";
import { headName } from "../../figures/names";
import { navigateList } from "../../marks/navigate";
import { ends, FigureRow, KeptRow, type Column as TableColumn } from "../../marks/table";
import { itemAt } from "../../protocol/required";
import { Button, Segmented } from "../../ui/controls";
import { memo } from "../../ui/memo";
import { setter, watch } from "../../ui/mount";
import { Headings } from "../../ui/table";
import { layerSummaries, type Summary, summarize } from "./figures";
import { ALL, type Column, columnsOfKind, kindOf, kindsOf, parseFilter, sortHeads } from "./filter";
import type { HeadsModel } from "./model";

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
/** A figure with its bar, which ends at the column's largest value; a role's name. */
function cellsOf({ key, short, name, values, text, interval }: Column): TableColumn<number> {
  const most = maximum(values) || 1;
  const word = text === undefined ? {} : { class: "aw-heads-word" };
  return {
    ...{ key, label: short, title: name, ...word },
    cell(index) {
      const value = values[index] ?? Number.NaN;
      if (text !== undefined) return { value, text: text(value), title: text(value) };
      const range = interval?.(index);
      return {
        value,
        title: Number.isNaN(value) ? "Not defined for this head" : exact(value),
        style: { "--share": String(+Math.max(0, value / most).toFixed(4) || 0) },
        small: range && ends(range),
      };
    },
  };
}

export function createHeadsTable(host: Element, model: TableModel) {
  const { nLayers, nHeads, columns, chosen, sort, until } = model;
  const size = nLayers * nHeads;
  const example = model.aligned ? "monotony > 0.3" : "syntax > 0.3";
  const filter = signal("");
  /** The kind of columns that the reader chose, or that of the column that was sorted last. */
  const choice = signal("");
  const kinds = computed(() => kindsOf(columns.value));
  const kind = computed(() =>
    kinds.value.includes(choice.value) ? choice.value : (kinds.value[0] ?? ALL),
  );
  const shown = computed(() => columnsOfKind(columns.value, kind.value));
  const cells = computed(() => shown.value.map(cellsOf));
  const passes = computed(() => parseFilter(filter.value, columns.value, nHeads));
  const columnOf = (key: string): Column | undefined =>
    columns.value.find((column) => column.key === key);
  const order = computed(() => {
    const all = sortHeads(columnOf(sort.value.key)?.values ?? null, size, sort.value);
    return passes.value === null ? all : all.filter(passes.value);
  });
  watch(() => {
    const column = columnOf(sort.value.key);
    if (choice.peek() !== ALL && column !== undefined && column.group !== "Role")
      choice.value = kindOf(column);
  }, until);

  /** In the next frame: measuring now would lay the page out once more. */
  let frame = 0;
  const find = (selector: string): HTMLElement | null =>
    host.querySelector(`.aw-heads-all ${selector}`);
  function later(act: (scroller: HTMLElement) => void): void {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      const scroller = find(".aw-heads-scroll");
      if (scroller !== null && !until.aborted) act(scroller);
    });
  }
  const reveal = (index: number): void =>
    later((scroller) => {
      const row = find(`tr[data-index="${index}"]`);
      if (row === null) return;
      const { offsetTop: top, offsetHeight: height } = row;
      scrollDown(scroller, top - (find("thead")?.offsetHeight ?? 0), top + height);
    });
  // A sort asks for the first row of its column.
  watch(() => {
    const { key } = sort.value;
    if (key === "head") return reveal(chosen.peek());
    later((scroller) => {
      scroller.scrollTop = 0;
      const column = find(`th[data-key="${key}"]`);
      if (column === null) return;
      const { offsetLeft: left, offsetWidth: width } = column;
      scrollAcross(scroller, left - (find("th")?.offsetWidth ?? 0), left + width);
    });
  }, until);

  const { entry, props } = navigateList({
    attribute: "index",
    order: () => order.peek(),
    pick(index) {
      if (document.getSelection()?.isCollapsed !== false) model.selectIndex(index);
    },
    reveal: (row) => reveal(Number(row.dataset.index)),
  });
  watch(() => {
    entry.value = chosen.value;
    if (chosen.value >= 0) reveal(chosen.value);
  }, until);

  function Header({
    of,
    label,
    title,
    word,
  }: Record<"of" | "label" | "title", string> & { word?: string | undefined }) {
    const { key, descending } = sort.value;
    // Figures are asked for largest first, heads and roles in their order.
    const first = !["head", "role"].includes(of);
    const next = { key: of, descending: key === of ? !descending : first };
    const direction = descending ? "descending" : "ascending";
    return (
      <th scope="col" class={word} data-key={of} aria-sort={key === of ? direction : undefined}>
        <Button class="aw-flat" title={title} onClick={() => model.sortBy(next)}>
          {label}
        </Button>
      </th>
    );
  }
  const start = (scroller: HTMLElement | null): void => {
    if (scroller !== null && chosen.peek() >= 0) reveal(chosen.peek());
  };
  const Rows = memo(function Rows() {
    const stop = order.value.includes(entry.value) ? entry.value : order.value[0];
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
            {cells.value.map(({ key, label, title = "", class: word }) => (
              <Header {...{ key, label, title, word }} of={key} />
            ))}
          </tr>
        </thead>
        <tbody {...props}>
          {order.value.map((index) => (
            <HeadRow
              key={index}
              {...{ index, nHeads, columns: cells.value }}
              current={index === chosen.value}
              stop={index === stop}
            />
          ))}
        </tbody>
      </table>
    );
  });
  return memo(function HeadsTable() {
    const [found, all] = [formatCount(order.value.length), formatCount(size)];
    return (
      <section class="aw-heads-all" aria-label="All heads">
        <div class="aw-heads-bar">
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
              options={kinds.value.map((k) => [k, k])}
              value={kind.value}
              choose={setter(choice)}
            />
          )}
          <span class="aw-heads-count aw-muted aw-small" role="status">
            {passes.value === null
              ? "Not understood: try L3, 3.5 or sparsity > 0.9"
              : `${found === all ? "" : `${found} of `}${all} heads`}
          </span>
        </div>
        <div class="aw-scroll aw-heads-scroll" ref={start}>
          <Rows />
        </div>
      </section>
    );
  });
}
interface HeadRowProps
  extends Record<"index" | "nHeads", number>,
    Record<"current" | "stop", boolean> {
  readonly columns: readonly TableColumn<number>[];
}
const HeadRow = memo(function HeadRow({ index, nHeads, columns, current, stop }: HeadRowProps) {
  const head = (
    <Button class="aw-flat" tabIndex={stop ? 0 : -1}>
      {headName(Math.floor(index / nHeads), index % nHeads)}
    </Button>
  );
  const attributes = { "data-index": index, "aria-current": current ? "true" : undefined };
  return <FigureRow row={index} {...{ columns, head, attributes }} />;
});
/** One cell above the headings of each kind of figure. */
function GroupHeads({ columns }: { readonly columns: readonly Column[] }) {
  return columns.map(({ group, short, text }, i) => {
    if (group === columns[i - 1]?.group) return null;
    const span = columns.filter((column) => column.group === group).length;
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

/** Every layer and the model: mean of the heads' figures, smallest to largest. */
export function createLayersTable({
  nLayers,
  nHeads,
  columns,
}: Pick<HeadsModel, "nLayers" | "nHeads" | "columns">) {
  const summaries = computed(() =>
    columns.value
      .filter(({ text }) => text === undefined)
      .map(({ key, short, name, values }): TableColumn<number> => {
        const layers = layerSummaries({ values, nLayers, nHeads });
        const rows: readonly Summary[] = [...layers, summarize(Array.from(values))];
        return {
          ...{ key, label: short, title: name },
          cell(row) {
            const { mean: value, min, max } = itemAt(rows, row);
            const range = `${formatNumber(min, 2)} – ${formatNumber(max, 2)}`;
            const title = `mean ${exact(value)}, ${exact(min)} to ${exact(max)}`;
            return { value, title, small: Number.isNaN(value) ? null : range };
          },
        };
      }),
  );
  const Table = () => (
    <table
      class="aw-number-table aw-heads-table aw-layers-table"
      style={{ "--aw-columns": String(summaries.value.length) }}
    >
      <Headings
        of={[null, ...summaries.value.map(({ label, title = "" }) => [label, title] as const)]}
      />
      <tbody>
        {Array.from({ length: nLayers + 1 }, (_, row) => (
          <KeptRow
            key={row}
            {...{ row, columns: summaries.value, head: row < nLayers ? `L${row}` : "Model" }}
          />
        ))}
      </tbody>
    </table>
  );
  return memo(() => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, by keys too
    <div class="aw-scroll aw-heads-scroll" tabIndex={0} role="region" aria-label="By layer">
      {Table()}
    </div>
  ));
}
