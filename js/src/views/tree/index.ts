/** The influence tree of the focus token. */

import { ofOneRun, type ViewDefinition } from "../contract";

export const tree = {
  name: "tree",
  label: "Tree",
  definition: "The keys with the largest weights of each token, from the root on.",
  options: ["quantity", "token", "top_k", "depth", "words", "special"],
  head: "shown",
  available: ofOneRun,
  long: true,
  draw: null,
} as const satisfies ViewDefinition;
