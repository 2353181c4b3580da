/** A single token as a unit. */

import { itemAt } from "../../protocol/required";
import type { TokenColumns } from "../../protocol/types";
import type { Unit } from "./units";

export const unitOf = (tokens: TokenColumns, token: number): Unit => ({
  token,
  end: token + 1,
  text: itemAt(tokens.text, token),
  surface: itemAt(tokens.surface, token),
  segment: itemAt(tokens.segment, token),
  special: itemAt(tokens.special, token),
});
