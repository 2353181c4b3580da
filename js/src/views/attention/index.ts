/** The attention matrix of the selected head: heatmap, flow, links. */

import { ofOneRun, type ViewDefinition } from "../contract";
import { attention as draw } from "./view";

export const attention = {
  name: "attention",
  label: "Attention",
  definition: "Attention weights: softmax(QKᵀ / √d_k) by row; rows are queries, columns keys.",
  options: ["quantity", "words", "special", "scale", "token", "pair", "group"],
  head: "shown",
  scores: true,
  long: true,
  available: ofOneRun,
  draw,
} as const satisfies ViewDefinition;
