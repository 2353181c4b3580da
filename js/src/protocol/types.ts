/** Types of the protocol: requests by kind, sources, actions. */

import type { HeadOff, Meta, Part, Precision } from "./meta";
import type { Arrays, OfHead, RequestOf, Slice, SliceOptions } from "./slice";
import type { AttentionFields } from "./slices/attention";
import type { TensorFields } from "./slices/inside";
import type { LongFields } from "./slices/long";
import type { MixingFields } from "./slices/mixing";
import type { PredictionFields } from "./slices/predictions";
import type { SentenceFields } from "./slices/sentences";

export type * from "./meta";
export type * from "./slice";

/** Fields of `attn_widget.target`, by ids, in this order; what is not given is left out. */
export interface Target {
  readonly position?: number;
  readonly token?: number | string;
  readonly against?: number | string;
  readonly label?: number | string;
  readonly masked?: boolean;
  readonly next_sentence?: boolean;
}
/** A ranking's passage, or texts that are typed in a page whose model runs there. */
type OfPassage = { readonly passage?: number; readonly texts?: readonly [string, string] };
type OfTarget = { readonly target: Target };

/** Fields of the requests that only a kernel computes; a saved page has some of the answers. */
interface KernelFields {
  readonly mixing_pair: { readonly layer: number; readonly query: number; readonly key: number };
  readonly flow: { readonly token: number };
  readonly metrics: { readonly tau: number | "uniform" };
  readonly heads: { readonly start: number };
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
  readonly code: object;
  readonly intact: object;
  readonly targets: object;
  readonly contributions: OfTarget & { readonly method: string };
  readonly trust: OfTarget & { readonly methods: readonly string[] };
  readonly head_effects: OfTarget & { readonly ablation?: "zero" | "mean" };
  readonly logit_lens: OfTarget;
  /** A next token's logit as a sum over heads, MLPs and the embedding. */
  readonly components: OfTarget;
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
  /** Similarities, or that of a ranking's `passage`: the score, both texts, and the part of each token. */
  readonly similar: OfPassage;
  readonly similar_matrix: OfPassage & { readonly of: "input" | "output" | "maxsim" };
  readonly similar_test: OfPassage & { readonly side: "a" | "b" };
  readonly similar_row: { readonly side: "a" | "b"; readonly token: number } & OfPassage;
  /** A slice of an input that is no text, by its kind. */
  readonly similar_drawing: { readonly side: "a" | "b"; readonly of: string } & OfPassage;
  readonly similar_deletions: OfPassage;
  readonly similar_effects: OfPassage;
  /** Cross-attention: the expected place of each target token in the source, and how monotone that is, by head. */
  readonly alignment: object;
  /** Shares of every written token's logit: of the source, of what is written before it, and of the biases. */
  readonly written_shares: object;
  /** Live only: words of an open index of a corpus. */
  readonly near: { readonly token: number };
}

/** Fields of the request for each kind of slice; the answers are in docs/protocol.md, "Slices". */
export interface SliceRequests
  extends KernelFields,
    AttentionFields,
    LongFields,
    MixingFields,
    PredictionFields,
    SentenceFields,
    TensorFields {}
type SliceKind = keyof SliceRequests;
/** A question about the run: `SliceRequest<"weights">` is `{kind: "weights", layer, head, rows?}`. */
export type SliceRequest<K extends SliceKind = SliceKind> = RequestOf<SliceRequests, K>;

/** Answers slice requests of one run, from a kernel or from a saved page. */
export interface Source {
  readonly meta: Meta;
  /** The arrays of the first paint by name. */
  readonly arrays: Arrays;
  /** True if a question needing a kernel (a new forward pass) can be answered. */
  readonly live: boolean;
  /** Precision of a saved page; numbers from a kernel are float32, shown with all digits on demand. */
  readonly precision?: Precision;
  /** Saved pages only: whether it has an answer, if that is known without computing it. */
  has?(request: SliceRequest): boolean;
  /** Another part of the same run, with the figures that it opens with. */
  part?(part: Part): Promise<Source>;
  /** Rejects with a `SliceFailure` (message and hint for the reader). Cached; equal requests share one promise. */
  ask(request: SliceRequest, options?: SliceOptions): Promise<Slice>;
}

/** Actions that need a kernel; see "Actions" in docs/protocol.md. */
export type Action =
  | {
      readonly kind: "run";
      readonly text: string;
      readonly text_pair?: string | null;
      readonly truncation?: boolean;
    }
  | { readonly kind: "continue"; readonly position: number; readonly token: number }
  | { readonly kind: "mask"; readonly tokens: readonly number[] }
  | { readonly kind: "switch_off"; readonly heads: readonly HeadOff[] }
  | { readonly kind: "cancel" }
  | {
      readonly kind: "open_example";
      readonly index: number;
      readonly layer: number;
      readonly head: number;
      readonly query: number | null;
      readonly key: number | null;
    };

/** Progress of a run; `total` is 0 when it is unknown. */
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
