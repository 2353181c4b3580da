/** The classifier: classes with their softmax, the first token, answers. */

import { VIEWS } from "../../catalog/selection";
import type { Meta } from "../../protocol/types";
import { ofOneRun, type ViewDefinition } from "../../views/contract";
import type { Feature } from "../../views/feature";

const view = {
  ...VIEWS.task,
  available: (meta: Meta) => ofOneRun(meta) && meta.model.has.classifier,
} as const satisfies ViewDefinition;

export const tasks: Feature = { views: [view] };
