/** The part of a long ribbon that is in the page: chunks of tokens around what is looked at. Numbers alone. */

/** Tokens of a chunk; a few lines of text. */
export const CHUNK_TOKENS = 128;
/** Chunks in the page at a time. */
const CHUNKS_SHOWN = 5;

/** Chunks `[first, end)`. */
export type Chunks = readonly [first: number, end: number];

const chunkCount = (n: number): number => Math.ceil(n / CHUNK_TOKENS);
export const chunkOf = (token: number): number => Math.floor(token / CHUNK_TOKENS);
export const tokensOf = (chunk: number, n: number): readonly [number, number] => [
  chunk * CHUNK_TOKENS,
  Math.min(n, (chunk + 1) * CHUNK_TOKENS),
];

/** The chunks to show so that `token` is among them with as much before it as after it, where there is as much. */
export function chunksAround(token: number, n: number): Chunks {
  const count = chunkCount(n);
  const shown = Math.min(count, CHUNKS_SHOWN);
  const first = Math.max(0, Math.min(count - shown, chunkOf(token) - Math.floor(shown / 2)));
  return [first, first + shown];
}

/** One chunk further, forwards (1) or back (-1); the same at either end of the text. */
export function shiftChunks([first, end]: Chunks, by: 1 | -1, n: number): Chunks {
  const next = [first + by, end + by] as const;
  return next[0] < 0 || next[1] > chunkCount(n) ? [first, end] : next;
}
