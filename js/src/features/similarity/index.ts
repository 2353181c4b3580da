/** Why two texts are similar: their words, the pairs of words that make the score, and its sum; or a ranking. */

import { VIEWS } from "../../catalog/selection";
import type { ViewDefinition } from "../../views/contract";
import type { Feature } from "../../views/feature";

const view = {
  ...VIEWS.similarity,
  available: ({ similarity }) => similarity !== undefined,
} as const satisfies ViewDefinition;

export const similarity: Feature = { uses: ["why"], views: [view] };
