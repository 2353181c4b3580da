/** Parts of speech and entities of the words; requested once nothing else is pending. */

import type { Tag, Tags } from "../../draw/text-line";
import { whenIdle } from "../../draw/wait";
import { isAbort } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import type { Meta, Slice } from "../../protocol/types";
import type { ViewContext } from "../../views/contract";

const text = (value: unknown): string | null =>
  typeof value === "string" && value !== "" ? value : null;

/** Null when there are no tags. */
export function readTags({ data }: Slice): Tags | null {
  const { words, token_word, tagger } = data;
  if (!Array.isArray(words) || !Array.isArray(token_word)) return null;
  const read = words.map((word: Record<string, unknown>) => ({
    pos: text(word.pos),
    entity: text(word.entity),
    segment: word.segment,
  }));
  if (!read.some(({ pos, entity }) => pos !== null || entity !== null)) return null;
  const tags = read.map(({ pos, entity, segment }, i) => {
    const next = read[i + 1];
    const goes = next?.entity === entity && next?.segment === segment;
    return { pos, entity, label: goes ? null : entity };
  });
  return {
    wordOf: (token) => (token_word[token] as number | null | undefined) ?? null,
    of: (word) => tags[word] ?? null,
    tagger: text(tagger) ?? "",
  };
}

/** As wide as a usual tag; invisible. */
const BLANK: Tag = { pos: "\u2007".repeat(5), entity: null, label: null };
const JOINED = { from: /[\p{L}\p{M}]$/u, to: /^[\p{L}\p{M}]/u };
const MOSTLY_LATIN = 0.5;

/**
 * Blank tags that hold the place of those that are on their way, so that nothing moves when they come.
 * Null for a text in another script than Latin, which hardly any tagger reads.
 */
export function blankTags({ before, special, surface }: Meta["tokens"]): Tags | null {
  const letters = surface.join("").match(/\p{L}/gu) ?? [];
  const latin = letters.filter((letter) => /\p{Script=Latin}/u.test(letter)).length;
  if (latin <= MOSTLY_LATIN * letters.length) return null;
  let word = -1;
  const words = before.map((gap, token) => {
    if (special[token]) return null;
    const goesOn =
      gap === "" &&
      token > 0 &&
      !special[token - 1] &&
      JOINED.from.test(itemAt(surface, token - 1)) &&
      JOINED.to.test(itemAt(surface, token));
    if (!goesOn) word++;
    return word;
  });
  return { wordOf: (token) => words[token] ?? null, of: () => BLANK, tagger: "" };
}

/** Ask for the tags once, later; `ready` gets null where there are none, with the reason. */
export function askForTags(
  { source, signal }: Pick<ViewContext, "source" | "signal">,
  ready: (tags: Tags | null, reason: string) => void,
): void {
  whenIdle(() => {
    if (signal.aborted) return;
    source.ask({ kind: "language" }, { signal }).then(
      (slice) => {
        const notes = slice.data.notes;
        const note = Array.isArray(notes) ? notes.join(" ") : text(notes);
        ready(readTags(slice), note || "This text has no tags.");
      },
      (error: unknown) => {
        if (!isAbort(error)) ready(null, "Tags are unavailable.");
      },
    );
  });
}
