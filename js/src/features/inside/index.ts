/** The model as a map of stages, and the tensors of one stage. */

import { VIEWS } from "../../catalog/selection";
import type { Meta } from "../../protocol/types";
import { ofOneRun, type ViewDefinition } from "../../views/contract";
import type { Feature } from "../../views/feature";

const view = {
  ...VIEWS.inside,
  // A decoder's layer has a third half, attention to the source, for which the map has no place.
  available: (meta: Meta) =>
    ofOneRun(meta) && meta.model.family !== null && (!meta.part || meta.part === "encoder"),
} as const satisfies ViewDefinition;

export const inside: Feature = { views: [view] };
