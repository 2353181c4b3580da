/** Meta of a run: its model, its tokens, and what is known of its numbers. */

import type { HeadIndex } from "./slice";

export interface ModelMeta {
  readonly name: string;
  /** null for tensors from outside. */
  readonly family: string | null;
  readonly n_layers: number;
  readonly n_heads: number;
  readonly head_dim: number;
  readonly hidden_size: number;
  readonly vocab_size: number;
  readonly max_length: number;
  readonly revision: string | null;
  /** The token that its head predicts at a position: the one there, or that of a decoder, the one after it. */
  readonly predicts?: "here" | "next";
  readonly has: {
    readonly mlm: boolean;
    readonly nsp: boolean;
    readonly classifier: boolean;
    readonly scores: boolean;
    readonly qkv: boolean;
  };
}

/** Three kinds of attention of an encoder-decoder; from elsewhere (`from_attentions`) `cross` may stand alone. */
export const PARTS = ["encoder", "decoder", "cross"] as const;
export type Part = (typeof PARTS)[number];

/** A head that is switched off; of an encoder-decoder with its part. */
export type HeadOff =
  | readonly [layer: number, head: number]
  | readonly [part: Part, layer: number, head: number];

export interface TokenColumns {
  readonly text: readonly string[];
  readonly surface: readonly string[];
  readonly before: readonly string[];
  readonly id: readonly number[];
  readonly start: readonly number[];
  readonly end: readonly number[];
  readonly segment: readonly number[];
  readonly special: readonly boolean[];
  /** Text that the user did not write, such as a system prompt that a chat template adds: no sentence names it. Absent where there is none. */
  readonly boilerplate?: readonly boolean[];
}

/** By layer (one entry where all are alike) and metric: least, most, and the figure of uniform attention. */
export type MetricScale = readonly Readonly<Record<string, readonly [number, number, number]>>[];

/** A score of embeddings of texts, or of tokens (late interaction: `maxsim`), or a reranker's logit. */
export type ScoreKind = "cosine" | "dot" | "maxsim" | "relevance";

export interface Meta {
  readonly version: 1;
  readonly model: ModelMeta;
  readonly text: string;
  readonly text_pair: string | null;
  readonly truncated: { readonly limit: number; readonly length: number } | null;
  /** Tokens of the queries. */
  readonly tokens: TokenColumns;
  /** Tokens of the keys where they are another text's (cross-attention); null or absent where they are `tokens`. */
  readonly keys?: TokenColumns | null;
  /** Tokens that this run read as the mask token, with what stands there in the text. */
  readonly masked: readonly {
    readonly token: number;
    readonly text: string;
    readonly id: number;
  }[];
  /** Heads that are switched off in this run. */
  readonly heads_off?: readonly HeadOff[];
  /** Tokens that the tokenizer does not know, where these are most of the text. */
  readonly unknown?: {
    readonly count: number;
    readonly tokens: number;
    readonly text: string;
  } | null;
  /** Names of contributions from elsewhere: further methods of Why. */
  readonly outside?: readonly string[];
  /** The first token that the model wrote, where it wrote the end of the text. */
  readonly written?: number;
  /** True if the model was to write and ended the text at once. */
  readonly wrote_nothing?: true;
  /** Note about an unusual way in which the text was read, such as with a beginning token of its own. */
  readonly note?: string;
  /** True if its tokens are no parts of a text, such as patches: nothing about words is known of them. */
  readonly wordless?: true;
  /** Parts of an encoder-decoder, each with a pack of its own, and the part of this one. */
  readonly parts?: readonly Part[] | null;
  readonly part?: Part | null;
  /** The text that the encoder reads, on the other parts; `source_tokens` is null where `keys` has them. */
  readonly source_text?: string | null;
  readonly source_tokens?: TokenColumns | null;
  /** The likeliest token after the last one of a text that is written. */
  readonly next_token?: string | null;
  /** True if rows may sum to less than 1: a learned sink takes the rest. */
  readonly rest?: true;
  /** Layers whose mask looks back alone, where some do (a decoder's). */
  readonly mask?: {
    readonly back: readonly number[];
    /** True if it was found in the weights, instead of given by the model or the caller. */
    readonly found: boolean;
    /** The first layer whose rollout the masks explain, and what attention uniform over the possible keys gives there. */
    readonly rollout: {
      readonly layer: number;
      readonly token: number;
      readonly share: number;
    } | null;
  };
  /** Why no layer has a rollout or attention flow: of an encoder-decoder's decoder, and of cross-attention. */
  readonly no_rollout?: string;
  /** Heads over many texts instead of one run: no tokens, no weights. */
  readonly profile: {
    readonly n_texts: number;
    readonly n_tokens: number;
    readonly seed: number;
    readonly tagger: string | null;
    readonly keys: readonly string[];
    /** Patterns with an accuracy, each with an array `metric:<key>`. */
    readonly accuracies?: readonly string[];
    /** By such a key: the accuracy that the best of all heads stays below in 95% of cases if they point at random. */
    readonly by_chance?: Readonly<Record<string, number>>;
    /** Why no figure has an interval. */
    readonly interval_note?: string | null;
    /** True if no query of any text may look at a later key. */
    readonly looks_back?: boolean;
    /** True if its model can run the texts of examples. */
    readonly examples?: boolean;
  } | null;
  /** Two texts and their score, or a query's scores with many: no run of one text. */
  readonly similarity?: {
    readonly kind: ScoreKind;
    /** The score with all heads, where some are switched off. */
    readonly intact: number | null;
    readonly ranking: {
      readonly query: string;
      /** Count of all passages; `passages` has the best of them, the best first. */
      readonly total: number;
      readonly complete: boolean;
      readonly failed: number;
      /** Types of small pictures, in the arrays `thumbnail:<index>`; that of the query is under -1. */
      readonly thumbnails?: Readonly<Record<string, string>>;
      readonly passages: readonly {
        readonly index: number;
        readonly text: string;
        readonly score: number;
      }[];
    } | null;
  };
  /** Views of a saved page. */
  readonly snapshot?: {
    readonly views: readonly string[];
    readonly layers: readonly number[];
    readonly heads: readonly number[];
    readonly left_out?: string;
  };
  readonly metrics: {
    readonly keys: readonly string[];
    readonly tau: number | "uniform";
    readonly scale: MetricScale;
  };
  readonly thumb: number;
  /** Columns of a thumbnail, where they are not as many as its rows. */
  readonly thumb_keys?: number | null;
  readonly predictions: {
    readonly mode: "as_is" | "masked" | "next";
    readonly top_k: number;
    readonly vocabulary: Readonly<Record<string, string>>;
    /** Tokens of a decoder in `vocabulary` that may only begin a word. */
    readonly beginnings?: readonly string[];
    /** Mode that the view opens with; masked by default. */
    readonly opens?: "as_is" | "masked" | "next";
  } | null;
  /** Overlapping windows that a long text was read in: their places, and that of each token's row. */
  readonly windows?: {
    readonly size: number;
    readonly overlap: number;
    readonly spans: readonly (readonly [number, number])[];
    readonly of: readonly number[];
  };
  readonly selected: { readonly layer: number; readonly head: HeadIndex } | null;
  /** Layers whose figures are in the pack of a long text; those of the others come by the slice `heads`. */
  readonly computed?: readonly number[];
  readonly versions: Readonly<Record<string, string>>;
}

