/**
 * WordPiece as the Python tokenizer of the embedded model does it, with the same ids and offsets.
 *
 * The tables come from that tokenizer (scripts/engine_tables.py); offsets count code points, as Python's do.
 */

import { EngineError } from "./errors";
import { DROPPED, EXCEPTIONS, IDEOGRAPHS, PUNCTUATION, SPACE } from "./tables";

/** Words of more characters than this are one unknown token. */
const LONGEST_WORD = 100;
/** Tokens that a text can name literally. */
const SPECIAL = /\[(?:PAD|UNK|CLS|SEP|MASK)\]/g;

/** One text, or a pair, as token ids; all arrays have the same length. */
export interface Encoded {
  readonly ids: readonly number[];
  /** 0 for the first text and its special tokens, 1 for the second. */
  readonly typeIds: readonly number[];
  /** First and last + 1 code point in its text; 0, 0 for [CLS] and [SEP] around the texts. */
  readonly offsets: readonly (readonly [number, number])[];
}

/** Test for code points in the runs of a table: gap, length, gap, length in base 36. */
function inRuns(table: string): (code: number) => boolean {
  const ends: number[] = [];
  let end = 0;
  for (const word of table.split(" ")) {
    end += Number.parseInt(word, 36);
    ends.push(end);
  }
  return (code) => {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ends[middle] ?? 0) <= code) low = middle + 1;
      else high = middle;
    }
    return low % 2 === 1;
  };
}

const isDropped = inRuns(DROPPED);
const isSpace = inRuns(SPACE);
const isIdeograph = inRuns(IDEOGRAPHS);
const isPunctuation = inRuns(PUNCTUATION);
const exceptions = new Map(EXCEPTIONS);

/** Lower case without accents; empty where nothing is left. */
function normalized(code: number): string {
  const exception = exceptions.get(code);
  if (exception !== undefined) return exception;
  let text = "";
  for (const part of String.fromCodePoint(code).normalize("NFD")) {
    if (!isDropped(part.codePointAt(0) ?? 0)) text += part.toLowerCase();
  }
  // A lower case letter can bring a mark with it: dotted I does.
  if (text.length < 2) return text;
  return Array.from(text)
    .filter((part) => !isDropped(part.codePointAt(0) ?? 0))
    .join("");
}

/** A word after normalization: its characters, and the code point in the text that each came from. */
interface Word {
  readonly characters: string[];
  readonly places: number[];
}

/** The words of some code points, punctuation and ideographs each alone. */
function* wordsOf(codes: readonly number[], start: number, end: number): Generator<Word> {
  let word: Word = { characters: [], places: [] };
  const alone = (character: string, place: number): Word => ({
    characters: [character],
    places: [place],
  });
  for (let place = start; place < end; place++) {
    const code = codes[place] ?? 0;
    const surrogate = code >= 0xd800 && code < 0xe000;
    if (surrogate || isDropped(code)) continue;
    const ideograph = isIdeograph(code);
    if (isSpace(code) || ideograph) {
      if (word.characters.length > 0) yield word;
      word = { characters: [], places: [] };
      if (!ideograph) continue;
    }
    for (const character of normalized(code)) {
      if (isPunctuation(character.codePointAt(0) ?? 0)) {
        if (word.characters.length > 0) yield word;
        yield alone(character, place);
        word = { characters: [], places: [] };
      } else {
        word.characters.push(character);
        word.places.push(place);
      }
    }
    if (ideograph && word.characters.length > 0) {
      yield word;
      word = { characters: [], places: [] };
    }
  }
  if (word.characters.length > 0) yield word;
}

export class Tokenizer {
  readonly #ids: ReadonlyMap<string, number>;
  readonly #limit: number;

  /**
   * @param vocabulary tokens by id
   * @param limit most tokens that a text can have, special ones included
   */
  constructor(
    readonly vocabulary: readonly string[],
    limit: number,
  ) {
    this.#ids = new Map(vocabulary.map((token, id) => [token, id]));
    this.#limit = limit;
  }

  /** The id of a token; that of [UNK] where there is none. */
  idOf(token: string): number {
    return this.#ids.get(token) ?? this.#ids.get("[UNK]") ?? 0;
  }

  /** Throws an `EngineError` (too-long) as soon as a text has too many tokens. */
  encode(text: string, pair?: string): Encoded {
    const ids: number[] = [];
    const typeIds: number[] = [];
    const offsets: [number, number][] = [];
    const add = (id: number, type: number, start: number, end: number): void => {
      if (ids.length === this.#limit)
        throw new EngineError(
          "too-long",
          `The text has more than ${this.#limit} tokens, the most that the model reads. Shorten it.`,
        );
      ids.push(id);
      typeIds.push(type);
      offsets.push([start, end]);
    };
    add(this.idOf("[CLS]"), 0, 0, 0);
    for (const [type, segment] of [text, pair].entries()) {
      if (segment === undefined) continue;
      this.#segment(segment, (id, start, end) => add(id, type, start, end));
      add(this.idOf("[SEP]"), type, 0, 0);
    }
    return { ids, typeIds, offsets };
  }

  #segment(text: string, add: (id: number, start: number, end: number) => void): void {
    let from = 0;
    let place = 0;
    const part = (end: number): void => {
      const codes = Array.from(text.slice(from, end), (character) => character.codePointAt(0) ?? 0);
      for (const word of wordsOf(codes, 0, codes.length))
        this.#pieces(word, (id, a, b) => add(id, place + a, place + b));
      place += codes.length;
      from = end;
    };
    for (const match of text.matchAll(SPECIAL)) {
      part(match.index);
      const [name] = match;
      add(this.idOf(name), place, place + name.length);
      place += name.length;
      from += name.length;
    }
    part(text.length);
  }

  /** The longest pieces from the left; the whole word unknown where one is missing. */
  #pieces(word: Word, add: (id: number, start: number, end: number) => void): void {
    const { characters, places } = word;
    const length = characters.length;
    const span = (first: number, last: number): [number, number] => [
      places[first] ?? 0,
      (places[last] ?? 0) + 1,
    ];
    const spans: [number, number, number][] = [];
    for (let start = 0; start < length; ) {
      let end = length;
      let id: number | undefined;
      for (; end > start && length <= LONGEST_WORD; end--) {
        const piece = characters.slice(start, end).join("");
        id = this.#ids.get(start > 0 ? `##${piece}` : piece);
        if (id !== undefined) break;
      }
      if (id === undefined) {
        add(this.idOf("[UNK]"), ...span(0, length - 1));
        return;
      }
      spans.push([id, ...span(start, end - 1)]);
      start = end;
    }
    for (const piece of spans) add(...piece);
  }
}
