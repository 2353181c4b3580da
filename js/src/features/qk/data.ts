/** Questions about the score of a pinned pair and their answers, typed. */

import { arrayOf } from "../../protocol/required";
import type { Slice, SliceOptions, SliceRequest, Source } from "../../protocol/types";
import type { PinnedCell } from "../../views/contract";

/** With what the key is compared; a number is another key. */
export type Against = "others" | "all" | "rivals" | "sink" | number;
export type By = "tokens" | "parts";
/** With their labels. */
export const BYS: readonly (readonly [By, string, { readonly title: string }])[] = [
  ["tokens", "by tokens", { title: "Each token of the text as it enters the network" }],
  [
    "parts",
    "by parts",
    { title: "Each earlier head and FFN, as it writes straight into this head" },
  ],
];
export type SideName = "query" | "key";
export const SIDES: readonly SideName[] = ["key", "query"];

/** One entry of a side of the sum. */
export interface Part {
  readonly kind:
    | "token"
    | "word"
    | "position"
    | "segment"
    | "embedding"
    | "head"
    | "ffn"
    | "bias"
    | "distance";
  readonly layer: number | null;
  readonly head: number | null;
  readonly token: number | null;
  /** The token that a head read most of, for this side. */
  readonly source: number | null;
  /** In cross-attention: 0 for a token of the source, 1 for one of the text that is written. */
  readonly text?: 0 | 1;
}

/** A cell, and how its score is taken apart. */
export interface OfCell {
  readonly layer: number;
  readonly head: PinnedCell["head"];
  readonly query: number;
  readonly key: number;
  readonly against: Against;
  readonly by: By | null;
}
export type CellRequest = { readonly kind: "qk" } & OfCell & { readonly matrix?: true };

/** A pair of entries, by their indices, and what it adds. */
type PartPair = readonly [query: number, key: number, value: number];

export interface Found {
  readonly by: By;
  /** The ways that this model offers, the default first. */
  readonly others: readonly By[];
  readonly against: Against;
  readonly againsts: readonly Exclude<Against, number>[];
  readonly fallback: string | null;
  readonly score: number;
  readonly weight: number;
  readonly contrast: number;
  readonly constant: number;
  readonly distance: number;
  readonly capped: number | null;
  readonly unreliable: boolean;
  readonly gap: number;
  readonly notes: readonly string[];
  readonly parts: Readonly<Record<SideName, readonly Part[]>>;
  readonly sums: Readonly<Record<SideName, Float32Array>>;
  readonly pairs: readonly PartPair[];
  readonly pairsRest: number;
  /** `[query parts, key parts]`; null where it was not asked for. */
  readonly matrix: Float32Array | null;
}

/** A question that a slow kernel or a saved page may answer. */
export const isAnswered = (source: Source, request: SliceRequest): boolean =>
  source.has?.(request) ?? source.live;

export const cellRequest = (
  { layer, head, query, key }: PinnedCell,
  against: Against,
  by: By | null,
): CellRequest => ({ kind: "qk", layer, head, query, key, against, by });

export async function askCell(
  source: Source,
  request: CellRequest,
  options: SliceOptions,
): Promise<Found> {
  const slice = await source.ask(request, options);
  const { query_parts, key_parts, pairs_rest, ...data } = slice.data as unknown as Omit<
    Found,
    "parts" | "sums" | "matrix" | "pairsRest"
  > & {
    readonly query_parts: readonly Part[];
    readonly key_parts: readonly Part[];
    readonly pairs_rest: number;
  };
  return {
    ...data,
    pairsRest: pairs_rest,
    parts: { query: query_parts, key: key_parts },
    sums: { query: floats(slice, "query_sums"), key: floats(slice, "key_sums") },
    matrix: (slice.arrays.get("matrix")?.data as Float32Array | undefined) ?? null,
  };
}
const floats = (slice: Slice, name: string) => arrayOf(slice, name).data as Float32Array;

/** A part taken out: what it writes straight into the head, what the contrast loses when the network runs on, and the weight then. */
export interface Effect {
  readonly part: number;
  readonly direct: number;
  readonly total: number;
  readonly weight: number;
}
export type Effects = Readonly<Record<SideName, readonly Effect[]>>;

export const effectsRequest = (of: OfCell, side: SideName, parts: readonly number[]) =>
  ({ kind: "qk_effects", ...of, side, parts }) as const;
export const traceRequest = (of: OfCell, depth: number) =>
  ({ kind: "qk_trace", ...of, depth }) as const;

/** Entries of both sides, one side after the other. */
export async function askEffects(
  source: Source,
  cell: OfCell,
  parts: Readonly<Record<SideName, readonly number[]>>,
  { signal, progress }: Required<SliceOptions>,
): Promise<Effects> {
  const found: Record<SideName, readonly Effect[]> = { key: [], query: [] };
  for (const [i, side] of SIDES.entries()) {
    const options = {
      signal,
      progress: (done: number, total: number) =>
        progress(i * (total || 1) + done, SIDES.length * (total || 1)),
    };
    const slice = await source.ask(effectsRequest(cell, side, parts[side]), options);
    found[side] = slice.data.effects as readonly Effect[];
  }
  return found;
}

/** Sums of the parts of a side of a cell. */
interface TracedSide {
  readonly heads: number;
  readonly ffns: number;
  readonly rest: number;
  readonly largest: readonly [part: Part, value: number];
}
/** A cell of the trace, and the cells that its parts lead to. */
export interface Traced {
  readonly layer: number;
  readonly head: number;
  readonly query: number;
  readonly key: number;
  readonly weight: number;
  readonly contrast: number;
  readonly sides: Readonly<Record<SideName, TracedSide>>;
  readonly children: readonly {
    readonly side: SideName;
    readonly part: readonly [layer: number, head: number];
    readonly value: number;
    readonly share: number;
    readonly node: Traced;
  }[];
  /** Why nothing below is followed. */
  readonly stop: string | null;
}

export async function askTrace(
  source: Source,
  cell: OfCell,
  depth: number,
  options: SliceOptions,
): Promise<Traced> {
  const slice = await source.ask(traceRequest(cell, depth), options);
  return slice.data.root as Traced;
}

/** The fields of a question that its effects and its trace share. */
export const ofCell = ({ kind: _, matrix: __, ...cell }: CellRequest): OfCell => cell;

declare module "../../protocol/types" {
  interface SliceRequests {
    readonly qk: OfCell & { readonly matrix?: true };
    readonly qk_effects: OfCell & { readonly side: SideName; readonly parts: readonly number[] };
    readonly qk_trace: OfCell & { readonly depth: number };
  }
}
