/** Facts of tokens besides their text: ids, tags, and the window that a long text's token was read in. */

import { onAbort } from "../../protocol/abort";
import { isAbort } from "../../protocol/failure";
import { keysOf } from "../../protocol/meta";
import { itemAt } from "../../protocol/required";
import type { Source } from "../../protocol/types";
import { lazyCode } from "../contract";

type Role = "query" | "key";

export interface Language {
  /** By token of the queries, and of the keys. */
  readonly sentence: readonly (number | null)[];
  readonly keySentence: readonly (number | null)[];
  /** `NOUN, entity PERSON`; null where nothing is known. */
  tags(token: number, role?: Role): string | null;
}

/** Long enough that the head's own numbers come first. */
const DELAY_MS = 400;

/** Asks for tags and sentences after the first picture. Calls `arrived` at most once; never where there is nothing to know. */
export function askLanguage(
  source: Source,
  signal: AbortSignal,
  arrived: (language: Language) => void,
): void {
  const { meta } = source;
  const timer = setTimeout(() => {
    source
      .ask({ kind: "language" }, { signal })
      .then(({ data }) => {
        if (signal.aborted) return;
        const column = <T>(name: string): readonly (T | null)[] =>
          Array.isArray(data[name]) ? (data[name] as (T | null)[]) : [];
        const queries = [column<string>("token_pos"), column<string>("token_entity")] as const;
        const two = meta.keys != null;
        const keys = [column<string>("key_pos"), column<string>("key_entity")] as const;
        const tags = { query: queries, key: two ? keys : queries };
        const sentence = column<number>("token_sentence");
        arrived({
          sentence,
          keySentence: two ? column<number>("key_sentence") : sentence,
          tags(token, role = "query") {
            const [pos, entity] = tags[role];
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
  onAbort(signal, () => clearTimeout(timer));
}

export type WindowName = (token: number, role?: Role) => string | null;

export interface TokenFacts {
  id(token: number, role?: Role): number;
  /** `NOUN, entity PERSON`; null when unknown. */
  tags(token: number, role?: Role): string | null;
  /** `window 2 of 9`, see `figures/long/windows.ts`; null where the text was read at once, and before the later parts are here. */
  window: WindowName;
}

export const factsOf = ({ meta }: Source, language: () => Language | null): TokenFacts => ({
  id: (token, role) => itemAt((role === "key" ? keysOf(meta) : meta.tokens).id, token),
  tags: (token, role) => language()?.tags(token, role) ?? null,
  window: (token, role) => lazyCode.peek()?.windows.name(meta, token, role) ?? null,
});
