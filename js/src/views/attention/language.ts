/** Tags and sentences of the text, requested after the first picture. */

import { isAbort } from "../../protocol/failure";
import type { Source } from "../../protocol/types";

export interface Language {
  readonly sentence: readonly (number | null)[];
  /** `NOUN, entity PERSON`; null where nothing is known. */
  tags(token: number): string | null;
}

/** Long enough that the head's own numbers come first. */
const DELAY_MS = 400;

/** Calls `arrived` at most once; never where there is nothing to know. */
export function askLanguage(
  source: Source,
  signal: AbortSignal,
  arrived: (language: Language) => void,
): void {
  const timer = setTimeout(() => {
    source
      .slice({ kind: "language" }, { signal })
      .then(({ data }) => {
        if (signal.aborted) return;
        const column = <T>(name: string): readonly (T | null)[] =>
          Array.isArray(data[name]) ? (data[name] as (T | null)[]) : [];
        const pos = column<string>("token_pos");
        const entity = column<string>("token_entity");
        arrived({
          sentence: column<number>("token_sentence"),
          tags(token) {
            const tag = pos[token] ?? "";
            const kind = entity[token] ?? "";
            const parts = [tag, kind === "" ? "" : `entity ${kind}`].filter((part) => part !== "");
            return parts.length === 0 ? null : parts.join(", ");
          },
        });
      })
      .catch((error: unknown) => {
        // Lines and tags are an extra: without them the picture stands as it is.
        if (!isAbort(error)) console.debug("attn-widget:", error);
      });
  }, DELAY_MS);
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
}
