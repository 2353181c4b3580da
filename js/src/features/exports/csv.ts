/**
 * A table as CSV (RFC 4180), and one rule for the text of a number:
 * - UTF-8 without a byte order mark, rows end with CR LF, the first row is the header;
 * - a number has the shortest digits that read back as the same double; a float32 is widened to a double first, so
 *   nothing is lost; N/A (null, NaN, infinities) is an empty field;
 * - a text is quoted where RFC 4180 wants it, and when it is empty, so that it is not taken for N/A;
 * - a text that a spreadsheet would take for a formula (it begins with = + - @, tab or carriage return) gets
 *   a single quote in front (OWASP, "CSV Injection").
 */

import type { Table } from "../../figures/table";

const END = "\r\n";
const FORMULA = /^[=+\-@\t\r]/;
const QUOTED = /[",\r\n]/;

type Cell = string | number | null;

/** A number with all its digits; null when it is N/A. */
export function numberText(value: number): string | null {
  return Number.isFinite(value) ? String(value) : null;
}

function field(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return numberText(cell) ?? "";
  const text = FORMULA.test(cell) ? `'${cell}` : cell;
  return text === "" || QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function toCsv({ columns, rows }: Table): string {
  return [columns, ...rows].map((row) => row.map(field).join(",") + END).join("");
}
