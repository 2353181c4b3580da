/** The grid: a row a layer, a column a position; only columns in sight are in the page. */

import { computed, type ReadonlySignal, signal } from "@preact/signals-core";
import { inkOn, ramp, type Mode as Theme } from "../../draw/color/ramp";
import { rampIndex } from "../../draw/color/scale";
import { createRuler } from "../../draw/measure";
import { scrollAcross, scrollDown } from "../../draw/scroll";
import { tapTwice } from "../../draw/touch";
import { formatPercent, type TokenScheme } from "../../figures/format";
import { tokenName } from "../../figures/names";
import { navigateGrid, type Place } from "../../marks/navigate";
import { itemAt } from "../../protocol/required";
import type { TokenColumns } from "../../protocol/types";
import { memo } from "../../ui/memo";
import { type Block, blockOf, layerName } from "./data";
import type { Blocks } from "./settled";

/** Widths, px. */
const LABEL = 44;
const CELL = { least: 58, most: 112 } as const;
/** Room left and right of the text of a cell, px. */
const PAD = 4;
/** Columns beyond what is in sight, in whole steps of which the page draws. */
const NEAR = 4;
/** As many columns are there at once, so that a picture of a sentence or two has all of them. */
const ALL = 48;

interface Options {
  readonly tokens: TokenColumns;
  readonly rows: number;
  /** Positions of the columns. */
  readonly positions: ReadonlySignal<readonly number[]>;
  readonly blocks: ReadonlySignal<Blocks>;
  readonly scheme: ReadonlySignal<TokenScheme>;
  readonly theme: ReadonlySignal<Theme>;
  readonly width: ReadonlySignal<number>;
  readonly chosen: ReadonlySignal<{ readonly layer: number; readonly token: number | null }>;
  readonly pick: (place: Place) => void;
  readonly next: ReadonlySignal<boolean>;
}

interface PiecesProps {
  readonly row: number;
  /** Columns `[from, to)`. */
  readonly from: number;
  readonly to: number;
  readonly cell: number;
  readonly positions: readonly number[];
  readonly blockAt: (position: number) => Block | undefined;
  /** A text in the width of a cell. Each cell that clips its own would be a layer of the drawing. */
  readonly fit: (text: string) => string;
  /** Blocks of the first and of the last column: with another one the cells are drawn again. */
  readonly first: Block | undefined;
  readonly last: Block | undefined;
  readonly scheme: TokenScheme;
  readonly theme: Theme;
  /** Column that Tab enters; -1 elsewhere. */
  readonly entry: number;
  /** Position of the focus token; -1 elsewhere. */
  readonly token: number;
}

/** Width of a column, px. */
const cellWidth = (width: number, columns: number): number =>
  Math.max(CELL.least, Math.min(CELL.most, Math.floor((width - LABEL - 2) / Math.max(1, columns))));

const tone = (probability: number, theme: Theme) => {
  const { css, rgb } = ramp("weight", theme);
  const index = rampIndex(probability, 1, "unit");
  return { background: itemAt(css, index), color: inkOn(itemAt(rgb, index)) };
};

/** A few cells of a row: what comes into sight is drawn, and what stays is left alone. */
const Cells = memo(function Cells(props: PiecesProps) {
  const { row, from, to, cell, positions, blockAt, fit, scheme, theme, entry, token } = props;
  return positions.slice(from, to).map((position, i) => {
    const column = from + i;
    const block = blockAt(position);
    const left = `${LABEL + column * cell}px`;
    const shared = {
      key: column,
      "aria-colindex": column + 2,
      "data-row": row,
      "data-column": column,
      tabIndex: column === entry ? 0 : -1,
    };
    const focus = position === token ? " is-focus" : "";
    if (block === undefined)
      return (
        <div
          {...shared}
          role="gridcell"
          class={`aw-lensgrid-cell is-waiting${focus}`}
          style={{ left }}
        />
      );
    const { probability } = block.best(row, position);
    const { text } = block.label(row, position, scheme);
    return (
      <div
        {...shared}
        role="gridcell"
        class={`aw-lensgrid-cell${block.settled(position) === row ? " is-settled" : ""}${focus}`}
        dir="ltr"
        style={{ left, ...tone(probability, theme) }}
        aria-label={`${text}, ${formatPercent(probability)}`}
      >
        {fit(text)}
      </div>
    );
  });
});

interface HeadProps extends Pick<PiecesProps, "cell" | "positions" | "scheme"> {
  readonly tokens: TokenColumns;
  readonly columns: readonly number[];
  readonly token: number | null;
  readonly next: boolean;
}

const Head = memo(function Head(props: HeadProps) {
  const { tokens, columns, positions, cell, scheme, token, next } = props;
  return (
    <div class="aw-lensgrid-row aw-lensgrid-head" role="row" aria-rowindex={1}>
      <div class="aw-lensgrid-layer aw-muted" role="columnheader">
        {next ? "after" : "at"}
      </div>
      {columns.map((column) => {
        const position = positions[column] ?? 0;
        const name = tokenName(tokens, position, scheme);
        return (
          <div
            key={column}
            role="columnheader"
            aria-colindex={column + 2}
            class={`aw-lensgrid-token${position === token ? " is-focus" : ""}`}
            style={{ left: `${LABEL + column * cell}px` }}
            title={`${name} ${position}`}
          >
            <bdi class="aw-ellipsis" dir="ltr">
              {name}
            </bdi>
          </div>
        );
      })}
    </div>
  );
});

