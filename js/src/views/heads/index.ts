/** All heads: their metrics, specializations and roles. */

import type { ViewDefinition } from "../contract";
import { heads as draw } from "./view";

export const heads = {
  name: "heads",
  label: "Heads",
  definition: "Six metrics of each head's attention matrix and seven shares of what it attends to.",
  options: ["metric"],
  head: "marked",
  available: () => true,
  draw,
} as const satisfies ViewDefinition;
