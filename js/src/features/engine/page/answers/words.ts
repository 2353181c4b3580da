/** Answers about words and sentences; tags are those that the model's own states give. */

import { SliceFailure } from "../../../../protocol/failure";
import { itemAt } from "../../../../protocol/required";
import {
  drillSlice,
  type SentenceList,
  sentencesSlice,
} from "../../../../protocol/slices/sentences";
import type { Meta, Slice } from "../../../../protocol/types";
import { type EngineRun, within } from "../engine-run";
import type { Answers } from "./contract";
import { align, type Span, sentencesOf, trim } from "./segment";
import { nameOf, tagsOf } from "./tags";

export const NO_TAGS = "Parts of speech and entities need a tagger, and this page has none.";
const ONE = "The text is one sentence, so there is no other to compare it with.";
const NONE = "No sentence was found in the text.";

interface Piece {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly segment: number;
  /** `[first, last + 1]`. */
  readonly tokens: readonly [number, number];
}
interface Parts {
  readonly words: readonly Piece[];
  readonly sentences: readonly Piece[];
  readonly token_word: readonly (number | null)[];
  readonly token_sentence: readonly (number | null)[];
}

interface Words extends Parts {
  /** The tag of each word; `token_pos` is that of each token's word. */
  readonly pos: readonly (string | null)[];
  readonly token_pos: readonly (string | null)[];
  readonly tagger: string | null;
  readonly notes: readonly string[];
}

const wordsByRun = new WeakMap<EngineRun, Promise<Words>>();

/** Words, sentences and tags of a run, found once. */
export function wordsOfRun(run: EngineRun): Promise<Words> {
  let words = wordsByRun.get(run);
  if (words === undefined) {
    words = tagged(run);
    wordsByRun.set(run, words);
    words.catch(() => wordsByRun.delete(run));
  }
  return words;
}

async function tagged(run: EngineRun): Promise<Words> {
  const parts = partsOfText(run.meta);
  const reader = run.metadata.tagger ?? null;
  const pos =
    reader === null
      ? parts.words.map(() => null)
      : await tagsOf(run, reader, parts.words, parts.token_word);
  const token_pos = parts.token_word.map((word) => (word === null ? null : (pos[word] ?? null)));
  const notes = reader === null ? [NO_TAGS] : [];
  return { ...parts, pos, token_pos, tagger: reader && nameOf(reader), notes };
}

/** As `attn_widget.language.annotate` without a tagger. */
export function partsOfText(meta: Pick<Meta, "tokens" | "text" | "text_pair">): Parts {
  const { tokens } = meta;
  const words: Piece[] = [];
  const sentences: Piece[] = [];
  const token_word: (number | null)[] = tokens.id.map(() => null);
  const token_sentence: (number | null)[] = tokens.id.map(() => null);
  for (const [segment, text] of [meta.text, meta.text_pair].entries()) {
    if (text === null) continue;
    const characters = Array.from(text);
    const own = tokens.id.flatMap((_, i) =>
      tokens.segment[i] === segment && !tokens.special[i] && spanOf(i)[0] < spanOf(i)[1] ? [i] : [],
    );
    const piece = ([start, end]: Span, members: readonly number[]): Piece => ({
      text: characters.slice(start, end).join(""),
      ...{ start, end, segment },
      tokens: [Math.min(...members), Math.max(...members) + 1],
    });
    const aligned = align(text, own.map(spanOf));
    const before = words.length;
    own.forEach((token, i) => {
      const word = aligned.wordOf[i] ?? null;
      if (word !== null) token_word[token] = before + word;
    });
    words.push(
      ...aligned.words.map((span, word) =>
        piece(
          span,
          own.filter((_, i) => aligned.wordOf[i] === word),
        ),
      ),
    );
    for (const tile of sentencesOf(text)) {
      const members = own.filter((token) => {
        const start = trim(characters, spanOf(token))[0];
        return tile[0] <= start && start < tile[1];
      });
      if (members.length === 0) continue;
      for (const token of members) token_sentence[token] = sentences.length;
      sentences.push(piece(trim(characters, tile), members));
    }
  }
  return { words, sentences, token_word, token_sentence };

  function spanOf(token: number): Span {
    return [itemAt(tokens.start, token), itemAt(tokens.end, token)];
  }
}

async function language(run: EngineRun): Promise<Slice> {
  const tagged = await wordsOfRun(run);
  const data = {
    words: tagged.words.map((word, i) => ({ ...word, pos: tagged.pos[i] ?? null, entity: null })),
    sentences: tagged.sentences,
    token_word: tagged.token_word,
    token_sentence: tagged.token_sentence,
    token_pos: tagged.token_pos,
    token_entity: run.meta.tokens.id.map(() => null),
    tagger: tagged.tagger,
    notes: tagged.notes,
  };
  return { data, arrays: new Map() };
}

/** Tokens of each sentence. */
function membersOf({ sentences, token_sentence }: Parts): number[][] {
  return sentences.map((_, at) =>
    token_sentence.flatMap((sentence, token) => (sentence === at ? [token] : [])),
  );
}

function listOf(run: EngineRun): SentenceList {
  const parts = partsOfText(run.meta);
  const texts = parts.sentences.map(({ text }) => text);
  const note = texts.length > 1 ? null : texts.length === 1 ? ONE : NONE;
  return { texts, tokens: membersOf(parts), note };
}

export const WORDS: Answers = {
  language,
  sentences: (run, request, options) => sentencesSlice(run, listOf(run), request, options),
  drill(run, request, options) {
    const list = listOf(run);
    if (list.tokens.length === 0) throw new SliceFailure(NONE);
    within("a", request.a, list.tokens.length);
    within("b", request.b, list.tokens.length);
    return drillSlice(run, list, request, options);
  },
};