export function createLensGrid(host: HTMLElement, options: Options, until: AbortSignal) {
  const { tokens, rows, positions, blocks, scheme, theme, width, chosen, next } = options;
  const scrolled = signal(0);
  /** Point of the card, px of the grid's content. */
  const at = signal<{ readonly x: number; readonly y: number } | null>(null);
  let box: HTMLElement | null = null;
  const cell = computed(() => cellWidth(width.value, positions.value.length));
  /** Columns that are drawn, by their first and one past their last, as text: an equal one changes nothing. */
  const span = computed(() => {
    const n = positions.value.length;
    if (n <= ALL) return `0,${n}`;
    const first = Math.floor(scrolled.value / cell.value);
    const count = Math.ceil((width.value - LABEL) / cell.value);
    const from = Math.max(0, NEAR * Math.floor((first - NEAR) / NEAR));
    return `${from},${Math.min(n, NEAR * Math.ceil((first + count + NEAR) / NEAR))}`;
  });
  const ruler = createRuler(host);
  const fit = computed(() => {
    const most = cell.value - 2 * PAD;
    return (text: string) => ruler.fit(text, 12, 600, most).text;
  });
  const blockAt = (position: number) => blocks.peek().get(blockOf(position));
  const drawn = computed(() => {
    const [from = 0, to = 0] = span.value.split(",").map(Number);
    return Array.from({ length: to - from }, (_, i) => from + i);
  });

  const { entry, pointed, props } = navigateGrid({
    attributes: ["row", "column"],
    extent: () => [rows, positions.peek().length],
    pick: options.pick,
    reach(mark) {
      const row = mark.parentElement?.offsetTop ?? 0;
      at.value = {
        x: mark.offsetLeft + mark.offsetWidth / 2,
        y: row + mark.offsetTop + mark.offsetHeight / 2,
      };
    },
    reveal(mark, grid) {
      const top = (mark.parentElement?.offsetTop ?? 0) + mark.offsetTop;
      const head = grid.firstElementChild?.clientHeight ?? 0;
      scrollAcross(grid, mark.offsetLeft - LABEL, mark.offsetLeft + mark.offsetWidth);
      scrollDown(grid, top - head, top + mark.offsetHeight);
    },
  });
  const hold = (grid: HTMLElement | null): void => {
    props.ref(grid);
    if (grid === null || grid === box) return;
    box = grid;
    const placeOf = ({ target }: MouseEvent): string | null => {
      const { row, column } =
        (target as Element).closest<HTMLElement>("[data-column]")?.dataset ?? {};
      return column === undefined ? null : `${row},${column}`;
    };
    tapTwice(grid, placeOf, until);
  };

  const Grid = memo(function Grid(_: object) {
    const n = positions.value.length;
    const { row: enters, column: enteredColumn } = entry.value;
    const kept = Math.min(enteredColumn, n - 1);
    // A place that keys have left stays in the page, so that Tab finds it.
    const starts = new Set([...drawn.value, kept].map((column) => column - (column % NEAR)));
    const { layer, token } = chosen.value;
    const [at, now] = [positions.value, blocks.value];
    const pieces = [...starts].map((from) => {
      const to = Math.min(n, from + NEAR);
      const [first, last] = [itemAt(at, from), itemAt(at, to - 1)];
      return {
        from,
        to,
        first: now.get(blockOf(first)),
        last: now.get(blockOf(last)),
        token: token !== null && token >= first && token <= last ? token : -1,
      };
    });
    const shared = {
      cell: cell.value,
      positions: at,
      blockAt,
      fit: fit.value,
      scheme: scheme.value,
      theme: theme.value,
    };
    const style = {
      "--aw-lensgrid-width": `${LABEL + n * cell.value}px`,
      "--aw-lensgrid-cell": `${cell.value}px`,
      "--aw-lensgrid-label": `${LABEL}px`,
    };
    return (
      <div
        {...props}
        ref={hold}
        class="aw-lensgrid aw-scroll"
        role="grid"
        data-aw-part="lens-grid"
        aria-label="Likeliest token by layer and position"
        aria-rowcount={rows + 1}
        aria-colcount={n + 1}
        style={style}
        onScroll={({ currentTarget }) => {
          scrolled.value = currentTarget.scrollLeft;
        }}
      >
        <Head {...shared} {...{ tokens, columns: drawn.value, token, next: next.value }} />
        {Array.from({ length: rows }, (_, row) => (
          <div key={row} class="aw-lensgrid-row" role="row" aria-rowindex={row + 2}>
            <div
              class={`aw-lensgrid-layer aw-muted${row === layer + 1 ? " is-chosen" : ""}`}
              role="rowheader"
            >
              {row === 0 ? "emb." : layerName(row)}
            </div>
            {pieces.map((piece) => (
              <Cells
                key={piece.from}
                row={row}
                {...shared}
                {...piece}
                entry={row === enters && kept >= piece.from && kept < piece.to ? kept : -1}
              />
            ))}
          </div>
        ))}
      </div>
    );
  });

  /** Bring a position into sight. */
  function show(position: number): void {
    const column = positions.peek().indexOf(position);
    if (box === null || column < 0) return;
    const left = column * cell.peek();
    scrollAcross(box, left, left + LABEL + cell.peek());
    scrolled.value = box.scrollLeft;
  }

  /** Which columns there are, of those of a long text. */
  function part(): string | null {
    const shown = drawn.peek();
    const [all, first, last] = [positions.peek(), shown[0] ?? 0, shown.at(-1) ?? 0];
    return shown.length === all.length
      ? null
      : `Tokens ${itemAt(all, first)} to ${itemAt(all, last)} of ${all.length}.`;
  }

  return { Grid, drawn, pointed, at, show, part, area: () => box };
}
