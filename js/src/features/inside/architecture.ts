/** The pipeline of a model as stages: their order, their sizes, what each adds, and the walk through them. */

import type { Meta } from "../../protocol/types";

export type Zone = "embeddings" | "attention" | "ffn" | "output";

export type StageId =
  | "token"
  | "position"
  | "segment"
  | "sum"
  | "norm"
  | "output"
  | "qkv"
  | "scores"
  | "weights"
  | "head_output"
  | "attention_output"
  | "attention_sum"
  | "attention_norm"
  | "ffn_activation"
  | "ffn_output"
  | "ffn_sum"
  | "ffn_norm"
  | "hidden"
  | "mlm"
  | "classifier";

/** Parts that parameters are counted by, in the order of the pipeline. */
export const PARTS = [
  ["embeddings", "embeddings"],
  ["attention", "attention"],
  ["feed_forward", "FFN"],
  ["norms", "norms"],
  ["other", "other"],
  ["decoder", "decoder"],
  ["pooler", "pooler"],
  ["heads", "heads on top"],
] as const;

export type Part = (typeof PARTS)[number][0];

/** Answer of the slice `architecture`, with the widths that only the tensors themselves tell. */
export interface Architecture {
  readonly parameters: Readonly<Record<string, number>>;
  readonly hidden: number;
  readonly headDim: number;
  readonly vocabulary: number;
  readonly activation: string;
  readonly preNorm: boolean;
  /** The norm of a layer, as papers call it. */
  readonly norm: "LayerNorm" | "RMSNorm";
  readonly notes: readonly string[];
  /** Score of a query and a key in words, where it is not `q · k / √d_k`. */
  readonly scores?: string;
  /** Position embeddings are computed, not learned. */
  readonly sinusoidal?: boolean;
  /** Why a tensor is N/A. */
  readonly missing: Readonly<Record<string, string | null>>;
  /** Width of the embeddings, which a projection may widen to the hidden size. */
  readonly embedding: number;
  /** Width between the two halves of a layer: narrower than the hidden size in a bottleneck. */
  readonly inner: number;
  readonly intermediate: number;
}

export interface StageBox {
  readonly id: StageId;
  readonly zone: Zone;
  /** The whole name, and one for narrow boxes. */
  readonly title: string;
  readonly short: string;
  /** Second line of the box. */
  readonly size: string;
  readonly about: string;
  readonly part: Part | null;
  /** Why the model lacks it. */
  readonly missing: string | null;
}

const count = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ",");

/** Facts that describe the stages of one model and text. */
interface Facts extends Architecture {
  readonly model: Meta["model"];
  /** The part of an encoder-decoder. */
  readonly of: Meta["part"];
  /** Tokens. */
  readonly n: number;
  /** A size: each token's numbers. */
  by(width: number): string;
  /** Result of a norm. */
  readonly normalized: string;
}

/** Boxes of a zone; `missing` is why the tensor of the same name is N/A, unless that is given. */
const boxesOf =
  (zone: Zone, { missing: tensors }: Facts) =>
  (
    id: StageId,
    names: string | readonly [title: string, short: string],
    size: string,
    part: Part | null,
    about: string,
    missing: string | null = tensors[id] ?? null,
  ): StageBox => {
    const [title, short] = typeof names === "string" ? [names, names] : names;
    return { id, zone, title, short, size, about, part, missing };
  };

function embeddings(facts: Facts): StageBox[] {
  const { embedding, hidden, vocabulary, model, norm, sinusoidal, by } = facts;
  const box = boxesOf("embeddings", facts);
  const size = by(embedding);
  const rows =
    vocabulary > 0
      ? `A row for each token id, out of a table of ${count(vocabulary)} × ${count(embedding)}.`
      : "A row for each token.";
  const places = `A row for each position, out of a table with ${count(model.max_length)} positions.`;
  const segments = "A row for each of the two texts of a pair.";
  const normed =
    "The sum, normalized to mean 0 and variance 1, then scaled and shifted by learned weights.";
  const wider = `From ${count(embedding)} to the hidden size, ${count(hidden)}.`;
  return [
    box("token", "Token", size, "embeddings", rows),
    box("position", "Position", size, sinusoidal ? null : "embeddings", places),
    box("segment", "Segment", size, "embeddings", segments),
    box("sum", "Sum", size, null, "The sum of a token's embeddings."),
    box("norm", [norm, "Norm"], size, "embeddings", normed),
    ...(embedding === hidden
      ? []
      : [box("output", ["Projection", "Project"], by(hidden), "other", wider)]),
  ];
}

/** Why there are no scores. */
const GIVEN = "These are weights from outside: their scores are not known.";

function attention(facts: Facts): StageBox[] {
  const { model, n, headDim, inner, missing, by } = facts;
  const heads = model.n_heads;
  const box = boxesOf("attention", facts);
  const each = `${heads} × ${headDim}`;
  const all = `${count(n)} × ${count(n)} for each of ${heads} heads`;
  const qkv = `Each head's queries (what it looks for), keys (what it offers) and values (what it passes on): ${heads} heads × ${headDim} dimensions.`;
  const scores = `${facts.scores ?? "q · k / √d_k"}, and the mask: ${all}.`;
  const mixed = `Weights × values: ${headDim} dimensions from each of ${heads} heads, concatenated.`;
  const joined = `One linear map of all heads together: ${count(heads * headDim)} → ${count(inner)}.`;
  return [
    box("qkv", "Q, K, V", each, "attention", qkv, missing.query ?? null),
    box("scores", "Scores", by(n), null, scores, model.has.scores ? null : GIVEN),
    box("weights", "Weights", by(n), null, `softmax of the scores by row: ${all}.`, null),
    box("head_output", "Heads", each, null, mixed),
    box("attention_output", "Output", by(inner), "attention", joined),
  ];
}

