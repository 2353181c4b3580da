/** The logit lens: what the language-model head reads in each layer's hidden state, at every position. */

import { VIEWS } from "../../catalog/selection";
import type { Meta } from "../../protocol/types";
import { ofOneRun, type ViewDefinition } from "../../views/contract";
import type { Feature } from "../../views/feature";

const view = {
  ...VIEWS.lens,
  // Predictions says why a model has no head. That of an encoder-decoder cannot be taken by itself.
  available: (meta: Meta) => ofOneRun(meta) && !meta.part && meta.model.has.mlm,
} as const satisfies ViewDefinition;

export const lens: Feature = { views: [view] };
