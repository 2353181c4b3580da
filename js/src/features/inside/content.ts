/** Content of the panel for an open stage: strips of one token's row, their arithmetic, and what stands below. */

import type { ReadonlySignal } from "@preact/signals-core";
import type { ComponentChild } from "preact";
import type { Mode } from "../../draw/color/ramp";
import { roundToError } from "../../figures/format";
import type { Table } from "../../figures/table";
import { explain, isAbort } from "../../protocol/failure";
import type { ViewContext } from "../../views/contract";
import type { Architecture, StageBox } from "./architecture";
import { type Asked, type Changes, type Row, tensorRow } from "./data";

/** One strip: all dimensions of a tensor's row. */
export interface Strip extends Asked {
  readonly tensor: string;
  readonly label: string;
  readonly values: Float32Array | null;
  readonly missing: string | null;
  /** Remedy. */
  readonly hint?: string;
  /** `values` has every dimension. */
  readonly whole: boolean;
  readonly ramp: "signed" | "weight";
  /** Bound of a value's error; absent for the kernel's numbers. */
  readonly error?: (value: number, index: number) => number;
  /** Strips of a group share a scale. */
  readonly group: string;
}

export type Sized = Strip & { readonly size: number };

/** A term of the arithmetic at the cursor; `sign` stands before it. */
export interface Term {
  readonly sign: "" | "+" | "=" | "→" | "÷";
  readonly label: string;
  /** Null where there is none. */
  readonly value: number | null;
  /** Bound of its error. */
  readonly error?: number;
}

export interface Content {
  readonly strips: readonly Strip[];
  /** Meaning of an index: a dimension, a unit of the FFN, a key. */
  readonly unit: "dimension" | "unit" | "key";
  /** Indices of the whole, and how many of them are at hand (fewer in a saved page). */
  readonly size: number;
  readonly have: number;
  /** The window at first. */
  readonly first: number;
  name(index: number): string;
  terms(index: number): readonly Term[];
  /** Below the strips; `atCursor` is drawn again with the cursor. */
  readonly below: ComponentChild;
  atCursor?(index: number): ComponentChild;
  /** Rows that are not strips. */
  readonly table?: Table["rows"];
}

/** Error bounds of all values; none for the kernel's numbers. */
export const errorsOf = ({ values, error }: Strip): number[] =>
  values === null || error === undefined ? [] : Array.from(values, error);

/** An open stage: whose numbers it shows, and how to get them. */
export interface StageContext {
  readonly view: ViewContext;
  readonly box: StageBox;
  readonly arch: Architecture;
  readonly layer: number;
  /** Null for the mean head, which has no queries of its own. */
  readonly head: number | null;
  readonly token: number;
  /** The token as the page calls it. */
  readonly name: string;
  readonly mode: ReadonlySignal<Mode>;
  readonly signal: AbortSignal;
  changes(): Promise<Changes>;
  /** Move the cursor, and the window with it. */
  goTo(index: number): void;
}

export const COLUMNS = [
  "tensor",
  "layer",
  "head",
  "position",
  "token",
  "dimension",
  "value",
] as const;

/** A tensor's row as a strip; what the model lacks is a strip with its reason. */
export async function strip(
  stage: StageContext,
  tensor: string,
  label: string,
  group: string,
  asked: Asked = {},
): Promise<Sized> {
  const { view, arch, token, signal } = stage;
  let missing = arch.missing[tensor] ?? null;
  let hint = "";
  let row: Row | null = null;
  if (missing === null) {
    try {
      row = await tensorRow(view.source, tensor, asked, token, signal);
    } catch (error) {
      // A saved page has some tensors; the others stand there with the reason.
      if (view.source.live || isAbort(error)) throw error;
      ({ message: missing, hint } = explain(error));
    }
  }
  return {
    tensor,
    label,
    group,
    values: row?.values ?? null,
    missing,
    hint,
    whole: row !== null && row.values.length === row.size,
    ramp: "signed",
    size: row?.size ?? 0,
    ...asked,
  };
}

/** Strips of one width with `dimension` as their index. */
export function ofDimensions(
  strips: readonly Sized[],
  first: number,
  terms: Content["terms"],
  rest: Partial<Content> = {},
): Content {
  const there = strips.flatMap(({ values, size }) => (values === null ? [] : [{ values, size }]));
  return {
    strips,
    unit: "dimension",
    size: Math.max(1, ...there.map(({ size }) => size)),
    have: Math.max(1, ...there.map(({ values }) => values.length)),
    first,
    name: String,
    terms,
    below: null,
    ...rest,
  };
}

/** The value of a strip at an index; null where there is none. */
export const at = (strip: Strip | undefined, index: number): number | null =>
  strip?.values?.[index] ?? null;

/** The open stage's numbers of the focus token, all of them. */
export function tableOf(content: Content, position: number, token: string): Table {
  const rows = content.strips.flatMap(({ tensor, layer, head, values, error }) =>
    values === null
      ? []
      : Array.from(values, (value, dimension) => [
          tensor,
          layer ?? null,
          head ?? null,
          position,
          token,
          dimension,
          Number.isFinite(value)
            ? roundToError({ value, error: error?.(value, dimension) ?? 0 })
            : null,
        ]),
  );
  return { columns: COLUMNS, rows: [...rows, ...(content.table ?? [])] };
}
