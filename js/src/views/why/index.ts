/** Contributions to one number that the model gave, and whether the methods that find them agree. */

import type { Meta } from "../../protocol/types";
import { ofOneRun, type ViewDefinition } from "../contract";

export const why = {
  name: "why",
  label: "Why",
  definition: "Contribution of every token to one number in the model's output.",
  options: ["target", "method"],
  head: null,
  available: (meta: Meta) =>
    ofOneRun(meta) && (meta.model.has.mlm || meta.model.has.classifier || meta.model.has.nsp),
  draw: null,
} as const satisfies ViewDefinition;
