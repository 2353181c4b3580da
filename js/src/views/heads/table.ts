/** All heads as a table: sortable by every metric, filterable, a row selects its head. */

import { consume } from "../../draw/dom";
import { scrollAcross, scrollDown } from "../../draw/scroll";
import { exact, formatCount, formatNumber } from "../../figures/format";
import { headName } from "../../figures/names";
import type { HeadIndex } from "../../protocol/types";
import type { GroupSwitch } from "../contract";

export type SortKey = string;
export interface Sort {
  /** A metric's key, or `"head"` for layer and head. */
  readonly key: SortKey;
  readonly descending: boolean;
}

type Test = (index: number) => boolean;
export interface Column {
  readonly key: string;
  readonly name: string;
  /** Heading and filter word. */
  readonly short: string;
  /** Heading above a group of columns. */
  readonly group: string;
  /** One figure a head; NaN = N/A. */
  readonly values: ArrayLike<number>;
  /** Text in the cell instead of the number: the name of a role. */
  readonly text?: (value: number) => string;
  /** A second line: the interval of a mean. */
  readonly detail?: (index: number) => string;
}

const COMPARISON = /^([a-z. ]+?)\s*(<=|>=|<|>|=)\s*(-?\d*\.?\d+(?:e-?\d+)?)$/i;
const NAMED = /^(role)\s*[:=]\s*(\S.*)$/i;
const ONE_HEAD = /^(?:l\s*)?(\d+)\s*(?:\.|,|\s)\s*(?:h\s*)?(\d+)$/i;

/**
 * Predicate of a filter such as `L3`, `H5`, `3.5`, `entropy > 20` or `role: cls` lets through; parts joined by `and` or `&` all
 * hold. null when it cannot be read; an empty filter lets everything through.
 */
export function parseFilter(text: string, columns: readonly Column[], nHeads: number): Test | null {
  const tests: Test[] = [];
  for (const part of text.split(/\s*(?:&|\band\b)\s*/i).map((p) => p.trim())) {
    if (part === "") continue;
    const test = parsePart(part, columns, nHeads);
    if (test === null) return null;
    tests.push(test);
  }
  return (index) => tests.every((test) => test(index));
}

function parsePart(part: string, columns: readonly Column[], nHeads: number): Test | null {
  const one = ONE_HEAD.exec(part);
  if (one) return (index) => index === Number(one[1]) * nHeads + Number(one[2]);
  const axis = /^([lh])\s*(\d+)$/i.exec(part);
  if (axis) {
    const wanted = Number(axis[2]);
    return axis[1]?.toLowerCase() === "l"
      ? (index) => Math.floor(index / nHeads) === wanted
      : (index) => index % nHeads === wanted;
  }
  const named = NAMED.exec(part);
  if (named) {
    const [, column, wanted] = named as unknown as [string, string, string];
    const match = columns.find(({ short, text }) => text && short.toLowerCase() === column);
    const text = match?.text;
    if (match === undefined || text === undefined) return null;
    return (index) =>
      text(match.values[index] as number)
        .toLowerCase()
        .includes(wanted.toLowerCase());
  }
  const comparison = COMPARISON.exec(part);
  if (!comparison) return null;
  const [, name, operator, number] = comparison as unknown as [string, string, string, string];
  const wanted = name.toLowerCase().replace(/[^a-z]/g, "");
  const column = columns.find(
    ({ short, name, key, text }) =>
      text === undefined &&
      [short, name, key].some((label) =>
        label
          .toLowerCase()
          .replace(/[^a-z]/g, "")
          .startsWith(wanted),
      ),
  );
  if (!column) return null;
  const limit = Number(number);
  const compare: Record<string, (value: number) => boolean> = {
    "<": (v) => v < limit,
    ">": (v) => v > limit,
    "<=": (v) => v <= limit,
    ">=": (v) => v >= limit,
    "=": (v) => v === limit,
  };
  const test = compare[operator];
  return test ? (index) => test(column.values[index] as number) : null;
}

/** Indices of the heads in the order of `sort`; N/A last, ties by layer and head. */
export function sortHeads(values: ArrayLike<number> | null, size: number, sort: Sort): number[] {
  const indices = Array.from({ length: size }, (_, index) => index);
  const sign = sort.descending ? -1 : 1;
  if (values === null) return sort.descending ? indices.reverse() : indices;
  return indices.sort((a, b) => {
    const x = values[a] as number;
    const y = values[b] as number;
    if (Number.isNaN(x) || Number.isNaN(y))
      return Number(Number.isNaN(x)) - Number(Number.isNaN(y)) || a - b;
    return sign * (x - y) || a - b;
  });
}

