/** A table with its caption as JSON, one row a line. */

import type { Table } from "../../figures/table";
import type { Caption } from "./caption";
import { numberText } from "./csv";

/** Values that JSON can hold; numbers as in CSV, N/A is null. */
type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

function written(value: Json): string {
  if (typeof value === "number") return numberText(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(written).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).filter(([, item]) => item !== undefined);
    return `{${entries.map(([key, item]) => `${JSON.stringify(key)}: ${written(item)}`).join(", ")}}`;
  }
  return JSON.stringify(value);
}

/** `{caption fields ..., "columns": [...], "rows": [[...], ...]}`. */
export function toJson(caption: Caption, { columns, rows }: Table): string {
  // Ids are for programs; the words of a target are for the lines of a picture.
  const { explained: _words, ...options } = caption.options ?? {};
  const fields = Object.entries({
    ...caption,
    ...(caption.options && { options }),
    columns,
  } as unknown as Record<string, Json>);
  const head = fields.map(([key, value]) => `${JSON.stringify(key)}: ${written(value)}`);
  const body = rows.map((row) => written(row)).join(",\n");
  return `{${head.join(",\n")},\n"rows": [${body === "" ? "" : `\n${body}\n`}]}\n`;
}
