/** Written by `make catalog` from the declarations in attn_widget. Do not edit. */

import type { Quantity } from "./selection";

export const DEFINITIONS: Readonly<Record<Exclude<Quantity, "weights">, string>> = {
scores: "Shown: scaled scores QKᵀ / √d_k, before the softmax.",
rollout: "Attention rollout (Abnar & Zuidema 2020): the layers up to this one multiplied, each half its mean head, half the identity.",
norms: "Norms (Kobayashi et al. 2020): ‖A v W_O‖, the length of the vector that a head brings from each token; for the mean head, that of the sum of all heads.",
mixing: "Mixing (Kobayashi et al. 2021): the length of each token's part of the layer's output, residual and LayerNorm included.",
alti: "ALTI (Ferrando et al. 2022): how close each token's part comes to the layer's output; rows sum to 1.",
value_zeroing: "Value zeroing (Mohebbi et al. 2023): how far the layer's output turns when a token's values are zero; rows sum to 1.",
norms_rollout: "The layers up to this one multiplied, rows scaled to 1. Norms (Kobayashi et al. 2020): ‖A v W_O‖, the length of the vector that a head brings from each token; for the mean head, that of the sum of all heads.",
mixing_rollout: "The layers up to this one multiplied, rows scaled to 1. Mixing (Kobayashi et al. 2021): the length of each token's part of the layer's output, residual and LayerNorm included.",
alti_rollout: "The layers up to this one multiplied, rows scaled to 1. ALTI (Ferrando et al. 2022): how close each token's part comes to the layer's output; rows sum to 1.",
value_zeroing_rollout: "The layers up to this one multiplied, rows scaled to 1. Value zeroing (Mohebbi et al. 2023): how far the layer's output turns when a token's values are zero; rows sum to 1.",
};
export interface Method {
  readonly key: string;
  readonly name: string;
  /** In a sentence and in tables. */
  readonly short: string;
  /** Short description, in a line. */
  readonly about: string;
  /** It takes one or two passes of the model, whatever the text's length. */
  readonly quick: boolean;
}
export const METHODS: readonly Method[] = [
{"key":"decomposition","name":"Decomposition","short":"decomposition","about":"The network, linearized at this run; adds up to the target with a bias (after Modarressi et al. 2023)","quick":true},
{"key":"gradient_x_input","name":"Gradient × input","short":"gradient × input","about":"Slope of the target times the embedding","quick":true},
{"key":"integrated_gradients","name":"Integrated gradients","short":"integrated gradients","about":"Along the path from the masked text (Sundararajan et al. 2017)","quick":false},
{"key":"occlusion","name":"Occlusion","short":"occlusion","about":"Decrease of the target when a word is masked","quick":false},
{"key":"attention_gradient","name":"Attention × gradient","short":"attention × gradient","about":"Positive part, rolled through the layers (Chefer et al. 2021)","quick":true},
{"key":"weights","name":"Rollout of weights","short":"weights","about":"Attention weights alone (Abnar & Zuidema 2020)","quick":true},
{"key":"norms","name":"Rollout of norms","short":"norms","about":"Weights times transformed values (Kobayashi et al. 2020)","quick":true},
{"key":"mixing","name":"Rollout of mixing","short":"mixing","about":"With residual and LayerNorm (Kobayashi et al. 2021)","quick":true},
{"key":"alti","name":"Rollout of ALTI","short":"ALTI","about":"How close each part is to the sum (Ferrando et al. 2022)","quick":true},
{"key":"value_zeroing","name":"Rollout of value zeroing","short":"value zeroing","about":"Each layer rerun without one token's values (Mohebbi et al. 2023)","quick":false},
];
