/** Loads the code of the other views after the first picture. */

import { onAbort } from "../protocol/abort";
import type { Invoke } from "../protocol/comm/invoke";
import { readReply } from "../protocol/kernel";
import type { Meta } from "../protocol/types";
import { acceptCode, CODE } from "../views/lazy-views";
import { isComplete } from "./tabs";

/** From the first picture to the code of the other views, ms. */
export const DELAY_MS = 1500;
/** True while a widget of this page loads it. */
let loading = false;

/** A function to call with each run that is shown. Failures are not reported: the reader has not asked for the code. */
export function preloading(invoke: Invoke, until: AbortSignal): (meta: Meta) => void {
  let waiting: ReturnType<typeof setTimeout> | undefined;
  onAbort(until, () => clearTimeout(waiting));

  async function load(meta: Meta): Promise<void> {
    if (loading || isComplete(meta)) return;
    loading = true;
    try {
      await acceptCode(readReply(...(await invoke("slice", CODE, { signal: until }))));
    } catch (error) {
      console.debug("attn-widget:", error);
    } finally {
      loading = false;
    }
  }

  return (meta) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => void load(meta), DELAY_MS);
  };
}
