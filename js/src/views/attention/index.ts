/** The attention matrix of the selected head: heatmap, flow, links. */

import { VIEWS } from "../../catalog/selection";
import { ofOneRun, type ViewDefinition } from "../contract";
import { attention as draw } from "./view";

export const attention = {
  ...VIEWS.attention,
  available: ofOneRun,
  draw,
} as const satisfies ViewDefinition;
