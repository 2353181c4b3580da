/** Content of each stage. */

import type { StageId } from "../architecture";
import type { Content, StageContext } from "../content";
import { headOutput, qkv, scores } from "./attention";
import { embeddings } from "./embeddings";
import { hidden } from "./hidden";
import { classifier, mlm } from "./output";
import { activation, sublayer } from "./sublayer";

export const CONTENTS: Readonly<Record<StageId, (stage: StageContext) => Promise<Content>>> = {
  ...{ token: embeddings, position: embeddings, segment: embeddings },
  ...{ sum: embeddings, norm: embeddings, output: embeddings },
  ...{ qkv, scores, weights: scores, head_output: headOutput },
  attention_output: sublayer("attention"),
  attention_sum: sublayer("attention"),
  attention_norm: sublayer("attention"),
  ffn_activation: activation,
  ffn_output: sublayer("ffn"),
  ffn_sum: sublayer("ffn"),
  ffn_norm: sublayer("ffn"),
  ...{ hidden, mlm, classifier },
};
