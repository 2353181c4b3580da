/** The matrix of sentences: their texts next to the rows, numbers on the cells, one stop for Tab. */

import { computed, type ReadonlySignal, signal } from "@preact/signals-core";
import { inkOn, type Mode, ramp } from "../../draw/color/ramp";
import { rampIndex } from "../../draw/color/scale";
import { consume, setAttributes, step } from "../../draw/dom";
import { scrollAcross, scrollDown } from "../../draw/scroll";
import { exact, formatNumber, visible } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import type { Scale } from "../../state/selection";
import { memo } from "../../ui/memo";
import { setTo, setter } from "../../ui/mount";
import { type CellPosition, ofTwoTexts, type SentenceMatrix, strongestOther } from "./data";
import { type GridLayout, HEIGHT, layoutGrid, linesInSight } from "./layout";

/** Up to this number of sentences all cells are in the page: 3,600 of them. */
const MAX_WHOLE = 60;
/** Numbers longer than this have smaller digits. */
const LONG_NUMBER = 6;
const SEGMENTS = ["A", "B"];

type Range = readonly [from: number, to: number];

const all = (rows: number, columns: number): readonly [Range, Range] => [
  [0, rows],
  [0, columns],
];

export const sentenceName = (index: number): string => `S${index}`;

/** A sentence without its line breaks. */
export const oneLine = (text: string): string => visible(text.replace(/\s+/g, " ").trim());

/** Name of a sentence that is looked at: `S3`, or one of the source's, `source 3`. */
export const keyName = (matrix: SentenceMatrix, index: number): string =>
  ofTwoTexts(matrix) ? `source ${index}` : sentenceName(index);

/** `S3`, and of a pair of texts the letter of its text. */
const nameOf = ({ segments }: SentenceMatrix, index: number, paired: boolean) => (
  <span class="aw-isa-name">
    {sentenceName(index)}
    {paired && (
      <span class="aw-isa-segment">{SEGMENTS[segments[index] ?? 0] ?? segments[index]}</span>
    )}
  </span>
);

interface Shared {
  readonly matrix: SentenceMatrix;
  /** True for the sentences of two texts. */
  readonly paired: boolean;
  /** Columns that have their cells. */
  readonly from: number;
  readonly to: number;
}

const Head = memo(function Head({ matrix, paired, from, to }: Shared) {
  const { keyTexts, elsewhere, outside, asked } = matrix;
  const two = ofTwoTexts(matrix);
  return (
    <div role="row" class="aw-isa-row aw-isa-head">
      <div role="columnheader" class="aw-isa-corner">
        {asked.quantity === null ? "looks at →" : "takes from →"}
      </div>
      {keyTexts.slice(from, to).map((text, i) => {
        const b = from + i;
        return (
          <div
            key={b}
            role="columnheader"
            class="aw-isa-column"
            data-b={b}
            aria-colindex={b + 2}
            title={`${keyName(matrix, b)} ${text}`}
            style={{ gridColumn: String(b + 2) }}
          >
            {two ? (
              <span class="aw-isa-name">{keyName(matrix, b)}</span>
            ) : (
              nameOf(matrix, b, paired)
            )}
          </div>
        );
      })}
      {elsewhere !== null &&
        [
          ["outside", `Share on tokens in no sentence: ${outside}`, "elsewhere"],
          ["sum", "Sum of the row", "sum"],
        ].map(([name, title, text]) => (
          <div key={name} role="columnheader" class={`aw-isa-${name}`} title={title}>
            {text}
          </div>
        ))}
    </div>
  );
});

interface RowProps extends Shared {
  readonly a: number;
  readonly printed: boolean;
  readonly scale: Scale;
  readonly mode: Mode;
  /** Column of the cell that Tab enters, of the opened and of the pinned one; -1 for none. */
  readonly entry: number;
  readonly opened: number;
  readonly pinned: number;
}

