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

/** All stages in the order in which a token passes them; those of a layer once. */
export function stagesOf({ model, tokens, part }: Meta, arch: Architecture): StageBox[] {
  const n = tokens.text.length;
  const { hidden, embedding, inner, headDim, intermediate, vocabulary, preNorm, norm } = arch;
  const normalized = norm === "RMSNorm" ? "divided by its root mean square" : "normalized";
  const heads = model.n_heads;
  const next = model.predicts === "next";
  const by = (width: number): string => `${count(n)} × ${count(width)}`;
  const why = (name: string): string | null => arch.missing[name] ?? null;
  const noScores = model.has.scores
    ? null
    : "These are weights from outside: their scores are not known.";
  const box = (
    id: StageId,
    zone: Zone,
    [title, short]: readonly [string, string],
    size: string,
    part: Part | null,
    about: string,
    missing: string | null = null,
  ): StageBox => ({ id, zone, title, short, size, about, part, missing });

  const embeddings = [
    box(
      "token",
      "embeddings",
      ["Token", "Token"],
      by(embedding),
      "embeddings",
      `A row for each token id, out of a table of ${count(vocabulary)} × ${count(embedding)}.`,
      why("token"),
    ),
    box(
      "position",
      "embeddings",
      ["Position", "Position"],
      by(embedding),
      arch.sinusoidal ? null : "embeddings",
      `A row for each position, out of a table with ${count(model.max_length)} positions.`,
      why("position"),
    ),
    box(
      "segment",
      "embeddings",
      ["Segment", "Segment"],
      by(embedding),
      "embeddings",
      "A row for each of the two texts of a pair.",
      why("segment"),
    ),
    box(
      "sum",
      "embeddings",
      ["Sum", "Sum"],
      by(embedding),
      null,
      "The sum of a token's embeddings.",
      why("sum"),
    ),
    box(
      "norm",
      "embeddings",
      [norm, "Norm"],
      by(embedding),
      "embeddings",
      "The sum, normalized to mean 0 and variance 1, then scaled and shifted by learned weights.",
      why("norm"),
    ),
    ...(embedding === hidden
      ? []
      : [
          box(
            "output",
            "embeddings",
            ["Projection", "Project"],
            by(hidden),
            "other",
            `From ${count(embedding)} to the hidden size, ${count(hidden)}.`,
            why("output"),
          ),
        ]),
  ];
  const mechanism = [
    box(
      "qkv",
      "attention",
      ["Q, K, V", "Q, K, V"],
      `${heads} × ${headDim}`,
      "attention",
      `Each head's queries (what it looks for), keys (what it offers) and values (what it passes on): ${heads} heads × ${headDim} dimensions.`,
      why("query"),
    ),
    box(
      "scores",
      "attention",
      ["Scores", "Scores"],
      by(n),
      null,
      `${arch.scores ?? "q · k / √d_k"}, and the mask: ${count(n)} × ${count(n)} for each of ${heads} heads.`,
      noScores,
    ),
    box(
      "weights",
      "attention",
      ["Weights", "Weights"],
      by(n),
      null,
      `softmax of the scores by row: ${count(n)} × ${count(n)} for each of ${heads} heads.`,
    ),
    box(
      "head_output",
      "attention",
      ["Heads", "Heads"],
      `${heads} × ${headDim}`,
      null,
      `Weights × values: ${headDim} dimensions from each of ${heads} heads, concatenated.`,
      why("head_output"),
    ),
    box(
      "attention_output",
      "attention",
      ["Output", "Output"],
      by(inner),
      "attention",
      `One linear map of all heads together: ${count(heads * headDim)} → ${count(inner)}.`,
      why("attention_output"),
    ),
  ];
  const attentionSum = box(
    "attention_sum",
    "attention",
    ["Add", "Add"],
    by(inner),
    null,
    "The residual sum: the input of attention plus its output.",
    why("attention_sum"),
  );
  const attentionNorm = box(
    "attention_norm",
    "attention",
    [norm, "Norm"],
    by(preNorm ? hidden : inner),
    "norms",
    preNorm
      ? `The state that attention reads (pre-norm): ${normalized}, then scaled by learned weights.`
      : "The sum normalized (post-norm).",
    why("attention_norm"),
  );
  const feedForward = [
    box(
      "ffn_activation",
      "ffn",
      ["Activation", "Activ."],
      `${count(inner)} → ${count(intermediate)} ${arch.activation}`,
      "feed_forward",
      `Each token separately: ${count(inner)} → ${count(intermediate)}, then ${arch.activation}.`,
      why("ffn_activation"),
    ),
    box(
      "ffn_output",
      "ffn",
      ["Output", "Output"],
      `${count(intermediate)} → ${count(inner)}`,
      "feed_forward",
      `Back from ${count(intermediate)} to ${count(inner)}.`,
      why("ffn_output"),
    ),
  ];
  const ffnSum = box(
    "ffn_sum",
    "ffn",
    ["Add", "Add"],
    by(inner),
    null,
    "The second residual sum: the input of the FFN plus its output.",
    why("ffn_sum"),
  );
  const ffnNorm = box(
    "ffn_norm",
    "ffn",
    [norm, "Norm"],
    by(inner),
    "norms",
    preNorm
      ? `The state that the FFN reads (pre-norm): ${normalized}, then scaled by learned weights.`
      : "The sum normalized (post-norm).",
    why("ffn_norm"),
  );
  const layer = preNorm
    ? [attentionNorm, ...mechanism, attentionSum, ffnNorm, ...feedForward, ffnSum]
    : [...mechanism, attentionSum, attentionNorm, ...feedForward, ffnSum, ffnNorm];
  const labels = "A linear map from the hidden state to the classes.";
  return [
    ...embeddings,
    ...layer,
    box(
      "hidden",
      "output",
      ["Hidden states", "Hidden"],
      `${model.n_layers + 1} × ${by(hidden)}`,
      null,
      "The states between the layers, from the embeddings to the last layer.",
      why("hidden"),
    ),
    box(
      "mlm",
      "output",
      next || part === "encoder" ? ["LM head", "LM head"] : ["MLM head", "MLM head"],
      `${count(hidden)} → ${count(vocabulary)}`,
      "heads",
      `${next ? "The final norm of h, times Eᵀ" : "LayerNorm(GELU(h W + b)) Eᵀ + b"}: a logit for each of ${count(vocabulary)} entries of the vocabulary.`,
      model.has.mlm
        ? null
        : part === "encoder"
          ? "The encoder writes nothing: its last states are what cross-attention looks at."
          : `This model has no ${next ? "" : "masked-"}LM head.`,
    ),
    ...(model.has.classifier
      ? [
          box(
            "classifier",
            "output",
            ["Classifier", "Classifier"],
            `${count(hidden)} → classes`,
            "heads",
            labels,
          ),
        ]
      : []),
  ];
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
