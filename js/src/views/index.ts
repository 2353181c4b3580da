/** The views by the name that the trait `view` has, in the order of their tabs. */

import type { Stage } from "../matrix";
import type { Meta } from "../types";
import { attention } from "./attention";
import { heads } from "./heads";
import { predictions } from "./predictions";

export interface Tab {
  readonly label: string;
  /** Whether this run has anything to show. */
  available(meta: Meta): boolean;
  readonly view: (element: HTMLElement, stage: Stage) => () => void;
}

export const VIEWS: Readonly<Record<string, Tab>> = {
  attention: { label: "Attention", available: () => true, view: attention },
  predictions: { label: "Predictions", available: () => true, view: predictions },
  heads: { label: "Heads", available: () => true, view: heads },
};
