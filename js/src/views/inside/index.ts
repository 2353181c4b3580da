/** The model as a map of stages, and the tensors of one stage. */

import type { Meta } from "../../protocol/types";
import { ofOneRun, type ViewDefinition } from "../contract";

export const inside = {
  name: "inside",
  label: "Inside",
  definition: "The model's own tensors at one stage of the pipeline.",
  options: ["token"],
  head: null,
  available: (meta: Meta) => ofOneRun(meta) && meta.model.family !== null,
  draw: null,
} as const satisfies ViewDefinition;
