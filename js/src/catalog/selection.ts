/** Written by `make catalog` from the declarations in attn_widget. Do not edit. */

export const VIEWS = {
images: {"name":"images","label":"Picture","definition":"What a patch, a special token or the mean of a region attends to in the picture, in every head.","options":["token","scale"],"head":"marked","draw":null},
attention: {"name":"attention","label":"Attention","definition":"Attention weights: softmax(QKᵀ / √d_k) by row; rows are queries, columns keys.","options":["quantity","words","special","scale","token","pair","group"],"head":"shown","scores":true,"long":true},
heads: {"name":"heads","label":"Heads","definition":"Six metrics of each head's attention matrix and seven shares of what it attends to.","options":["metric"],"head":"marked","draw":null},
tree: {"name":"tree","label":"Tree","definition":"The keys to which each token attends most, starting from the root.","options":["quantity","token","top_k","depth","words","special"],"head":"shown","long":true,"draw":null},
sentences: {"name":"sentences","label":"Sentences","definition":"Attention between sentences: mean share (mass) or largest weight (max).","options":["quantity"],"head":null,"draw":null},
predictions: {"name":"predictions","label":"Predictions","definition":"softmax of the masked-LM head's logits over the whole vocabulary.","options":["special"],"head":null,"draw":null},
inside: {"name":"inside","label":"Inside","definition":"The model's own tensors at one stage of the pipeline.","options":["token"],"head":null,"draw":null},
lens: {"name":"lens","label":"Lens","definition":"Likeliest token of each layer's hidden state at every position, read by the language-model head.","options":["special"],"head":null,"draw":null},
task: {"name":"task","label":"Task","definition":"softmax(W h + b) over the classes, and the first token's attention.","options":[],"head":null,"draw":null},
why: {"name":"why","label":"Why","definition":"Contribution of every token to one number in the model's output.","options":["target","method"],"head":null,"draw":null},
similarity: {"name":"similarity","label":"Similarity","definition":"Contribution of every pair of words or patches to a score; with the biases they add up to it.","options":["words"],"head":null,"draw":null},
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
export const DEFAULTS = {
target: null,
method: "decomposition",
top_k: 3,
depth: 3,
layer: 0,
head: 0,
token: null,
pair: null,
metric: "thumbnails",
view: "attention",
quantity: "weights",
group: [],
special: true,
words: false,
scale: "words",
theme: "auto",
height: null,
chrome: true,
} as const;
