/** The matrix of sentences: their texts next to the rows, numbers on the cells; of a large one the cells in sight. */
import { computed, type ReadonlySignal, signal } from "@preact/signals-core";
import { inkOn, type Mode, ramp } from "../../draw/color/ramp";
import { rampIndex } from "../../draw/color/scale";
import { setAttributes } from "../../draw/dom";
import { scrollAcross, scrollDown } from "../../draw/scroll";
import { exact, formatNumber, visible } from "../../figures/format";
import { navigateGrid, type Place } from "../../marks/navigate";
import { itemAt } from "../../protocol/required";
import type { Scale } from "../../state/selection";
import { memo } from "../../ui/memo";
import type { SentenceMatrix } from "./data";
import * as data from "./data";
import { HEIGHT, layoutGrid, linesInSight } from "./layout";

/** Up to this number of sentences all cells are in the page: 3,600 of them. */
const MAX_WHOLE = 60;
/** Names of sections stand upright over cells narrower than this (px). */
const UPRIGHT = 72;
/** Numbers longer than this have smaller digits. */
const LONG_NUMBER = 6;
const SEGMENTS = ["A", "B"];
/** A sentence without its line breaks. */
export const oneLine = (text: string): string => visible(text.replace(/\s+/g, " ").trim());

interface Shared {
  readonly matrix: SentenceMatrix;
  /** True for the sentences of two texts. */
  readonly paired: boolean;
  /** Columns that have their cells. */
  readonly from: number;
  readonly to: number;
}
/** `S3`, and of a pair of texts the letter of its text. */
const nameOf = (matrix: SentenceMatrix, index: number, paired: boolean) => (
  <bdi class="aw-isa-name">
    {data.sentenceName(matrix, index)}
    {paired && (
      <span class="aw-isa-segment">
        {SEGMENTS[matrix.segments[index] ?? 0] ?? matrix.segments[index]}
      </span>
    )}
  </bdi>
);

const Head = memo(function Head({ matrix, paired, from, to }: Shared) {
  const { keyTexts, elsewhere, outside, asked } = matrix;
  const title = (kind: string, text: string, title: string) => (
    <div role="columnheader" class={`aw-isa-${kind}`} title={title}>
      {text}
    </div>
  );
  return (
    <div role="row" class="aw-isa-row aw-isa-head">
      <div role="columnheader" class="aw-isa-corner">
        {asked.quantity === null ? "looks at →" : "takes from →"}
      </div>
      {keyTexts.slice(from, to).map((text, i) => {
        const b = from + i;
        const name = data.keyName(matrix, b);
        const own = data.ofTwoTexts(matrix) ? <span class="aw-isa-name">{name}</span> : null;
        return (
          <div
            key={b}
            role="columnheader"
            class="aw-isa-column"
            data-b={b}
            aria-colindex={b + 2}
            title={`${name} ${data.ofTwoTexts(matrix) ? text : data.sentenceText(matrix, b)}`}
            style={{ gridColumn: String(b + 2) }}
          >
            {own ?? nameOf(matrix, b, paired)}
          </div>
        );
      })}
      {elsewhere &&
        title(
          "outside",
          "elsewhere",
          `Share on tokens in no ${data.nounsOf(matrix.sections)[0]}: ${outside}`,
        )}
      {elsewhere && title("sum", "sum", "Sum of the row")}
    </div>
  );
});

