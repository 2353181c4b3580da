/** Names of what a saved page may lack. */

export const NAMES = {
  qkv: "What a head computes as q, k and v",
  flow: "The attention flow",
  mixing: "What this attention carries",
  mixing_pair: "The sum of this pair",
  tensor: "This tensor",
  predictions: "This kind of prediction",
  metrics: "This threshold",
  roles: "This seed",
  language: "The tagging of the words",
  layer_change: "The change from layer to layer",
  specialization: "What the heads specialize in",
  patterns: "Where the heads look",
  hidden_path: "The path of the hidden states",
  residuals: "What each layer adds",
  architecture: "The plan of the model",
  classification: "The classification",
  next_sentence: "The next-sentence probability",
  beside: "A text to set beside it",
} as const satisfies Readonly<Record<string, string>>;

export const nameOf = (kind: string): string =>
  (NAMES as Readonly<Record<string, string>>)[kind] ?? `"${kind}"`;
