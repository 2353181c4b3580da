/** Slices: named arrays and plain data that answer a request. */

export type DType = "uint8" | "int32" | "float32" | "float64";
export type TypedArray = Uint8Array | Int32Array | Float32Array | Float64Array;

/** A typed array and its shape, C order. */
export interface NdArray<T extends TypedArray = TypedArray> {
  readonly data: T;
  readonly shape: readonly number[];
}

export type Arrays = ReadonlyMap<string, NdArray>;

export interface Slice {
  readonly data: Readonly<Record<string, unknown>>;
  readonly arrays: Arrays;
}

/** Any request, before its kind is known. */
export interface AnyRequest {
  readonly kind: string;
}

/** Equal requests have equal keys, whatever the order of their fields. */
export function requestKey<R extends AnyRequest>(request: R): string {
  return JSON.stringify(
    Object.fromEntries(
      Object.entries(request)
        .filter(([, value]) => value !== undefined && value !== null)
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
  );
}

export interface SliceOptions {
  readonly signal?: AbortSignal;
  /** Told how far the kernel is with an answer that takes seconds; `total` is 0 while it is unknown. */
  readonly progress?: (done: number, total: number) => void;
}

export type HeadIndex = number | "mean";
export type Window = readonly [start: number, stop: number];
export type Rows = { readonly rows?: Window | null };
export type OfHead = { readonly layer: number; readonly head: number };
export type OfHeadOrMean = { readonly layer: number; readonly head: HeadIndex };

/** The request of a kind, out of an interface that has the fields of each. */
export type RequestOf<Fields, K extends keyof Fields = keyof Fields> = {
  [Kind in K]: { readonly kind: Kind } & Fields[Kind];
}[K];

/** Functions that answer requests about a run, by kind. */
export type Answers<Run, Fields> = {
  readonly [K in keyof Fields]?: (
    run: Run,
    request: RequestOf<Fields, K>,
    options: SliceOptions,
  ) => Slice | Promise<Slice>;
};

/** Tests for requests that a run can answer, where that is known without computing the answer. */
export type Knows<Run, Fields> = {
  readonly [K in keyof Fields]?: (run: Run, request: RequestOf<Fields, K>) => boolean;
};

/** The answer to a request; throws what `refused` gives where there is none of its kind. */
export async function answerWith<Run, R extends AnyRequest>(
  answers: object,
  run: Run,
  request: R,
  options: SliceOptions,
  refused: () => Error,
): Promise<Slice> {
  type Answer = (run: Run, request: R, options: SliceOptions) => Slice | Promise<Slice>;
  const answer = (answers as Readonly<Record<string, Answer>>)[request.kind];
  if (answer === undefined) throw refused();
  return answer(run, request, options);
}
