/** Predictions of the masked-LM head at every position. */

import { ofOneRun, type ViewDefinition } from "../contract";
import { predictions as draw } from "./view";

export const predictions = {
  name: "predictions",
  label: "Predictions",
  definition: "softmax of the masked-LM head's logits over the whole vocabulary.",
  options: ["special"],
  head: null,
  available: ofOneRun,
  draw,
} as const satisfies ViewDefinition;
