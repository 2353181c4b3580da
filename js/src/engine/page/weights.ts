/** The model's file out of a page's text, or out of a script beside the page. */

import { EngineError } from "../errors";

/** Places of the digits' characters that HTML and scripts read otherwise, and what stands for them. */
const DIGITS = 85;
const FIRST = 40;
const INSTEAD: Readonly<Record<number, string>> = { 20: "}", 52: "~" };

/** Values by character: the 85 digits of attn_widget/page/engine/text.py. */
const VALUES = new Uint8Array(128);
for (let value = 0; value < DIGITS; value++)
  VALUES[(INSTEAD[value] ?? String.fromCharCode(FIRST + value)).charCodeAt(0)] = value;

/** Bytes of base-85 digits: five for four bytes, the most significant first. */
function decode(text: string): Uint8Array<ArrayBuffer> {
  const digits = new TextEncoder().encode(text);
  const bytes = new Uint8Array(Math.ceil(digits.length / 5) * 4);
  const view = new DataView(bytes.buffer);
  for (let from = 0, to = 0; from + 4 < digits.length; from += 5, to += 4) {
    let word = 0;
    for (let i = from; i < from + 5; i++)
      word = word * DIGITS + (VALUES[digits[i] as number] as number);
    view.setUint32(to, word);
  }
  return bytes;
}

const damaged = (): EngineError =>
  new EngineError(
    "truncated",
    "The model in this page is cut off or damaged. Copy or download the page again.",
  );

/** Throws an `EngineError` (truncated) for a text that was cut off. */
export async function unpackWeights(text: string): Promise<Uint8Array<ArrayBuffer>> {
  // "<length> <digits>": the last digits may stand for bytes that fill a word.
  const [length = "", digits = ""] = text.trim().split(" ");
  const packed = decode(digits);
  let planes: Uint8Array;
  try {
    if (packed.length - Number(length) >= 4 || packed.length < Number(length)) throw damaged();
    const stream = new Blob([packed.subarray(0, Number(length))])
      .stream()
      .pipeThrough(new DecompressionStream("deflate-raw"));
    planes = new Uint8Array(await new Response(stream).arrayBuffer());
  } catch {
    throw damaged();
  }
  const file = new Uint8Array(planes.length);
  const half = Math.ceil(planes.length / 2);
  for (let i = 0; i < half; i++) file[2 * i] = planes[i] as number;
  for (let i = half; i < planes.length; i++) file[2 * (i - half) + 1] = planes[i] as number;
  return file;
}

/** A script beside the page that holds the model's file. */
export interface Beside {
  /** Address, relative to the page. */
  readonly src: string;
  /** Name of the file in the script: its checksum in hexadecimal digits. */
  readonly key: string;
}

type Shelf = { attnWidgetModels?: Record<string, string> };

/** The text of the model's file in a script: pages from a folder may load scripts, and fetch nothing. */
export function textBeside({ src, key }: Beside): Promise<string> {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    const name = decodeURIComponent(src);
    const fail = (code: "file" | "truncated", message: string): void =>
      reject(new EngineError(code, message));
    script.onerror = () =>
      fail(
        "file",
        `The model's file ${name}, which belongs to this page, cannot be loaded. Put it there, and try again.`,
      );
    script.onload = () => {
      const shelf = (globalThis as Shelf).attnWidgetModels;
      const text = shelf?.[key];
      if (text === undefined)
        fail(
          "truncated",
          `The model's file ${name} is cut off, damaged, or of another page. Copy or download it again.`,
        );
      else {
        delete shelf?.[key];
        resolve(text);
      }
    };
    // JupyterLab's server gives files to addresses with its token alone, which that of the page has.
    const { search } = new URL(document.baseURI);
    script.src = search.includes("_xsrf=") ? src + search : src;
    document.head.append(script);
    script.addEventListener("load", () => script.remove());
    script.addEventListener("error", () => script.remove());
  });
}
