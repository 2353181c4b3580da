/** Written by `make catalog` from the declarations in attn_widget. Do not edit. */

import { attention } from "./attention";
import type { ViewDefinition } from "./contract";
import { heads } from "./heads";
import { predictions } from "./predictions";

export const CORE: readonly ViewDefinition[] = [attention, heads, predictions];
