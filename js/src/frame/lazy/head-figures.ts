/** Figures that shade the grid of heads, once one is chosen. */

import { type Unit, unitOfToken, unitsOf } from "../../figures/derive/units";
import { askFigures, askRoles } from "../../figures/head-figures";
import { isAligned } from "../../figures/head-names";
import { schemeOf, unitLabel } from "../../figures/names";
import { keysOf, type TokenColumns } from "../../protocol/meta";
import { arrayOf, itemAt } from "../../protocol/required";
import type { Num, SliceOptions, Source } from "../../protocol/types";
import type { Selection } from "../../state/selection";
import { linksAreHere, type Shade } from "../head-grid/shadings";

/** A link in every head: its weights, and `near → a`. */
interface Link {
  readonly figures: ArrayLike<number>;
  readonly name: string;
  readonly num: (value: number) => Num;
}

/** The pinned link in every head, as the selected units see it; null where none is pinned, or the page has not all heads. */
async function askLink(
  source: Source,
  { pair, words }: Selection,
  options?: SliceOptions,
): Promise<Link | null> {
  if (pair === null || !linksAreHere(source)) return null;
  const language = words ? await source.ask({ kind: "language" }, options) : null;
  const unit = (tokens: TokenColumns, token: number, column: string): Unit => {
    const tokenWord = (language?.data[column] ?? null) as (number | null)[] | null;
    const units = unitsOf(tokens, { special: true, tokenWord });
    return itemAt(units, unitOfToken(units, token));
  };
  const { tokens } = source.meta;
  const others = keysOf(source.meta);
  const query = unit(tokens, pair[0], "token_word");
  const key = unit(others, pair[1], others === tokens ? "token_word" : "key_word");
  const slice = await source.ask(
    { kind: "pair_weights", rows: [query.token, query.end], cols: [key.token, key.end] },
    options,
  );
  const name = `${unitLabel(query, schemeOf(tokens))} → ${unitLabel(key, schemeOf(others))}`;
  const num = (value: number): Num => ({
    value,
    error: source.precision?.weight(value, key.end - key.token) ?? 0,
  });
  return { figures: arrayOf(slice, "weights").data, name, num };
}

/** The shading that is selected; null where the run has none of that name. */
async function askShade(
  source: Source,
  selection: Selection,
  options?: SliceOptions,
): Promise<Shade | null> {
  const { metric: key, target } = selection;
  if (key === "pair") {
    const link = await askLink(source, selection, options);
    return link && { key, roles: null, ...link };
  }
  if (key === "role" && !isAligned(source.meta))
    return { key, figures: null, roles: await askRoles(source, options) };
  const figures = await askFigures(source, key, target, options);
  return figures && { key, figures, roles: null };
}

export const headFigures = { askShade, askLink };

declare module "../../views/contract" {
  interface LazyCode {
    readonly headFigures: typeof headFigures;
  }
}
