/** Chunks of a saved page: from the text of an element to bytes (attn_widget/page/compress.py). */

/** The digits of base 85: none is changed by HTML, JSON or a template. */
const DIGITS =
  "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%,()*+-;.=/?@^_[]|:~";
const [CHARACTERS, BYTES, BASE] = [5, 4, 85] as const;
const LAST = DIGITS.charCodeAt(BASE - 1);

let values: Uint8Array | null = null;

/** The digit of each character code. */
function digits(): Uint8Array {
  if (values === null) {
    values = new Uint8Array(128);
    for (let digit = 0; digit < BASE; digit++) values[DIGITS.charCodeAt(digit)] = digit;
  }
  return values;
}

/** Four bytes of five characters each, the last group cut. */
export function decode85(text: string): Uint8Array<ArrayBuffer> {
  const value = digits();
  const groups = Math.ceil(text.length / CHARACTERS);
  const missing = groups * CHARACTERS - text.length;
  // Missing characters stand for the largest digit.
  const codes = new Uint8Array(groups * CHARACTERS).fill(LAST);
  new TextEncoder().encodeInto(text, codes);
  const words = new Uint32Array(groups);
  // No calls and no DataView: a page's code is decoded by a loop that runs for the first time.
  for (let group = 0, at = 0; group < groups; group++, at += CHARACTERS) {
    const first = (value[codes[at] as number] as number) * BASE;
    const high =
      (first + (value[codes[at + 1] as number] as number)) * BASE +
      (value[codes[at + 2] as number] as number);
    const low =
      (value[codes[at + 3] as number] as number) * BASE +
      (value[codes[at + 4] as number] as number);
    // Up to 2^32, above what 31 bits hold: the product of whole numbers keeps the 32 bits that count.
    const word = Math.imul(high, BASE * BASE) + low;
    // The most significant byte comes first.
    words[group] = (word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24);
  }
  return new Uint8Array(words.buffer, 0, groups * BYTES - missing);
}

/** A chunk's text, inflated outside the main thread. */
export async function inflate(text: string): Promise<ArrayBuffer> {
  const { writable, readable } = new DecompressionStream("deflate-raw");
  // Written at once instead of read from a blob, whose tasks wait for the parser of the page.
  const writer = writable.getWriter();
  const written = writer.write(decode85(text.trim())).then(() => writer.close());
  const [bytes] = await Promise.all([joined(readable), written]);
  return bytes;
}

/** The same of a text in pieces of whole groups: one is decoded while those before it are inflated. */
export function inflatePieces(pieces: AsyncIterator<string>): Promise<ArrayBuffer> {
  const decoded = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(decode85(value));
    },
  });
  return joined(decoded.pipeThrough(new DecompressionStream("deflate-raw")));
}

async function joined(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<ArrayBuffer> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    length += value.length;
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes.buffer;
}
