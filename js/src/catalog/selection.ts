/** Written by `make catalog` from the declarations in attn_widget. Do not edit. */

export const VIEWS = {
attention: {"name":"attention","label":"Attention","definition":"Attention weights: softmax(QKᵀ / √d_k) by row; rows are queries, columns keys.","options":["quantity","words","special","scale","token","pair","group"],"head":"shown","scores":true,"long":true},
heads: {"name":"heads","label":"Heads","definition":"Six metrics of each head's attention matrix and seven shares of what it attends to.","options":["metric"],"head":"marked","draw":null},
tree: {"name":"tree","label":"Tree","definition":"The keys to which each token attends most, starting from the root.","options":["quantity","token","top_k","depth","words","special"],"head":"shown","long":true,"draw":null},
sentences: {"name":"sentences","label":"Sentences","definition":"Attention between sentences: mean share (mass) or largest weight (max).","options":["quantity"],"head":null,"draw":null},
predictions: {"name":"predictions","label":"Predictions","definition":"softmax of the masked-LM head's logits over the whole vocabulary.","options":["special"],"head":null,"draw":null},
inside: {"name":"inside","label":"Inside","definition":"The model's own tensors at one stage of the pipeline.","options":["token"],"head":null,"draw":null},
lens: {"name":"lens","label":"Lens","definition":"Likeliest token of each layer's hidden state at every position, read by the language-model head.","options":["special"],"head":null,"draw":null},
task: {"name":"task","label":"Task","definition":"softmax(W h + b) over the classes, and the first token's attention.","options":[],"head":null,"draw":null},
why: {"name":"why","label":"Why","definition":"Contribution of every token to one number in the model's output.","options":["target","method"],"head":null,"draw":null},
similarity: {"name":"similarity","label":"Similarity","definition":"Contribution of every pair of words to the score of two texts; with the biases they add up to the score.","options":["words"],"head":null,"draw":null},
} as const;
export const MIXINGS = ["norms","mixing","alti","value_zeroing"] as const;
export const QUANTITIES = ["weights","scores","rollout","norms","mixing","alti","value_zeroing","norms_rollout","mixing_rollout","alti_rollout","value_zeroing_rollout"] as const;
export const OF_A_HEAD = ["weights","scores","norms"] as const;
export const SCALES = ["words","head","unit","sqrt"] as const;
export const THEMES = ["auto","light","dark"] as const;
export type Mixing = (typeof MIXINGS)[number];
export type Quantity = (typeof QUANTITIES)[number];
export type Scale = (typeof SCALES)[number];
export type Theme = (typeof THEMES)[number];
export const MIXING_LABELS: Readonly<Record<Mixing, string>> = {
norms: "norms",
mixing: "mixing",
alti: "ALTI",
value_zeroing: "value zeroing",
};
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
export const DEFAULTS = {
target: null,
method: "decomposition",
layer: 0,
head: 0,
token: null,
pair: null,
metric: "thumbnails",
view: "attention",
quantity: "weights",
group: [],
top_k: 3,
depth: 3,
special: true,
words: false,
scale: "words",
theme: "auto",
height: null,
chrome: true,
} as const;
