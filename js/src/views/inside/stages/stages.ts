/** Content of each stage. */

import type { StageId } from "../../../figures/derive/stages";
import type { Content, Place } from "../content";
import { activation } from "./activation";
import { qkv, scores } from "./attention";
import { embeddings } from "./embeddings";
import { classifier, mlm } from "./head";
import { headOutput } from "./head-output";
import { hidden } from "./hidden";
import { sublayer } from "./sublayer";

export const CONTENTS: Readonly<Record<StageId, (place: Place) => Promise<Content>>> = {
  token: embeddings,
  position: embeddings,
  segment: embeddings,
  sum: embeddings,
  norm: embeddings,
  output: embeddings,
  qkv,
  scores,
  weights: scores,
  head_output: headOutput,
  attention_output: (place) => sublayer(place, "attention"),
  attention_sum: (place) => sublayer(place, "attention"),
  attention_norm: (place) => sublayer(place, "attention"),
  ffn_activation: activation,
  ffn_output: (place) => sublayer(place, "ffn"),
  ffn_sum: (place) => sublayer(place, "ffn"),
  ffn_norm: (place) => sublayer(place, "ffn"),
  hidden,
  mlm,
  classifier,
};
