/** Answers about words and sentences; tags are those that the model's own states give. */

import { SliceFailure } from "../../../protocol/failure";
import { itemAt } from "../../../protocol/required";
import { type Aggregation, drill, gather, matrix, type Part } from "../../../protocol/sentences";
import type { Slice, SliceRequest } from "../../../protocol/types";
import { type Ran, within } from "../ran";
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

const known = new WeakMap<Ran, Promise<Words>>();

/** Words, sentences and tags of a run, found once. */
export function wordsOfRun(run: Ran): Promise<Words> {
  const words = known.get(run) ?? tagged(run);
  known.set(run, words);
  return words;
}

async function tagged(run: Ran): Promise<Words> {
  const parts = partsOfText(run);
  const reader = run.about.tagger ?? null;
  const pos =
    reader === null
      ? parts.words.map(() => null)
      : await tagsOf(run, reader, parts.words, parts.token_word);
  const token_pos = parts.token_word.map((word) => (word === null ? null : (pos[word] ?? null)));
  const notes = reader === null ? [NO_TAGS] : [];
  return { ...parts, pos, token_pos, tagger: reader && nameOf(reader), notes };
}

/** As `attn_widget.language.annotate` without a tagger. */
function partsOfText({ meta }: Ran): Parts {
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

async function language(run: Ran): Promise<Slice> {
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

async function* partsOf(
  run: Ran,
  kind: Aggregation,
  layer: number | null | undefined,
  head: number | null | undefined,
  [start, stop]: readonly [number, number],
): AsyncGenerator<Part> {
  const [n_layers, n_heads] = run.shape;
  const upTo = (size: number): number[] => Array.from({ length: size }, (_, i) => i);
  const layers = layer == null ? upTo(n_layers) : [layer];
  const mean = kind === "mass" && head == null;
  const heads = mean ? (["mean"] as const) : head == null ? upTo(n_heads) : [head];
  for (const one of layers) {
    for (const each of heads) {
      const weights = run.weights(one, each).subarray(start * run.n, stop * run.n);
      yield { layer: one, head: each === "mean" ? null : each, weights };
    }
  }
}

async function sentences(run: Ran, request: SliceRequest<"sentences">): Promise<Slice> {
  const { aggregation, layer, head } = request;
  const parts = partsOfText(run);
  const tokens = membersOf(parts);
  const whole = [0, run.n] as const;
  const all = await gather(
    aggregation,
    partsOf(run, aggregation, layer, head, whole),
    run.n,
    whole,
  );
  const texts = parts.sentences.map(({ text }) => text);
  const note = texts.length > 1 ? null : texts.length === 1 ? ONE : NONE;
  const made = matrix(aggregation, all, tokens, {});
  return { data: { texts, tokens, note }, arrays: made.arrays };
}

async function drilled(run: Ran, request: SliceRequest<"drill">): Promise<Slice> {
  const { aggregation, layer, head, a, b } = request;
  const tokens = membersOf(partsOfText(run));
  if (tokens.length === 0) throw new SliceFailure(NONE);
  within("a", a, tokens.length);
  within("b", b, tokens.length);
  const [queries, keys] = [itemAt(tokens, a), itemAt(tokens, b)];
  const rows = [Math.min(...queries), Math.max(...queries) + 1] as const;
  const gathered = await gather(
    aggregation,
    partsOf(run, aggregation, layer, head, rows),
    run.n,
    rows,
  );
  return { data: {}, arrays: drill(gathered, queries, keys).arrays };
}

export const WORDS: Answers = { language, sentences, drill: drilled };