/** Part, layer and head of a head that is switched off; part null where there is one. */
export const placeOff = (off: HeadOff): readonly [Part | null, number, number] =>
  off.length === 2 ? [null, ...off] : off;

/** Layers and heads of those that are switched off in a run of one text. */
export const headsOff = (off: readonly HeadOff[] = []): (readonly [number, number])[] =>
  off.map((each) => {
    const [, layer, head] = placeOff(each);
    return [layer, head];
  });

/** Tokens of the keys. */
export const keysOf = ({ keys, tokens }: Pick<Meta, "keys" | "tokens">): TokenColumns =>
  keys ?? tokens;

/** A number as its source gives it, and how far it may be off: 0 where it is exact. */
export interface Num {
  readonly value: number;
  readonly error: number;
}

/** Largest errors of the numbers that a saved page has in code. */
export interface Precision {
  /**
   * Error of a weight of this size, of a mean of such, or of a sum of `terms` of them; `meanHead` where they
   * are those of the mean of all heads, which a page may hold in a code of its own.
   */
  weight(value: number, terms?: number, meanHead?: boolean): number;
  /** Largest error of an entry of a rollout. */
  readonly rollout: number;
  /** The same of what attention carries, by quantity. */
  readonly mixing?: Readonly<Record<string, number>>;
  /** Largest error of a scaled score; 0 if there is none. */
  readonly score: number;
  /** In words, for the reader. */
  readonly note: string;
}

/** True if some mask looks back alone: token 0 is no [CLS], and takes what queries give to nothing. */
export const looksBack = ({ mask, profile }: Meta): boolean =>
  mask !== undefined || profile?.looks_back === true;

/** Texts longer than this are drawn by tiles: the kernel's `LONG_TOKENS` (attn_widget/trace/base.py). */
export const LONG_TOKENS = 1024;

/** True if a text is drawn by tiles. */
export const isLong = ({
  tokens,
  keys,
  profile,
}: {
  readonly tokens: { readonly text: ArrayLike<string> };
  readonly keys?: { readonly text: ArrayLike<string> } | null;
  readonly profile: unknown;
}): boolean =>
  profile === null && Math.max(tokens.text.length, keys?.text.length ?? 0) > LONG_TOKENS;
