/** Chunks of a saved page: from the text of an element to bytes (attn_widget/page/compress.py). */

/** The digits of base 85: none is changed by HTML, JSON or a formula. */
const DIGITS =
  "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#:%,()*+-;.=/?@^_[{|}~";
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
  const digit = (at: number): number => value[codes[at] as number] as number;
  const bytes = new DataView(new ArrayBuffer(groups * BYTES));
  for (let group = 0, at = 0; group < groups; group++, at += CHARACTERS) {
    const high = (digit(at) * BASE + digit(at + 1)) * BASE + digit(at + 2);
    const low = digit(at + 3) * BASE + digit(at + 4);
    // Up to 2^32, above what 31 bits hold: the product of whole numbers keeps the 32 bits that count.
    bytes.setInt32(group * BYTES, Math.imul(high, BASE * BASE) + low);
  }
  return new Uint8Array(bytes.buffer, 0, groups * BYTES - missing);
}

/** A chunk's text, inflated beside the main thread. */
export async function inflate(text: string): Promise<ArrayBuffer> {
  return inflated(new Blob([decode85(text.trim())]).stream());
}

/** The same of a text in pieces of whole groups: one is decoded while those before it are inflated. */
export function inflatePieces(pieces: AsyncIterator<string>): Promise<ArrayBuffer> {
  return inflated(
    new ReadableStream({
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(decode85(value));
      },
    }),
  );
}

function inflated(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<ArrayBuffer> {
  return new Response(stream.pipeThrough(new DecompressionStream("deflate-raw"))).arrayBuffer();
}
