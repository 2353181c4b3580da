/** The classifier: classes with their softmax, the first token, answers. */

import type { Meta } from "../../protocol/types";
import { ofOneRun, type ViewDefinition } from "../contract";

export const task = {
  name: "task",
  label: "Task",
  definition: "softmax(W h + b) over the classes, and the first token's attention.",
  options: [],
  head: null,
  available: (meta: Meta) => ofOneRun(meta) && meta.model.has.classifier,
  draw: null,
} as const satisfies ViewDefinition;
