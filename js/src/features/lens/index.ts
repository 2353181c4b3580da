/** The logit lens: what the language-model head reads in each layer's hidden state, at every position. */

import { VIEWS } from "../../catalog/selection";
import type { Meta } from "../../protocol/types";
import { ofOneRun, type ViewDefinition } from "../../views/contract";
import type { Feature } from "../../views/feature";

const view = {
  ...VIEWS.lens,
  written: true,
  // Predictions says why a model has no head. On cross-attention the decoder answers, where one with a head has written.
  available: (meta: Meta) =>
    ofOneRun(meta) && (meta.model.has.mlm || (meta.part === "cross" && meta.next_token != null)),
} as const satisfies ViewDefinition;

export const lens: Feature = { views: [view] };
