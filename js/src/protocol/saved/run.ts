/** The run in a saved page: what was recorded of it, and the chunks that hold its matrices. */

import type { Cells } from "../cells";
import { needsKernel } from "../failure";
import { keysOf, type Meta } from "../meta";
import { PackError, unpack } from "../pack";
import {
  type AnyRequest,
  type Arrays,
  type HeadIndex,
  type NdArray,
  requestKey,
  type Slice,
} from "../slice";
import type { HeadQuantity } from "../slices/attention";
import type { LongRun } from "../slices/long";
import { Rollouts } from "../slices/rollout";
import type { Aggregation, SentenceList, SentenceRun } from "../slices/sentences";
import { HeadMatrices } from "./heads";
import { inflate } from "./inflate";
import { LayerMatrices, type Layout, type Matrices } from "./layers";
import type { Errors } from "./precision";

/** The text of a chunk by name, as it stands in the page, once it does; null when the page has none of that name. */
export type Chunks = (name: string) => string | null | Promise<string | null>;

interface SnapshotMeta extends Errors {
  readonly layers: readonly number[];
  readonly heads: readonly number[];
  /** Scaling of each saved layer; null if only weights are known. */
  readonly scaling: readonly (number | null)[];
  readonly views: readonly string[];
  readonly selection: Readonly<Record<string, unknown>>;
  readonly title: string;
}

/** An answer of the kernel; its arrays are among those of the first paint, by these names. */
interface Recorded<R = AnyRequest> {
  readonly request: R;
  readonly data: Slice["data"];
  readonly arrays: Readonly<Record<string, string>>;
}

export type SavedMeta = Meta & {
  readonly snapshot: SnapshotMeta;
  readonly recorded: readonly Recorded[];
};

/** The arrays of a recorded answer by the names that the kernel gave them. */
export function recordedArrays({ arrays }: Recorded, stored: Arrays): Arrays {
  const found = Object.entries(arrays).map(([name, key]): [string, NdArray] => {
    const array = stored.get(key);
    if (array === undefined) throw new PackError(`The page lacks the array "${key}".`);
    return [name, array];
  });
  return new Map(found);
}

export class SavedRun implements LongRun, SentenceRun {
  readonly coded = true;
  readonly n: number;
  readonly rollouts: Rollouts;
  /** One token's row of the tensors that the page has no room for. */
  readonly tokenRow: Slice | null;
  readonly #matrices: Matrices;
  readonly #short: LayerMatrices | null;
  readonly #long: HeadMatrices | null;
  readonly #recorded: ReadonlyMap<string, Recorded>;

  /** `ask`: of the source, which keeps answers. */
  constructor(
    readonly meta: SavedMeta,
    readonly arrays: Arrays,
    chunks: Chunks,
    isLong: boolean,
    readonly ask: <R extends AnyRequest>(request: R) => Promise<Slice>,
  ) {
    const { snapshot, model, tokens } = meta;
    this.n = tokens.text.length;
    this.rollouts = new Rollouts(this.n);
    this.tokenRow = this.best("token_row", () => 0);
    this.#recorded = new Map(meta.recorded.map((entry) => [requestKey(entry.request), entry]));
    const layout: Layout = {
      ...snapshot,
      n: this.n,
      m: keysOf(meta).text.length,
      nHeads: model.n_heads,
      async chunk(name, what) {
        const text = await chunks(name);
        if (text === null) throw needsKernel(what);
        return unpack(await inflate(text));
      },
    };
    this.#short = isLong ? null : new LayerMatrices(layout);
    this.#long = isLong ? new HeadMatrices(layout) : null;
    this.#matrices = (this.#short ?? this.#long) as Matrices;
  }

  get layers(): readonly number[] {
    return this.meta.snapshot.layers;
  }

  get readsMeans(): boolean {
    return this.#short !== null;
  }

  /** The recorded answer; null where there is none. */
  recorded<R extends AnyRequest>(request: R): Slice | null {
    const entry = this.#recorded.get(requestKey(request));
    return entry === undefined ? null : this.#replay(entry);
  }

  /** The recorded answer to the largest request of a kind; null without any of at least size 0. */
  best<R extends AnyRequest>(kind: R["kind"], size: (request: R) => number): Slice | null {
    const entries = this.meta.recorded.filter(({ request }) => request.kind === kind);
    const sizes = entries.map(({ request }) => size(request as R));
    const largest = Math.max(...sizes);
    const entry = entries[sizes.indexOf(largest)];
    return entry === undefined || largest < 0 ? null : this.#replay(entry);
  }

  #replay(entry: Recorded): Slice {
    return { data: entry.data, arrays: recordedArrays(entry, this.arrays) };
  }

  has(quantity: HeadQuantity, layer: number, head: HeadIndex): boolean {
    return this.#matrices.has(quantity, layer, head);
  }

  cells(quantity: HeadQuantity, layer: number, head: HeadIndex): Promise<Cells> {
    return this.#matrices.cells(quantity, layer, head);
  }

  prefetch(layer: number, head: HeadIndex): void {
    this.#matrices.prefetch(layer, head);
  }

  /** Arrays of a layer's chunk; none of a long text. */
  async layerArrays(layer: number): Promise<Arrays> {
    return (await this.#short?.layer(layer)) ?? new Map();
  }

  async detail(layer: number, head: HeadIndex): Promise<Slice> {
    return (await this.#long?.detail(layer, head)) ?? { data: {}, arrays: new Map() };
  }

  /** The sentences, as they were recorded for the whole run. */
  sentences(aggregation: Aggregation): SentenceList {
    const recorded = this.recorded({ kind: "sentences", aggregation });
    if (recorded === null) throw needsKernel("Attention between so many sentences");
    const { texts, tokens, key_texts, key_tokens, note } = recorded.data;
    return { texts, tokens, key_texts, key_tokens, note } as SentenceList;
  }
}
