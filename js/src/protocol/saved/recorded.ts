/** Meta of the chunk `paint` of a saved page, and the source of its other chunks. */

import type { Errors } from "../precision";
import type { Meta, Slice, SliceRequest } from "../types";

export interface SnapshotMeta extends Errors {
  readonly layers: readonly number[];
  readonly heads: readonly number[];
  /** Scaling of each saved layer; null if only weights are known. */
  readonly scaling: readonly (number | null)[];
  readonly views: readonly string[];
  readonly selection: Readonly<Record<string, unknown>>;
  readonly title: string;
}

export interface Recorded {
  readonly request: SliceRequest;
  readonly data: Slice["data"];
  readonly arrays: Readonly<Record<string, string>>;
}

export type SavedMeta = Meta & {
  readonly snapshot: SnapshotMeta;
  readonly recorded: readonly Recorded[];
};

/** The text of a chunk by name, as it stands in the page, once it does; null when the page has none of that name. */
export type Chunks = (name: string) => string | null | Promise<string | null>;
