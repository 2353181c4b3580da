/** Numbers of a long matrix: tiles, and lists of links. */

export type Pooling = "max" | "mean";

export type LongQuantity = "weights" | "scores" | "rollout";

export interface TileData {
  readonly data: Float32Array;
  readonly rows: number;
  readonly columns: number;
}

export interface LinkList {
  readonly queries: Int32Array;
  readonly keys: Int32Array;
  readonly weights: Float32Array;
  /** All that there are. */
  readonly total: number;
}

export interface LinkChoice {
  readonly count: number;
  readonly least?: number | null;
  readonly special: boolean;
  readonly neighbors: boolean;
  readonly itself: boolean;
}