/** Sum and norm of the half of a layer that is named. */
function around(half: "attention" | "ffn", facts: Facts): readonly [sum: StageBox, norm: StageBox] {
  const { preNorm, norm, normalized, hidden, inner, by } = facts;
  const box = boxesOf(half, facts);
  const ofAttention = half === "attention";
  const name = ofAttention ? "attention" : "the FFN";
  const sum = `The ${ofAttention ? "" : "second "}residual sum: the input of ${name} plus its output.`;
  const about = preNorm
    ? `The state that ${name} reads (pre-norm): ${normalized}, then scaled by learned weights.`
    : "The sum normalized (post-norm).";
  const width = ofAttention && preNorm ? hidden : inner;
  return [
    box(`${half}_sum`, "Add", by(inner), null, sum),
    box(`${half}_norm`, [norm, "Norm"], by(width), "norms", about),
  ];
}

function feedForward(facts: Facts): StageBox[] {
  const { inner, intermediate, activation } = facts;
  const box = boxesOf("ffn", facts);
  const wider = `${count(inner)} → ${count(intermediate)}`;
  const acts = `Each token separately: ${wider}, then ${activation}.`;
  const back = `Back from ${count(intermediate)} to ${count(inner)}.`;
  return [
    box("ffn_activation", ["Activation", "Activ."], `${wider} ${activation}`, "feed_forward", acts),
    box("ffn_output", "Output", `${count(intermediate)} → ${count(inner)}`, "feed_forward", back),
  ];
}

function outputs(facts: Facts): StageBox[] {
  const { model, of, hidden, vocabulary, by } = facts;
  const box = boxesOf("output", facts);
  const next = model.predicts === "next";
  const states = "The states between the layers, from the embeddings to the last layer.";
  const name = next || of === "encoder" ? "LM head" : "MLM head";
  const head = next ? "The final norm of h, times Eᵀ" : "LayerNorm(GELU(h W + b)) Eᵀ + b";
  const logits = `${head}: a logit for each of ${count(vocabulary)} entries of the vocabulary.`;
  const none =
    of === "encoder"
      ? "The encoder writes nothing: its last states are what cross-attention looks at."
      : `This model has no ${next ? "" : "masked-"}LM head.`;
  const labels = "A linear map from the hidden state to the classes.";
  const classes = `${count(hidden)} → classes`;
  return [
    box(
      "hidden",
      ["Hidden states", "Hidden"],
      `${model.n_layers + 1} × ${by(hidden)}`,
      null,
      states,
    ),
    box(
      "mlm",
      name,
      `${count(hidden)} → ${count(vocabulary)}`,
      "heads",
      logits,
      model.has.mlm ? null : none,
    ),
    ...(model.has.classifier
      ? [box("classifier", "Classifier", classes, "heads", labels, null)]
      : []),
  ];
}

/** All stages in the order in which a token passes them; those of a layer once. */
export function stagesOf({ model, tokens, part }: Meta, arch: Architecture): StageBox[] {
  const n = tokens.text.length;
  const normalized = arch.norm === "RMSNorm" ? "divided by its root mean square" : "normalized";
  const by = (width: number): string => `${count(n)} × ${count(width)}`;
  const facts: Facts = { ...arch, model, of: part, n, by, normalized };
  const [attentionSum, attentionNorm] = around("attention", facts);
  const [ffnSum, ffnNorm] = around("ffn", facts);
  const layer = arch.preNorm
    ? [attentionNorm, ...attention(facts), attentionSum, ffnNorm, ...feedForward(facts), ffnSum]
    : [...attention(facts), attentionSum, attentionNorm, ...feedForward(facts), ffnSum, ffnNorm];
  return [...embeddings(facts), ...layer, ...outputs(facts)];
}

/** One step of a token's walk; `layer` is null outside the layers. */
export interface Step {
  readonly id: StageId;
  readonly layer: number | null;
}

const inLayer = ({ zone }: StageBox): boolean => zone === "attention" || zone === "ffn";

/** Every stage that the model has, layer by layer, from the embeddings to the prediction. */
export function walkOf(stages: readonly StageBox[], layers: number): Step[] {
  const there = stages.filter(({ missing }) => missing === null);
  const before = there.filter(({ zone }) => zone === "embeddings");
  const after = there.filter(({ zone }) => zone === "output");
  const outside = ({ id }: StageBox): Step => ({ id, layer: null });
  return [
    ...before.map(outside),
    ...Array.from({ length: layers }, (_, layer) =>
      there.filter(inLayer).map(({ id }): Step => ({ id, layer })),
    ).flat(),
    ...after.map(outside),
  ];
}

/** Index of a stage of a layer in the walk; -1 when the model lacks it. */
export const stepOf = (walk: readonly Step[], id: StageId, layer: number): number =>
  walk.findIndex((step) => step.id === id && (step.layer === null || step.layer === layer));
