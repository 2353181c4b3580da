/** Written by `make catalog` from the declarations in attn_widget. Do not edit. */

import { VIEWS } from "../catalog/selection";
import { attention } from "./attention";
import { ofOneRun, type ViewDefinition } from "./contract";
import { heads } from "./heads";
import { predictions } from "./predictions";

const sentences = { ...VIEWS.sentences, available: ofOneRun } as const satisfies ViewDefinition;

export const CORE: readonly ViewDefinition[] = [attention, heads, sentences, predictions];
