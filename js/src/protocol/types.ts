/** Types of the protocol: a run's meta and arrays, slices, sources, actions. */

export type DType = "uint8" | "int32" | "float32" | "float64";
export type TypedArray = Uint8Array | Int32Array | Float32Array | Float64Array;

/** A typed array and its shape, C order. */
export interface NdArray<T extends TypedArray = TypedArray> {
  readonly data: T;
  readonly shape: readonly number[];
}

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
  readonly has: {
    readonly mlm: boolean;
    readonly nsp: boolean;
    readonly classifier: boolean;
    readonly scores: boolean;
    readonly qkv: boolean;
  };
}

export interface TokenColumns {
  readonly text: readonly string[];
  readonly surface: readonly string[];
  readonly before: readonly string[];
  readonly id: readonly number[];
  readonly start: readonly number[];
  readonly end: readonly number[];
  readonly segment: readonly number[];
  readonly special: readonly boolean[];
}

/** By layer (one entry where all are alike) and metric: least, most, and the figure of uniform attention. */
export type MetricScale = readonly Readonly<Record<string, readonly [number, number, number]>>[];

export interface Meta {
  readonly version: 1;
  readonly model: ModelMeta;
  readonly text: string;
  readonly text_pair: string | null;
  readonly truncated: { readonly limit: number; readonly length: number } | null;
  readonly tokens: TokenColumns;
  /** Tokens that this run read as the mask token, with what stands there in the text. */
  readonly masked: readonly {
    readonly token: number;
    readonly text: string;
    readonly id: number;
  }[];
  /** `[layer, head]` of each head that is switched off in this run. */
  readonly heads_off?: readonly (readonly [number, number])[];
  /** Tokens that the tokenizer does not know, where these are most of the text. */
  readonly unknown?: {
    readonly count: number;
    readonly tokens: number;
    readonly text: string;
  } | null;
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
    /** Whether its model can run the texts of examples. */
    readonly examples?: boolean;
  } | null;
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
  readonly predictions: {
    readonly mode: "as_is" | "masked";
    readonly top_k: number;
    readonly vocabulary: Readonly<Record<string, string>>;
    /** Mode that the view opens with, as far as its cost decides. */
    readonly opens?: "as_is" | "masked";
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

export type HeadIndex = number | "mean";
export interface Slice {
  readonly data: Readonly<Record<string, unknown>>;
  readonly arrays: ReadonlyMap<string, NdArray>;
}

export type Window = readonly [start: number, stop: number];
/** Fields of `attn_widget.target`, by ids, in this order; what is not given is left out. */
export interface Target {
  readonly position?: number;
  readonly token?: number | string;
  readonly against?: number | string;
  readonly label?: number | string;
  readonly masked?: boolean;
  readonly next_sentence?: boolean;
}
type OfTarget = { readonly target: Target };
type Rows = { readonly rows?: Window | null };
type OfHead = { readonly layer: number; readonly head: number };
type OfHeadOrMean = { readonly layer: number; readonly head: HeadIndex };
type OfLongMatrix = OfHeadOrMean & { readonly quantity?: "weights" | "scores" | "rollout" };
type OfMode = { readonly mode?: "as_is" | "masked" };
/** Mixing quantities (docs/influence.md, section 1). */
export type Mixing = "norms" | "mixing" | "alti" | "value_zeroing";
type OfMixing = { readonly quantity: Mixing; readonly layer: number };
type Block = {
  readonly aggregation: "mass" | "max";
  readonly layer?: number | null;
  readonly head?: number | null;
};

/** Fields of the request for each kind of slice; the answers are in docs/protocol.md, "Slices". */
export interface SliceRequests {
  readonly weights: OfHeadOrMean & Rows;
  readonly scores: OfHead & Rows;
  readonly qkv: OfHead & Rows;
  readonly rollout: { readonly layer: number } & Rows;
  readonly pyramid: OfLongMatrix;
  readonly tile: OfLongMatrix & {
    readonly level: number;
    readonly row: number;
    readonly col: number;
    readonly pooling: "max" | "mean";
  };
  readonly links: OfLongMatrix & {
    readonly count?: number;
    readonly least?: number | null;
    readonly special?: boolean;
    readonly neighbors?: boolean;
    readonly itself?: boolean;
  };
  readonly mixing: OfMixing & { readonly head?: number | null } & Rows;
  readonly mixing_rollout: OfMixing & Rows;
  readonly mixing_pair: { readonly layer: number; readonly query: number; readonly key: number };
  readonly value_lengths: { readonly layer: number };
  /** Saved pages only, never asked for. */
  readonly mixing_code: OfMixing;
  readonly flow: { readonly token: number };
  readonly metrics: { readonly tau: number | "uniform" };
  readonly heads: { readonly start: number };
  readonly predictions: OfMode & { readonly top_k?: number } & Rows;
  readonly softmax: OfMode & {
    readonly position: number;
    readonly token_ids?: readonly number[] | null;
  };
  readonly tensor: {
    readonly name: string;
    readonly layer?: number | null;
    readonly head?: number | null;
    readonly rows?: Window | null;
    readonly cols?: Window | null;
  };
  readonly sentences: Block;
  readonly drill: Block & { readonly a: number; readonly b: number };
  readonly first_token: { readonly head: HeadIndex };
  readonly class_gradient: { readonly label: number; readonly head: HeadIndex };
  readonly roles: { readonly seed?: number };
  readonly language: object;
  readonly layer_change: object;
  /** Texts of a profile in which a figure of a head is largest. */
  readonly examples: OfHead & { readonly by: string; readonly lowest?: boolean };
  readonly specialization: object;
  readonly patterns: object;
  readonly classification: object;
  readonly next_sentence: object;
  readonly beside: object;
  readonly architecture: object;
  readonly hidden_path: object;
  readonly residuals: object;
  readonly token_row: object;
  readonly code: object;
  readonly intact: object;
  readonly targets: object;
  readonly contributions: OfTarget & { readonly method: string };
  readonly trust: OfTarget & { readonly methods: readonly string[] };
  readonly head_effects: OfTarget & { readonly ablation?: "zero" | "mean" };
  readonly logit_lens: OfTarget;
  /** Figures of two runs (docs/protocol.md, "Two runs"). */
  readonly compared: {
    readonly text?: string;
    readonly text_pair?: string | null;
    readonly truncation?: boolean;
  };
  readonly patched: {
    readonly sites: readonly (readonly [kind: string, layer: number, place: number])[];
    readonly target: Target | null;
  };
  readonly recovery: OfTarget & { readonly of: "heads" | "states" | "attention" | "mlp" };
  readonly uncompare: object;
  /** Live only: words of an open index of a corpus. */
  readonly near: { readonly token: number };
}
export type SliceKind = keyof SliceRequests;
/** A question about the run: `SliceRequest<"weights">` is `{kind: "weights", layer, head, rows?}`. */
export type SliceRequest<K extends SliceKind = SliceKind> = {
  [Kind in K]: { readonly kind: Kind } & SliceRequests[Kind];
}[K];

/** How far numbers may be off that a saved page has in code. */
export interface Precision {
  /**
   * Of a weight of this size, of a mean of such, or of a sum of `terms` of them; `meanHead` where they
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

export interface SliceOptions {
  readonly signal?: AbortSignal;
  /** Told how far the kernel is with an answer that takes seconds; `total` is 0 while it is unknown. */
  readonly progress?: (done: number, total: number) => void;
}

/** Layers of a long text on their way into the arrays of the first paint. */
export interface Filling {
  /** Layers that are here, and all. */
  readonly done: number;
  readonly total: number;
  readonly state: "running" | "stopped" | "done";
  /** Why it stopped, where the reader did not ask for it. */
  readonly message: string;
  /** Called whenever one of these has changed, until `signal` is aborted; returns the way to end that sooner. */
  on(listener: () => void, signal?: AbortSignal): () => void;
  /** Stop, or go on. */
  toggle(): void;
}

/** Answers slice requests of one run, from a kernel or from a saved page. */
export interface Source {
  readonly meta: Meta;
  /** The arrays of the first paint by name. */
  readonly arrays: ReadonlyMap<string, NdArray>;
  /** Whether a question needing a kernel (a new forward pass) can be answered. */
  readonly live: boolean;
  /** Precision of a saved page; numbers from a kernel are float32, shown with all digits on demand. */
  readonly precision?: Precision;
  /** Saved pages only: whether it has an answer, if that is known without computing it. */
  has?(request: SliceRequest): boolean;
  /** Rejects with a `SliceFailure` (message and hint for the reader). Cached; equal requests share one promise. */
  slice(request: SliceRequest, options?: SliceOptions): Promise<Slice>;
}

/** Actions that need a kernel; see "Actions" in docs/protocol.md. */
export type Action =
  | {
      readonly kind: "run";
      readonly text: string;
      readonly text_pair?: string | null;
      readonly truncation?: boolean;
    }
  | { readonly kind: "mask"; readonly tokens: readonly number[] }
  | { readonly kind: "switch_off"; readonly heads: readonly (readonly [number, number])[] }
  | { readonly kind: "cancel" }
  | {
      readonly kind: "open_example";
      readonly index: number;
      readonly layer: number;
      readonly head: number;
      readonly query: number | null;
      readonly key: number | null;
    };

/** How far a run has come; `total` is 0 when it is unknown. */
export interface Progress {
  readonly label: string;
  readonly done: number;
  readonly total: number;
}

export interface PastRun {
  readonly text: string;
  readonly text_pair?: string | null;
}

/** Actions of the kernel for this widget. */
export interface Activity {
  readonly status: string;
  readonly progress: Progress | null;
  /** Newest first. */
  readonly history: readonly PastRun[];
  readonly error: { readonly message: string; readonly hint: string } | null;
}
