/** Phrases that queries have in common, in the find box and in filters of heads: a head, a layer, a comparison. */

/** `L3 H5`, `L3 · H5`, `3.5`; null for any other text. */
export function headIn(text: string): { readonly layer: number; readonly head: number } | null {
  const [, layer, head] =
    /^(?:l\s*)?(\d+)\s*[.,·\s]\s*(?:h\s*)?(\d+)$/i.exec(text) ??
    /^l\s*(\d+)\s*h\s*(\d+)$/i.exec(text) ??
    [];
  return layer === undefined ? null : { layer: Number(layer), head: Number(head) };
}

const OPERATORS = {
  "<": (a: number, b: number) => a < b,
  ">": (a: number, b: number) => a > b,
  "<=": (a: number, b: number) => a <= b,
  ">=": (a: number, b: number) => a >= b,
  "=": (a: number, b: number) => a === b,
} as const;

interface Comparison {
  readonly name: string;
  readonly operator: keyof typeof OPERATORS;
  readonly limit: number;
  readonly holds: (value: number) => boolean;
}

/** `weight > 0.3`, `conf. avg <= 1e-3`; null for any other text. A number that is none is NaN. */
export function comparisonIn(text: string): Comparison | null {
  const [, name = "", sign = "", number = ""] =
    /^([a-z_. ]+?)\s*(<=|>=|≤|≥|<|>|=)\s*(.*)$/i.exec(text) ?? [];
  if (name === "") return null;
  const operator = sign.replace("≤", "<=").replace("≥", ">=") as keyof typeof OPERATORS;
  const limit = number === "" ? Number.NaN : Number(number.replace(",", "."));
  return { name, operator, limit, holds: (value) => OPERATORS[operator](value, limit) };
}
