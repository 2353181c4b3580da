/** The model's file out of a page's text, or out of a script next to the page. */

import { inflatePieces } from "../../../protocol/saved/inflate";
import { EngineError } from "../errors";

const damaged = (): EngineError =>
  new EngineError(
    "truncated",
    "The model in this page is cut off or damaged. Copy or download the page again.",
  );

/** Throws an `EngineError` (truncated) for a text that was cut off. */
export async function unpackWeights(
  pieces: AsyncIterator<string>,
): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return interleave(new Uint8Array(await inflatePieces(pieces)));
  } catch (error) {
    throw error instanceof EngineError ? error : damaged();
  }
}

/** Characters of a piece, a multiple of five. */
const PIECE = 500_000;
/** Ms between two looks at a page that is being read. */
const LOOK_MS = 4;

export async function* cut(text: string): AsyncGenerator<string, void, void> {
  for (let start = 0; start < text.length; start += PIECE) yield text.slice(start, start + PIECE);
}

/** The text of this page's model, piece by piece while the page is still being read; no piece stays in the page. */
export async function* textInside(): AsyncGenerator<string, void, void> {
  const elements = document.getElementsByClassName("aw-weights");
  for (let count = 0; ; ) {
    const loading = document.readyState === "loading";
    const [first] = elements;
    // The last element may have been read in part.
    if (first !== undefined && (elements.length > 1 || !loading)) {
      const text = first.textContent ?? "";
      first.remove();
      count++;
      yield text;
    } else if (loading) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    else if (count > 0) return;
    else
      throw new EngineError(
        "truncated",
        "This page was cut off before its model. Copy or download it again.",
      );
  }
}

/** The file whose even bytes stand first here, and whose odd ones come after them. */
function interleave(planes: Uint8Array): Uint8Array<ArrayBuffer> {
  const words = new Uint16Array(Math.ceil(planes.length / 2));
  const odd = planes.subarray(words.length);
  for (let i = 0; i < words.length; i++) words[i] = (planes[i] as number) | ((odd[i] ?? 0) << 8);
  return new Uint8Array(words.buffer, 0, planes.length);
}

/** A script next to the page that holds the model's file. */
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