const Row = memo(function Row(props: RowProps) {
  const { a, matrix, paired, from, to, printed, scale, mode, entry, opened, pinned } = props;
  const { width, values, max, texts, elsewhere } = matrix;
  const { css, rgb } = ramp("weight", mode);
  const best = strongestOther(matrix, a);
  const columns = Array.from({ length: to - from }, (_, i) => from + i);
  // The cell that Tab enters is always there.
  if (entry >= 0 && entry < from) columns.unshift(entry);
  if (entry >= to) columns.push(entry);
  const cell = (b: number) => {
    const value = itemAt(values, a * width + b);
    const error = matrix.error(value);
    const impossible = Number.isNaN(value);
    const index = rampIndex(value, max, scale);
    const text = printed ? formatNumber({ value, error }) : "";
    const kind = impossible ? " is-impossible" : b === best ? " is-strongest" : "";
    return (
      <div
        key={b}
        role="gridcell"
        class={`aw-isa-cell${kind}${text.length > LONG_NUMBER ? " is-long" : ""}`}
        tabIndex={b === entry ? 0 : -1}
        data-a={a}
        data-b={b}
        data-aw-value={impossible ? undefined : exact({ value, error })}
        data-aw-pinned={b === pinned ? "" : undefined}
        aria-colindex={b + 2}
        aria-expanded={b === opened}
        style={{
          gridColumn: String(b + 2),
          backgroundColor: impossible ? "" : itemAt(css, index),
          color: impossible ? "" : inkOn(itemAt(rgb, index)),
        }}
      >
        {text}
      </div>
    );
  };
  const outside = elsewhere?.[a] ?? 0;
  const sum = (): number =>
    values.subarray(a * width, (a + 1) * width).reduce((left, v) => left + (v || 0), outside);
  const figure = (name: string, value: number, style?: Readonly<Record<string, string>>) => {
    const digits = exact({ value, error: matrix.error(value) });
    return (
      <div role="gridcell" class={name} data-aw-value={digits} title={digits} style={style}>
        {formatNumber({ value, error: matrix.error(value) })}
      </div>
    );
  };
  return (
    <div role="row" class={`aw-isa-row${entry < 0 ? "" : " is-active"}`} data-a={a}>
      <div role="rowheader" class="aw-isa-label" title={texts[a]}>
        {nameOf(matrix, a, paired)}
        <bdi class="aw-isa-text" dir="auto">
          {oneLine(itemAt(texts, a))}
        </bdi>
      </div>
      {columns.map(cell)}
      {elsewhere !== null && figure("aw-isa-outside", outside, { "--share": String(outside) })}
      {elsewhere !== null && figure("aw-isa-sum", sum())}
    </div>
  );
});

/** Data and actions of the grid. */
interface GridOptions {
  readonly matrix: ReadonlySignal<SentenceMatrix | null>;
  readonly width: ReadonlySignal<number>;
  readonly scale: ReadonlySignal<Scale>;
  readonly mode: ReadonlySignal<Mode>;
  readonly opened: ReadonlySignal<CellPosition | null>;
  readonly pinned: ReadonlySignal<CellPosition | null>;
  readonly paired: boolean;
  open(place: CellPosition): void;
  /** Close what is open; false where nothing is. */
  close(): boolean;
}

