/** Sizes of the matrix of sentences, and which of its lines are in sight: numbers alone. */

/** Widths of the texts, of a cell, and of the share that lands in no sentence (px). */
const LABEL = {
  least: 140,
  tight: 96,
  share: 0.44,
  named: 0.3,
  most: 560,
  scrolled: 0.34,
} as const;
/** `roomy` shows a number at its own size, `printed` a smaller one. */
const CELL = { least: 24, most: 76, roomy: 50, printed: 42 } as const;
const OUTSIDE = 72;
const SUM = 44;
/** Rows up to this many have room for two lines of text at their own size. */
const TALL_ROWS = 10;
/** Width of the scroll bar (px). */
const SPARE = 12;
/** Heights of the first row, of a row of two lines of text, and of the others (px). */
export const HEIGHT = { head: 28, tall: 44, low: 32 } as const;

interface GridLayout {
  /** Width of the texts and of a cell (px). */
  readonly label: number;
  readonly cell: number;
  /** Cells hold a number, and (not tight) a number at its own size. */
  readonly printed: boolean;
  readonly tight: boolean;
  /** A text may take two lines. */
  readonly tall: boolean;
  /** The column with the sum of each row is shown. */
  readonly sum: boolean;
}

/**
 * Choose the size of a cell for `size` sentences in `available` px: numbers where they fit, else small cells, and
 * scrolling at last. `mass`: a column next to the cells holds the weight outside all sentences. `named`: columns have names,
 * which need more width than the texts.
 */
export function layoutGrid(
  size: number,
  available: number,
  mass: boolean,
  named = false,
): GridLayout {
  const width = available - SPARE;
  const cellOf = (label: number, beside: number): number => (width - label - beside) / size;
  const whole = mass ? OUTSIDE + SUM : 0;
  // Numbers come first: then the texts, then the column that says that they sum to 1.
  const narrow = { wanted: LABEL.least, beside: whole, least: CELL.roomy };
  const tries = [
    {
      wanted: Math.max(LABEL.least, width * (named ? LABEL.named : LABEL.share)),
      beside: whole,
      least: CELL.roomy,
    },
    narrow,
    { wanted: LABEL.least, beside: mass ? OUTSIDE : 0, least: CELL.printed },
  ];
  const fitting = tries.find(({ wanted, beside, least }) => cellOf(wanted, beside) >= least);
  // Small cells: without that column before there is anything to scroll, and with narrow texts.
  const small = [
    narrow,
    { wanted: LABEL.least, beside: mass ? OUTSIDE : 0 },
    { wanted: LABEL.tight, beside: mass ? OUTSIDE : 0 },
  ];
  const fits = fitting ?? small.find(({ wanted, beside }) => cellOf(wanted, beside) >= CELL.least);
  const { wanted, beside } = fits ?? narrow;
  const cell = Math.floor(Math.max(CELL.least, Math.min(CELL.most, cellOf(wanted, beside))));
  const scrolls = fits === undefined;
  const label = scrolls
    ? Math.max(LABEL.least, width * LABEL.scrolled)
    : // The texts get the width that the cells leave.
      Math.max(Math.min(LABEL.least, wanted), Math.min(LABEL.most, width - beside - cell * size));
  return {
    label: Math.floor(label),
    cell,
    printed: fitting !== undefined,
    tight: cell < CELL.roomy,
    tall: fitting !== undefined || size <= TALL_ROWS,
    sum: beside > OUTSIDE,
  };
}

/** Cells come and go this many lines at a time, and as many stay on both sides of those in sight. */
const STEP = 8;

/** Lines `[from, to)` of `size` px near what is in sight; all of them before anything has been laid out. */
export function linesInSight(
  scrolled: number,
  room: number,
  size: number,
  count: number,
): readonly [from: number, to: number] {
  if (room <= 0 || size === 0) return [0, count];
  // The distance is negative in text from right to left.
  const first = Math.abs(scrolled) / size;
  const from = STEP * (Math.floor(first / STEP) - 1);
  const to = STEP * (Math.ceil((first + Math.max(1, room / size)) / STEP) + 1);
  return [Math.max(0, Math.min(from, count)), Math.min(count, to)];
}