interface RowProps extends Shared {
  readonly a: number;
  readonly printed: boolean;
  readonly scale: Scale;
  readonly mode: Mode;
  /** Columns of the cell that Tab enters, of the opened and of the pinned one; -1 for none. */
  readonly entry: number;
  readonly opened: number;
  readonly pinned: number;
}
const Row = memo(function Row({ matrix, a, paired, from, to, entry, ...props }: RowProps) {
  const { width, values, max, elsewhere, error } = matrix;
  const { css, rgb } = ramp("weight", props.mode);
  const best = data.strongestOther(matrix, a);
  const near = Array.from({ length: to - from }, (_, i) => from + i);
  // The cell that Tab enters is always there.
  const columns = [...new Set(entry < 0 ? near : [...near, entry])].sort((b, c) => b - c);
  const cell = (b: number) => {
    const value = itemAt(values, a * width + b);
    const number = { value, error: error(value) };
    const impossible = Number.isNaN(value);
    const index = rampIndex(value, max, props.scale);
    const text = props.printed ? formatNumber(number) : "";
    const kind = impossible ? " is-impossible" : b === best ? " is-strongest" : "";
    const paint = { backgroundColor: itemAt(css, index), color: inkOn(itemAt(rgb, index)) };
    return (
      <div
        key={b}
        role="gridcell"
        class={`aw-isa-cell${kind}${text.length > LONG_NUMBER ? " is-long" : ""}`}
        tabIndex={b === entry ? 0 : -1}
        data-a={a}
        data-b={b}
        data-aw-value={impossible ? undefined : exact(number)}
        data-aw-pinned={b === props.pinned ? "" : undefined}
        aria-colindex={b + 2}
        aria-expanded={b === props.opened}
        style={{ gridColumn: String(b + 2), ...(!impossible && paint) }}
      >
        {text}
      </div>
    );
  };
  const figure = (name: string, value: number, style = {}) => {
    const number = { value, error: error(value) };
    const digits = exact(number);
    return (
      <div role="gridcell" class={name} data-aw-value={digits} title={digits} style={style}>
        {formatNumber(number)}
      </div>
    );
  };
  const outside = elsewhere?.[a] ?? 0;
  const sum = values.subarray(a * width, (a + 1) * width).reduce((s, v) => s + (v || 0), outside);
  return (
    <div role="row" class={`aw-isa-row${entry < 0 ? "" : " is-active"}`} data-a={a}>
      <div role="rowheader" class="aw-isa-label" title={data.sentenceText(matrix, a)}>
        {nameOf(matrix, a, paired)}
        <bdi class="aw-isa-text" dir="auto">
          {oneLine(data.sentenceText(matrix, a))}
        </bdi>
      </div>
      {columns.map(cell)}
      {elsewhere && figure("aw-isa-outside", outside, { "--share": String(outside) })}
      {elsewhere && figure("aw-isa-sum", sum)}
    </div>
  );
});

