/** All heads: their metrics, specializations and roles. */

import { VIEWS } from "../../catalog/selection";
import type { ViewDefinition } from "../contract";
import { heads as draw } from "./view";

export const heads = {
  ...VIEWS.heads,
  available: ({ similarity }) => !similarity,
  draw,
} as const satisfies ViewDefinition;
