/** Names of what a saved page may lack. */

export const NAMES = {
  qkv: "The set of q, k and v vectors",
  flow: "The attention flow",
  mixing: "What this attention carries",
  mixing_pair: "The sum of this pair",
  tensor: "This tensor",
  predictions: "This kind of prediction",
  metrics: "This threshold",
  roles: "This seed",
  language: "The tagging of the words",
  layer_change: "The change from layer to layer",
  specialization: "The specialization of the heads",
  patterns: "The table of patterns",
  hidden_path: "The path of the hidden states",
  residuals: "The change made by each layer",
  architecture: "The plan of the model",
  classification: "The classification",
  next_sentence: "The next-sentence probability",
  beside: "A text to compare it with",
  code: "The code that makes these numbers",
  intact: "The run with all heads on",
  targets: "The list of targets",
  contributions: "This method",
  trust: "The test of these methods",
  head_effects: "The effect of each head on this target",
  logit_lens: "The answer of each layer",
  lens: "The answer of each layer at these positions",
  components: "The parts of the network that add to this target",
  compared: "The comparison with another run",
  patched: "The result of this patch",
  recovery: "The recovery of each patch",
  examples: "The list of texts in which this figure is largest",
  near: "The list of words in a corpus like this one",
} as const satisfies Readonly<Record<string, string>>;

export const nameOf = (kind: string): string =>
  (NAMES as Readonly<Record<string, string>>)[kind] ?? `"${kind}"`;
