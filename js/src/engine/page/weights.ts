/** The model's file out of a page's text: base64 of what is deflated, all even bytes before all odd ones. */

import { EngineError } from "../errors";

type FromBase64 = { fromBase64?(text: string): Uint8Array<ArrayBuffer> };

function decode(text: string): Uint8Array<ArrayBuffer> {
  const quick = (Uint8Array as unknown as FromBase64).fromBase64;
  if (quick !== undefined) return quick.call(Uint8Array, text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Throws an `EngineError` (truncated) for a text that was cut off. */
export async function unpackWeights(text: string): Promise<Uint8Array<ArrayBuffer>> {
  let planes: Uint8Array;
  try {
    const stream = new Blob([decode(text.trim())])
      .stream()
      .pipeThrough(new DecompressionStream("deflate-raw"));
    planes = new Uint8Array(await new Response(stream).arrayBuffer());
  } catch {
    throw new EngineError(
      "truncated",
      "The model in this page is cut off or damaged. Copy or download the page again.",
    );
  }
  const file = new Uint8Array(planes.length);
  const half = Math.ceil(planes.length / 2);
  for (let i = 0; i < half; i++) file[2 * i] = planes[i] as number;
  for (let i = half; i < planes.length; i++) file[2 * (i - half) + 1] = planes[i] as number;
  return file;
}
