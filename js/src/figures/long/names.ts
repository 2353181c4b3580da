/** Labels of single tokens of a long text, made when they are asked for. */

import type { TokenColumns } from "../../protocol/types";
import { schemeOf, unitLabel } from "../names";
import { unitOf } from "./pair";

export function unitLabelOf(tokens: TokenColumns): (token: number) => string {
  const scheme = schemeOf(tokens);
  const known = new Map<number, string>();
  return (token) => {
    const label = known.get(token) ?? unitLabel(unitOf(tokens, token), scheme);
    known.set(token, label);
    return label;
  };
}