export interface HeadsTable {
  readonly element: HTMLElement;
  setColumns(columns: readonly Column[]): void;
  setSelection(layer: number, head: HeadIndex): void;
  setSort(sort: Sort): void;
  /** A choice of the columns, for tables that have many. */
  setSwitch(create: (chosen: () => void) => GroupSwitch): void;
}

export function createHeadsTable(
  shape: { readonly nLayers: number; readonly nHeads: number },
  events: { select(layer: number, head: number): void; sort(sort: Sort): void },
): HeadsTable {
  const { nLayers, nHeads } = shape;
  const size = nLayers * nHeads;
  const element = document.createElement("section");
  element.className = "aw-heads-all";
  element.setAttribute("aria-label", "All heads");
  const bar = document.createElement("div");
  bar.className = "aw-heads-bar";
  const heading = document.createElement("h4");
  heading.textContent = "All heads";
  const filter = document.createElement("input");
  filter.type = "search";
  filter.placeholder = "Filter: L3, 3.5, syntax > 0.3";
  filter.setAttribute("aria-label", "Filter heads, for example L3, 3.5 or syntax > 0.3");
  filter.spellcheck = false;
  const count = document.createElement("span");
  count.className = "aw-heads-count";
  count.setAttribute("role", "status");
  let kinds: GroupSwitch | null = null;
  bar.append(heading, filter, count);
  const scroller = document.createElement("div");
  scroller.className = "aw-heads-scroll";
  const table = document.createElement("table");
  table.className = "aw-heads-table";
  const top = table.createTHead();
  const groups = top.insertRow();
  groups.className = "aw-heads-groups";
  const head = top.insertRow();
  const body = table.createTBody();
  scroller.append(table);
  element.append(bar, scroller);

  let columns: readonly Column[] = [];
  let sort: Sort = { key: "head", descending: false };
  let rows: HTMLTableRowElement[] = [];
  let headers = new Map<string, HTMLTableCellElement>();
  let selected = -1;

  const buttonOf = (index: number): HTMLButtonElement | null =>
    rows[index]?.querySelector("button") ?? null;

  function header(key: string, label: string, title: string): HTMLTableCellElement {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.dataset.key = key;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label;
    button.title = title;
    button.addEventListener("click", () => {
      // Figures are asked for largest first, heads in their order.
      const descending = sort.key === key ? !sort.descending : !["head", "role"].includes(key);
      events.sort({ key, descending });
    });
    cell.append(button);
    headers.set(key, cell);
    return cell;
  }

  function setColumns(next: readonly Column[]): void {
    columns = next;
    draw();
  }

  function draw(): void {
    const drawn = kinds?.shown(columns) ?? columns;
    headers = new Map();
    head.replaceChildren(
      header("head", "Head", "Layer and head, 0-based"),
      ...drawn.map(({ key, short, name, text }) => {
        const cell = header(key, short, name);
        if (text !== undefined) cell.className = "aw-heads-word";
        return cell;
      }),
    );
    groups.replaceChildren(...groupHeads(drawn));
    table.style.setProperty("--aw-columns", String(drawn.length));
    const scales = drawn.map(({ values }) => {
      let largest = 0;
      for (let i = 0; i < size; i++) largest = Math.max(largest, (values[i] as number) || 0);
      return largest || 1;
    });
    rows = Array.from({ length: size }, (_, index) => {
      const row = document.createElement("tr");
      row.dataset.index = String(index);
      const name = document.createElement("th");
      name.scope = "row";
      const button = document.createElement("button");
      button.type = "button";
      button.tabIndex = -1;
      button.textContent = headName(Math.floor(index / nHeads), index % nHeads);
      name.append(button);
      row.append(name);
      drawn.forEach(({ key, values, text, detail }, column) => {
        const value = values[index] as number;
        const cell = document.createElement("td");
        cell.dataset.awValue = exact(value);
        cell.dataset.metric = key;
        if (text !== undefined) {
          cell.className = "aw-heads-word";
          cell.textContent = cell.title = text(value);
        } else {
          cell.textContent = formatNumber(value);
          cell.title = Number.isNaN(value) ? "Not defined for this head" : exact(value);
          const part = Math.max(0, value / (scales[column] as number));
          cell.style.setProperty("--share", String(+part.toFixed(4) || 0));
          const below = detail?.(index) ?? "";
          if (below !== "") {
            const line = document.createElement("small");
            below.split(" – ").forEach((part, i) => {
              const number = document.createElement("span");
              number.textContent = part;
              line.append(i > 0 ? " – " : "", number);
            });
            cell.append(line);
          }
        }
        row.append(cell);
      });
      return row;
    });
    rows[selected]?.setAttribute("aria-current", "true");
    arrange();
  }

  function arrange(): void {
    const test = parseFilter(filter.value, columns, nHeads);
    filter.setAttribute("aria-invalid", String(test === null));
    const column = columns.find(({ key }) => key === sort.key);
    const order = sortHeads(column?.values ?? null, size, sort).filter(test ?? (() => true));
    body.replaceChildren(...order.map((index) => rows[index] as HTMLTableRowElement));
    count.textContent =
      test === null
        ? "Not understood: try L3, 3.5 or sparsity > 0.9"
        : order.length === size
          ? `${formatCount(size)} heads`
          : `${formatCount(order.length)} of ${formatCount(size)} heads`;
    for (const [key, cell] of headers) {
      if (key !== sort.key) cell.removeAttribute("aria-sort");
      else cell.setAttribute("aria-sort", sort.descending ? "descending" : "ascending");
    }
    rove();
  }

  /** One row is reached with Tab: the selected one, else the first that is shown. */
  function rove(focus?: HTMLElement): void {
    const stop =
      focus ?? (rows[selected]?.isConnected ? buttonOf(selected) : body.querySelector("button"));
    for (const button of body.querySelectorAll("button")) {
      button.tabIndex = button === stop ? 0 : -1;
    }
  }

  function setSelection(layer: number, headIndex: HeadIndex): void {
    rows[selected]?.removeAttribute("aria-current");
    selected = headIndex === "mean" ? -1 : layer * nHeads + headIndex;
    const row = rows[selected];
    row?.setAttribute("aria-current", "true");
    rove();
    if (row?.isConnected) reveal(row);
  }

  let frame = 0;

  /** Bring `row` in sight with the next frame: measuring now would lay the page out once more. */
  function reveal(row: HTMLElement): void {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => scrollTo(row));
  }

  function scrollTo(row: HTMLElement): void {
    const above = row.offsetTop - (top.offsetHeight || 0);
    scrollDown(scroller, above, row.offsetTop + row.offsetHeight);
  }

  /** A sort asks for the first row of its column: bring both in sight. */
  function answer(column: HTMLElement | undefined): void {
    scroller.scrollTop = 0;
    if (column === undefined) return;
    const names = headers.get("head")?.offsetWidth ?? 0;
    const { offsetLeft: left, offsetWidth: width } = column;
    scrollAcross(scroller, left - names, left + width);
  }

  body.addEventListener("click", (event) => {
    const row = (event.target as Element).closest("tr");
    if (!row || document.getSelection()?.isCollapsed === false) return;
    const index = Number(row.dataset.index);
    events.select(Math.floor(index / nHeads), index % nHeads);
  });
  body.addEventListener("keydown", (event) => {
    const row = (event.target as Element).closest("tr");
    const next = {
      ArrowDown: row?.nextElementSibling,
      ArrowUp: row?.previousElementSibling,
      Home: body.firstElementChild,
      End: body.lastElementChild,
    }[event.key];
    if (!(next instanceof HTMLTableRowElement)) return;
    consume(event);
    const button = next.querySelector("button");
    if (!button) return;
    rove(button);
    button.focus({ preventScroll: true });
    reveal(next);
  });
  filter.addEventListener("input", arrange);

  return {
    element,
    setColumns,
    setSelection,
    setSwitch(create) {
      kinds = create(draw);
      filter.after(kinds.element);
      kinds.follow(columns.find(({ key }) => key === sort.key));
      draw();
    },
    setSort(next) {
      sort = next;
      kinds?.follow(columns.find(({ key }) => key === sort.key));
      if (kinds === null || headers.has(sort.key)) arrange();
      else draw();
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => {
        const row = rows[selected];
        if (sort.key === "head") {
          if (row?.isConnected) scrollTo(row);
        } else answer(headers.get(sort.key));
      });
    },
  };
}

/** One cell above the headings of each kind of figure. */
function groupHeads(columns: readonly Column[]): HTMLTableCellElement[] {
  const cells = [document.createElement("td")];
  let name = "";
  for (const { group, short } of columns) {
    const last = cells.at(-1) as HTMLTableCellElement;
    if (group === name) last.colSpan += 1;
    else {
      name = group;
      const own = group !== short;
      const cell = document.createElement(own ? "th" : "td");
      if (own) {
        cell.scope = "colgroup";
        cell.textContent = group;
      }
      cells.push(cell);
    }
  }
  return cells;
}
