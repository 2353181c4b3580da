/** Written by `make catalog` from the declarations in attn_widget. Do not edit. */

import { VIEWS } from "../catalog/selection";
import { attention } from "./attention";
import { ofOneRun, type ViewDefinition } from "./contract";
import { heads } from "./heads";
import { inside } from "./inside";
import { predictions } from "./predictions";
import { similarity } from "./similarity";
import { task } from "./task";
import { why } from "./why";

const tree = { ...VIEWS.tree, available: ofOneRun } as const satisfies ViewDefinition;
const sentences = { ...VIEWS.sentences, available: ofOneRun } as const satisfies ViewDefinition;

export const ALL = [attention, heads, tree, sentences, predictions, inside, task, why, similarity] as const;
