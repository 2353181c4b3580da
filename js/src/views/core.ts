/** Written by `make catalog` from the declarations in attn_widget. Do not edit. */

import { VIEWS } from "../catalog/selection";
import { attention } from "./attention";
import { ofOneRun, type ViewDefinition } from "./contract";
import { heads } from "./heads";
import { predictions } from "./predictions";

const tree = { ...VIEWS.tree, available: ofOneRun } as const satisfies ViewDefinition;
const sentences = { ...VIEWS.sentences, available: ofOneRun } as const satisfies ViewDefinition;

export const CORE: readonly ViewDefinition[] = [attention, heads, tree, sentences, predictions];
