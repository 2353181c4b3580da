/** Attention between the sentences of a text, or between the sections that a feature knows. */

import { VIEWS } from "../../catalog/selection";
import { ofOneRun } from "../../views/contract";
import type { Feature } from "../../views/feature";

export const sentences: Feature = {
  views: [{ ...VIEWS.sentences, available: (meta) => ofOneRun(meta) && !meta.wordless }],
};
