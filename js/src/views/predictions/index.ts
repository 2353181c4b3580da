/** Predictions of the masked-LM head at every position, and the softmax behind each. */

import { VIEWS } from "../../catalog/selection";
import type { Meta } from "../../protocol/types";
import { ofOneRun, type ViewDefinition } from "../contract";

export const predictions = {
  ...VIEWS.predictions,
  written: true,
  // The encoder of an encoder-decoder predicts nothing: its decoder does.
  available: (meta: Meta) => ofOneRun(meta) && meta.part !== "encoder" && !meta.wordless,
} as const satisfies ViewDefinition;
