/** Loads the code that comes after the first picture. */

import { SliceFailure } from "../protocol/failure";
import { required } from "../protocol/required";
import type { Slice, SliceRequest, Source } from "../protocol/types";
import { type LazyCode, lazyCode } from "./contract";

/** The loader's way from the code that a kernel sent to the views in it; rejects code of another build. */
export type Link = (code: Uint8Array) => Promise<LazyCode>;

/** Request to the kernel. */
export const CODE: SliceRequest = { kind: "code" };

let link: Link | null = null;
let linking: Promise<LazyCode> | null = null;

export function linkWith(given: Link): void {
  link = given;
}

/** Runs the code that a saved page holds; null in a notebook. */
let runInPage: (() => Promise<void>) | null = null;

/** Let `run` set `lazyCode`, instead of asking a source. */
export function codeInPage(run: () => Promise<void>): void {
  runInPage = run;
}

/** The code, asked for where it is not here or on its way. Rejects with a `SliceFailure`. */
export async function askCode(source: Source, signal?: AbortSignal): Promise<LazyCode> {
  const here = lazyCode.peek();
  if (here !== null) return here;
  if (runInPage !== null) await runInPage();
  else if (linking === null) await acceptCode(await source.ask(CODE, signal && { signal }));
  else await linked(linking);
  return required(lazyCode.peek(), "The code of the views");
}

/** Take what the kernel answered to `CODE`. Rejects with a `SliceFailure`. */
export async function acceptCode({ arrays }: Slice): Promise<void> {
  const bytes = arrays.get("code")?.data;
  if (link === null || !(bytes instanceof Uint8Array)) throw new SliceFailure("No code arrived.");
  linking ??= link(bytes);
  await linked(linking);
}

async function linked(code: Promise<LazyCode>): Promise<void> {
  try {
    lazyCode.value ??= await code;
  } catch (error) {
    linking = null;
    throw new SliceFailure(
      `The page and the kernel have different versions of attn_widget (${String(error)}).`,
      "Run the cell again.",
    );
  }
}