export function createGrid(options: GridOptions) {
  const { matrix: shown, width, scale, mode, opened, pinned, paired } = options;
  /** The grid's element: its size decides which cells a large matrix has. */
  const element = signal<HTMLElement | null>(null);
  const hold = setter(element);
  /** The cell that Tab enters, and the one under the pointer. */
  const place = signal<CellPosition>({ a: 0, b: 0 });
  const pointed = signal<CellPosition | null>(null);
  const layout = computed((): GridLayout | null => {
    const matrix = shown.value;
    if (matrix === null || matrix.size === 0 || width.value === 0) return null;
    return layoutGrid(matrix.width, width.value, matrix.elsewhere !== null);
  });
  /** Scroll position, px: it decides which cells a large matrix has. */
  const scrolled = signal({ left: 0, top: 0 });

  /** Rows and columns that have their cells. */
  function inSight({ size, width }: SentenceMatrix): readonly [rows: Range, columns: Range] {
    const at = layout.value;
    const { left, top } = scrolled.value;
    if (Math.max(size, width) <= MAX_WHOLE || at === null) return all(size, width);
    if (element.value === null) return all(0, 0);
    const { clientWidth, clientHeight } = element.value;
    return [
      linesInSight(top, clientHeight - HEIGHT.head, at.tall ? HEIGHT.tall : HEIGHT.low, size),
      linesInSight(left, clientWidth - at.label, at.cell, width),
    ];
  }

  const cellAt = ({ a, b }: CellPosition): HTMLElement | null =>
    element.peek()?.querySelector(`.aw-isa-cell[data-a="${a}"][data-b="${b}"]`) ?? null;

  function go(next: CellPosition): void {
    place.value = next;
    const [grid, cell] = [element.peek(), cellAt(next)];
    cell?.focus({ preventScroll: true });
    if (grid === null || cell === null) return;
    const [head, row] = grid.children;
    const label = (row?.firstElementChild as HTMLElement | undefined)?.offsetWidth ?? 0;
    const { offsetLeft: x, offsetTop: y, offsetWidth, offsetHeight } = cell;
    scrollAcross(grid, x - label, x + offsetWidth);
    scrollDown(grid, y - (head?.clientHeight ?? 0), y + offsetHeight);
  }

  const placeOf = (target: EventTarget | null): CellPosition | null => {
    const cell = (target as Element).closest<HTMLElement>(".aw-isa-cell");
    return cell === null ? null : { a: Number(cell.dataset.a), b: Number(cell.dataset.b) };
  };

  /** Names and titles are written when a cell is reached: a thousand of them would take long. */
  function describe({ target }: Event): void {
    const [at, matrix] = [placeOf(target), shown.peek()];
    if (at === null || matrix === null) return;
    const value = itemAt(matrix.values, at.a * matrix.width + at.b);
    const impossible = Number.isNaN(value);
    const error = matrix.error(value);
    const spoken = impossible ? "impossible, masked" : formatNumber({ value, error });
    setAttributes((target as Element).closest(".aw-isa-cell") as Element, {
      title: impossible ? "The model's mask forbids every link here" : exact({ value, error }),
      "aria-label": `${sentenceName(at.a)} to ${keyName(matrix, at.b)}: ${spoken}`,
    });
  }

  function onClick({ target }: MouseEvent): void {
    const at = placeOf(target);
    if (at !== null) {
      go(at);
      options.open(at);
      return;
    }
    const label = (target as Element).closest<HTMLElement>(".aw-isa-label");
    const [a, matrix] = [Number(label?.parentElement?.dataset.a ?? -1), shown.peek()];
    if (a >= 0 && matrix !== null) go({ a, b: strongestOther(matrix, a) ?? 0 });
  }

  function onKey(event: KeyboardEvent): void {
    const [at, matrix] = [placeOf(event.target), shown.peek()];
    if (at === null || matrix === null || event.metaKey || event.altKey) return;
    const { a, b } = at;
    const vertical = /^Arrow(Up|Down)$/.test(event.key) || event.ctrlKey;
    const to = step(event.key, vertical ? a : b, vertical ? matrix.size : matrix.width);
    if (to !== null) go(vertical ? { a: to, b } : { a, b: to });
    else if (event.key === "m") go({ a, b: strongestOther(matrix, a) ?? b });
    else if (event.key === "Enter" || event.key === " ") options.open(at);
    else if (event.key !== "Escape" || !options.close()) return;
    consume(event);
  }

  function Grid({ matrix }: { readonly matrix: SentenceMatrix }) {
    const { size, width, texts, elsewhere } = matrix;
    const at = layout.value;
    const [[top, bottom], [from, to]] = inSight(matrix);
    const columnOf = (cell: CellPosition | null, a: number): number =>
      cell?.a === a ? cell.b : -1;
    const classes = Object.entries({
      "is-printed": at?.printed,
      "is-tight": at?.tight,
      "is-tall": at?.tall,
      "has-outside": elsewhere !== null,
      "has-sum": at?.sum,
    })
      .map(([name, on]) => (on ? ` ${name}` : ""))
      .join("");
    const shared = { matrix, paired };
    return (
      <div
        ref={hold}
        class={`aw-isa aw-scroll aw-small${classes}`}
        role="grid"
        data-aw-part="sentence-matrix"
        aria-label="Attention between sentences: rows are queries, columns are keys"
        aria-rowcount={size + 1}
        aria-colcount={width + 1 + (elsewhere === null ? 0 : 2)}
        style={{
          "--aw-isa-label": `${at?.label ?? 0}px`,
          "--aw-isa-cell": `${at?.cell ?? 0}px`,
          "--aw-isa-count": String(width),
        }}
        onScroll={({ currentTarget }) => {
          if (Math.max(size, width) <= MAX_WHOLE) return;
          scrolled.value = { left: currentTarget.scrollLeft, top: currentTarget.scrollTop };
        }}
        onClick={onClick}
        onFocusIn={describe}
        onPointerOver={(event) => {
          describe(event);
          pointed.value = placeOf(event.target);
        }}
        onPointerLeave={setTo(pointed, null)}
        onKeyDown={onKey}
      >
        <Head {...shared} from={from} to={to} />
        {texts.map((_, a) => {
          const near = a >= top && a < bottom;
          return (
            <Row
              key={a}
              {...shared}
              a={a}
              from={near ? from : 0}
              to={near ? to : 0}
              printed={at?.printed ?? true}
              scale={scale.value}
              mode={mode.value}
              entry={columnOf(place.value, a)}
              opened={columnOf(opened.value, a)}
              pinned={columnOf(pinned.value, a)}
            />
          );
        })}
      </div>
    );
  }

  return {
    Grid,
    place,
    pointed,
    focus: () => cellAt(place.peek())?.focus({ preventScroll: true }),
  };
}
