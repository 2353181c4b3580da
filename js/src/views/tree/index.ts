/** The influence tree of the focus token. */

import { ofOneRun, type ViewDefinition } from "../contract";

export const tree = {
  name: "tree",
  label: "Tree",
  definition: "The keys to which each token attends most, starting from the root.",
  options: ["quantity", "token", "top_k", "depth", "words", "special"],
  head: "shown",
  available: ofOneRun,
  long: true,
  draw: null,
} as const satisfies ViewDefinition;
