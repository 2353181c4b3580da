/** Labels of single tokens of a long text, made when they are asked for. */

import type { TokenColumns } from "../../protocol/types";
import { schemeOf, tokenName } from "../names";

export function unitLabelOf(tokens: TokenColumns): (token: number) => string {
  const scheme = schemeOf(tokens);
  const cache = new Map<number, string>();
  return (token) => {
    const label = cache.get(token) ?? tokenName(tokens, token, scheme);
    cache.set(token, label);
    return label;
  };
}
