/** Attention between sentences, and the tokens of one pair. */

import { ofOneRun, type ViewDefinition } from "../contract";

export const sentences = {
  name: "sentences",
  label: "Sentences",
  definition: "Attention between sentences: mean share (mass) or largest weight (max).",
  options: ["quantity"],
  head: null,
  available: ofOneRun,
  draw: null,
} as const satisfies ViewDefinition;
