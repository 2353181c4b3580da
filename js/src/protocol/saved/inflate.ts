/** Chunks of a saved page: from the text of an element to bytes (attn_widget/page/compress.py). */

/** The digits of base 85: none is changed by HTML, JSON or a formula. */
const DIGITS =
  "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#:%,()*+-;.=/?@^_[{|}~";
const [CHARACTERS, BYTES, BASE] = [5, 4, 85] as const;

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
  const bytes = new Uint8Array(groups * BYTES);
  // Missing characters stand for the largest digit.
  const whole = text + "~".repeat(missing);
  for (let at = 0, to = 0; to < bytes.length; at += CHARACTERS, to += BYTES) {
    const high =
      ((value[whole.charCodeAt(at)] as number) * BASE +
        (value[whole.charCodeAt(at + 1)] as number)) *
        BASE +
      (value[whole.charCodeAt(at + 2)] as number);
    // Below 2^32, and above what 31 bits hold: the last steps in floating point.
    const number =
      (high * BASE + (value[whole.charCodeAt(at + 3)] as number)) * BASE +
      (value[whole.charCodeAt(at + 4)] as number);
    bytes[to] = number >>> 24;
    bytes[to + 1] = number >>> 16;
    bytes[to + 2] = number >>> 8;
    bytes[to + 3] = number;
  }
  return bytes.subarray(0, bytes.length - missing);
}

/** A chunk's text, inflated beside the main thread. */
export async function inflate(text: string): Promise<ArrayBuffer> {
  const stream = new Blob([decode85(text.trim())])
    .stream()
    .pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).arrayBuffer();
}