interface GridOptions {
  readonly matrix: ReadonlySignal<SentenceMatrix | null>;
  readonly width: ReadonlySignal<number>;
  readonly scale: ReadonlySignal<Scale>;
  readonly mode: ReadonlySignal<Mode>;
  readonly opened: ReadonlySignal<Place | null>;
  readonly pinned: ReadonlySignal<Place | null>;
  readonly paired: boolean;
  open(place: Place): void;
  /** Close what is open; false where nothing is. */
  close(): boolean;
}
export function createGrid({ matrix: shown, width, scale, mode, ...options }: GridOptions) {
  /** The grid's element and how far it is scrolled decide which cells a large matrix has. */
  const element = signal<HTMLElement | null>(null);
  const scrolled = signal({ left: 0, top: 0 });
  const layout = computed(() => {
    const matrix = shown.value;
    if (matrix === null || matrix.size === 0 || width.value === 0) return null;
    const { elsewhere, sections } = matrix;
    return layoutGrid(matrix.width, width.value, elsewhere !== null, sections !== null);
  });
  const isWhole = ({ size, width }: SentenceMatrix): boolean => Math.max(size, width) <= MAX_WHOLE;
  function inSight(matrix: SentenceMatrix) {
    const { size, width } = matrix;
    const [at, grid] = [layout.value, element.value];
    if (isWhole(matrix) || at === null) return [[0, size] as const, [0, width] as const] as const;
    if (grid === null) return [[0, 0] as const, [0, 0] as const] as const;
    const { left, top } = scrolled.value;
    const line = at.tall ? HEIGHT.tall : HEIGHT.low;
    return [
      linesInSight(top, grid.clientHeight - HEIGHT.head, line, size),
      linesInSight(left, grid.clientWidth - at.label, at.cell, width),
    ] as const;
  }

  const { entry, pointed, go, show, focus, props } = navigateGrid({
    attributes: ["a", "b"],
    extent: () => [shown.peek()?.size ?? 0, shown.peek()?.width ?? 0],
    pick: options.open,
    keys(key, at) {
      const matrix = shown.peek();
      if (key === "m" && matrix !== null) return data.firstOf(matrix, at.row);
      return key === "Escape" && options.close() ? null : undefined;
    },
    /** Names and titles are written when a cell is reached: a thousand of them would take long. */
    reach(cell, at) {
      const matrix = shown.peek();
      if (matrix === null) return;
      const value = data.valueAt(matrix, at);
      const number = { value, error: matrix.error(value) };
      const [title, spoken] = Number.isNaN(value)
        ? ["The model's mask forbids every link here", "impossible, masked"]
        : [exact(number), formatNumber(number)];
      const names = `${data.sentenceName(matrix, at.row)} to ${data.keyName(matrix, at.column)}`;
      setAttributes(cell, { title, "aria-label": `${names}: ${spoken}` });
    },
    reveal(cell, grid) {
      const [head, row] = grid.children;
      const label = (row?.firstElementChild as HTMLElement | undefined)?.offsetWidth ?? 0;
      const { offsetLeft: x, offsetTop: y, offsetWidth, offsetHeight } = cell;
      scrollAcross(grid, x - label, x + offsetWidth);
      scrollDown(grid, y - (head?.clientHeight ?? 0), y + offsetHeight);
    },
  });
  function onClick(event: MouseEvent): void {
    props.onClick(event);
    const label = (event.target as Element).closest(".aw-isa-label");
    const row = Number(label?.parentElement?.dataset.a ?? -1);
    const matrix = shown.peek();
    if (row >= 0 && matrix !== null) go(data.firstOf(matrix, row));
  }

  const hold = (grid: HTMLElement | null): void => {
    props.ref(grid);
    element.value = grid;
  };

  function Grid({ matrix }: { readonly matrix: SentenceMatrix }) {
    const { size, width, texts, elsewhere } = matrix;
    const { label = 0, cell = 0, printed = true, tight, tall, sum } = layout.value ?? {};
    const [[top, bottom], [from, to]] = inSight(matrix);
    const columnOf = (place: Place | null, row: number): number =>
      place?.row === row ? place.column : -1;
    const named = matrix.sections !== null;
    const upright = named && cell < UPRIGHT;
    const kinds = { printed: layout.value?.printed, tight, tall, named, upright };
    const is = Object.entries(kinds).map(([name, on]) => (on ? ` is-${name}` : ""));
    const has = `${elsewhere === null ? "" : " has-outside"}${sum ? " has-sum" : ""}`;
    const shared = {
      matrix,
      paired: options.paired,
      printed,
      scale: scale.value,
      mode: mode.value,
    };
    return (
      <div
        {...props}
        ref={hold}
        class={`aw-isa aw-scroll aw-small${is.join("")}${has}`}
        role="grid"
        data-aw-part="sentence-matrix"
        aria-label={`Attention between ${data.nounsOf(matrix.sections)[1]}: rows are queries, columns are keys`}
        aria-rowcount={size + 1}
        aria-colcount={width + 1 + (elsewhere === null ? 0 : 2)}
        style={{
          "--aw-isa-label": `${label}px`,
          "--aw-isa-cell": `${cell}px`,
          "--aw-isa-count": String(width),
        }}
        onScroll={({ currentTarget: { scrollLeft: left, scrollTop: top } }) => {
          if (!isWhole(matrix)) scrolled.value = { left, top };
        }}
        onClick={onClick}
      >
        <Head {...shared} from={from} to={to} />
        {texts.map((_, a) => (
          <Row
            key={a}
            {...{ a, ...shared }}
            {...(a >= top && a < bottom ? { from, to } : { from: 0, to: 0 })}
            entry={columnOf(entry.value, a)}
            opened={columnOf(options.opened.value, a)}
            pinned={columnOf(options.pinned.value, a)}
          />
        ))}
      </div>
    );
  }
  return { Grid, entry, pointed, show, focus };
}
