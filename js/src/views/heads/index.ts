/** All heads: their metrics, specializations and roles. */

import { VIEWS } from "../../catalog/selection";
import type { ViewDefinition } from "../contract";

export const heads = {
  ...VIEWS.heads,
  available: ({ similarity }) => !similarity,
} as const satisfies ViewDefinition;
