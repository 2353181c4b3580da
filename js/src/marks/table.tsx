/** Tables of figures: a column says what a cell is, and rows are drawn again only when theirs change. */
import type { ComponentChildren } from "preact";
import { ABSENT, exact, formatNumber } from "../figures/format";
import { memo } from "../ui/memo";

interface Figure {
  /** NaN = N/A. */
  readonly value: number;
  readonly text?: string;
  readonly title?: string;
  readonly small?: ComponentChildren;
  readonly style?: Readonly<Record<string, string>>;
  readonly class?: string;
}
export interface Column<Row> {
  readonly key: string;
  readonly label: string;
  readonly title?: string;
  readonly class?: string | undefined;
  /** Null for an empty cell. */
  readonly cell: (row: Row) => Figure | null;
}

/** A cell of a column: its text, and all digits behind it. */
const Cell = <Row,>({ of, row, by }: { of: Column<Row>; row: Row; by: string }) => {
  const figure = of.cell(row);
  if (figure === null) return <td />;
  const { value, text = formatNumber(value), title = exact(value), small, style } = figure;
  const named = { [`data-${by}`]: of.key, "data-aw-value": exact(value) };
  return (
    <td class={figure.class ?? of.class} title={title} style={style} {...named}>
      {text}
      {small && <small>{small}</small>}
    </td>
  );
};

interface RowProps<Row> {
  readonly row: Row;
  readonly columns: readonly Column<Row>[];
  readonly head: ComponentChildren;
  /** Data attribute of cells that holds the key of their column. */
  readonly by?: string;
  readonly class?: string | undefined;
  readonly attributes?: Readonly<Record<string, string | number | undefined>>;
  /** Why the row has no figures. */
  readonly absent?: string | null;
  readonly absentClass?: string;
}
export function FigureRow<Row>({ row, columns, head, by = "metric", ...props }: RowProps<Row>) {
  const [first] = columns;
  return (
    <tr class={props.class} {...props.attributes}>
      <th scope="row">{head}</th>
      {props.absent == null
        ? columns.map((column) => <Cell key={column.key} of={column} row={row} by={by} />)
        : [
            <td key="absent" {...{ [`data-${by}`]: first?.key }}>
              {ABSENT}
            </td>,
            <td key="why" class={props.absentClass} colSpan={columns.length - 1}>
              {props.absent}
            </td>,
          ]}
    </tr>
  );
}
/** A row that is drawn again only when one of its properties changes. */
export const KeptRow = memo(FigureRow) as typeof FigureRow;

/** `0.12 – 0.34`. */
export const ends = ([from, to]: readonly [number, number]): ComponentChildren => (
  <>
    <span>{formatNumber(from, 2)}</span> – <span>{formatNumber(to, 2)}</span>
  </>
);
