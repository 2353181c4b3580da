/** Tokens that contribute: those of the text, or of an encoder-decoder's source and of the text that is written from it. */

import { type Unit, unitsOf } from "../../figures/derive/units";
import type { Meta, TokenColumns } from "../../protocol/types";

/** Source tokens come first; those of the text follow. */
export interface Explained {
  readonly tokens: TokenColumns;
  /** Count of source tokens; 0 for one text. */
  readonly sources: number;
  /** Units of both, from those of the text. */
  units(written: readonly Unit[], special: boolean): readonly Unit[];
  /** Place of a token in its own text, and whether it is the source's. */
  placeOf(token: number): { readonly token: number; readonly ofSource: boolean };
}

export function explainedOf({ tokens, keys, source_tokens, part }: Meta): Explained {
  const source = part === "encoder" ? null : (keys ?? source_tokens ?? null);
  if (source === null)
    return {
      tokens,
      sources: 0,
      units: (written) => written,
      placeOf: (token) => ({ token, ofSource: false }),
    };
  const sources = source.text.length;
  return {
    tokens: joined(source, tokens),
    sources,
    units: (written, special) => [
      ...unitsOf(source, { special }),
      ...written.map((unit) => ({
        ...unit,
        token: unit.token + sources,
        end: unit.end + sources,
      })),
    ],
    placeOf: (token) =>
      token < sources ? { token, ofSource: true } : { token: token - sources, ofSource: false },
  };
}

function joined(source: TokenColumns, written: TokenColumns): TokenColumns {
  const columns = Object.keys(written) as (keyof TokenColumns)[];
  return Object.fromEntries(
    columns.map((name) => [name, [...(source[name] ?? []), ...(written[name] ?? [])]]),
  ) as unknown as TokenColumns;
}
