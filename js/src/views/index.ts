/** The views by the name that the trait `view` has, in the order of their tabs. */

import type { Meta } from "../protocol/types";
import { attention } from "./attention/view";
import { heads } from "./heads/view";
import { type Draw, laterView } from "./lazy-views";
import { predictions } from "./predictions/view";

export interface Tab {
  readonly label: string;
  /** What the numbers are, for captions. */
  readonly definition: string;
  /** Whether this run has anything to show. */
  available(meta: Meta): boolean;
  /** Null while its code is not here. */
  view(): Draw | null;
}

const ofOneRun = (meta: Meta): boolean => meta.profile === null;
const ofAModel = (meta: Meta): boolean => ofOneRun(meta) && meta.model.family !== null;

export const VIEWS: Readonly<Record<string, Tab>> = {
  attention: {
    label: "Attention",
    definition: "Attention weights: softmax(QKᵀ / √d_k) by row; rows are queries, columns keys.",
    available: ofOneRun,
    view: () => attention,
  },
  heads: {
    label: "Heads",
    definition:
      "Six metrics of each head's attention matrix and seven shares of what it attends to.",
    available: () => true,
    view: () => heads,
  },
  tree: {
    label: "Tree",
    definition: "The keys with the largest weights of each token, from the root on.",
    available: ofOneRun,
    view: () => laterView("tree"),
  },
  sentences: {
    label: "Sentences",
    definition: "Attention between sentences: mean share (mass) or largest weight (max).",
    available: ofOneRun,
    view: () => laterView("sentences"),
  },
  predictions: {
    label: "Predictions",
    definition: "softmax of the masked-LM head's logits over the whole vocabulary.",
    available: ofOneRun,
    view: () => predictions,
  },
  inside: {
    label: "Inside",
    definition: "The model's own tensors at one stage of the pipeline.",
    available: ofAModel,
    view: () => laterView("inside"),
  },
  task: {
    label: "Task",
    definition: "softmax(W h + b) over the classes, and the first token's attention.",
    available: (meta) => ofOneRun(meta) && meta.model.has.classifier,
    view: () => laterView("task"),
  },
};
