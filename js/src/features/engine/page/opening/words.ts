/** Words of a text as a link reads them: attn_widget/analysis/opening_words.py, which gives the reasons, in the page. */

import {
  ALSO_ENGLISH,
  BEFORE_ADJECTIVES,
  BEFORE_VERBS,
  CONJUNCTIONS,
  COPULAS,
  DETERMINERS,
  ELSEWHERE,
  FUNCTION_WORDS,
  PRONOUNS,
  REFERRING,
} from "../../../../catalog/function-words";
import { uncontracted } from "../../../../figures/function-words";
import { isInNumber, UMLAUT } from "../../../../figures/plain-words";
import { itemAt } from "../../../../protocol/required";
import type { Meta } from "../../../../protocol/types";
import { MASK, UNKNOWN } from "../metadata";

type Kind = "outside" | "function" | "person" | "content" | "pronoun" | "copula" | "mask";
type Role = "untold" | "noun" | "verb" | "predicate";

/** A word, mark or symbol. */
export interface Unit {
  /** Its tokens, one after the other. */
  readonly pieces: readonly number[];
  readonly name: string;
  readonly kind: Kind;
  readonly role: Role;
}

const FEW_WORDS = 4;
const SHORT_LATIN = /^[a-z\u00df-\u017f]{1,3}$/u;
const COMMON = 3;
const SENTENCE_ENDS: ReadonlySet<string> = new Set([".", "!", "?", ":", '"', "“"]);
const ENDS: ReadonlySet<string> = new Set([...SENTENCE_ENDS, ",", ";", "", ...CONJUNCTIONS]);
const GRAMMAR =
  /^[的了在是和不也就都而及与着或一个这那们里上下吗呢吧被把给让从到对为于之其子我你他她它\u3041-\u309f]+$/u;
/** East Asian characters that take two places: such a one begins a word. */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const MARKS = /^[^\p{L}\p{N}\p{M}]*$/u;
const isWord = (name: string): boolean => /[\p{L}\p{N}]/u.test(name);

/** Tokens of each word; punctuation, symbols and unknown ones alone; special tokens in none. */
function unitsOf({ surface, segment, start, end, special }: Meta["tokens"]): number[][] {
  const units: number[][] = [];
  let open = false;
  for (const [i, text] of surface.entries()) {
    const mark = MARKS.test(text) && !isInNumber({ surface, start, end }, i);
    const joined =
      open &&
      !mark &&
      segment[i] === segment[i - 1] &&
      itemAt(end, i - 1) >= itemAt(start, i) &&
      !WIDE.test(text);
    if (special[i]) open = false;
    else {
      if (joined) units.at(-1)?.push(i);
      else units.push([i]);
      open = !mark;
    }
  }
  return units;
}

/** Which words are common in a text of another language: by a list, or by their place in the vocabulary. */
function commonOf(units: readonly number[][], names: readonly string[], id: readonly number[]) {
  const count = (known: ReadonlySet<string>) => names.filter((name) => known.has(name)).length;
  const [english, elsewhere] = [count(FUNCTION_WORDS), count(ELSEWHERE) + count(ALSO_ENGLISH)];
  const foreign = names.some(
    (name) => (ELSEWHERE.has(name) && !FUNCTION_WORDS.has(name)) || UMLAUT.test(name),
  );
  if (foreign && elsewhere > english)
    return names.map(
      (name) => ELSEWHERE.has(name) || ALSO_ENGLISH.has(name) || SHORT_LATIN.test(name),
    );
  if (english > 0 || names.filter(isWord).length < FEW_WORDS) return names.map(() => false);
  const ranks = units.map((pieces, u) => {
    const name = itemAt(names, u);
    return pieces.length === 1 && isWord(name) && !WIDE.test(name)
      ? itemAt(id, itemAt(pieces, 0))
      : Number.POSITIVE_INFINITY;
  });
  const ranked = ranks.filter(Number.isFinite).sort((a, b) => a - b);
  const early = ranked[Math.floor((ranked.length - 1) / COMMON)] ?? -1;
  return ranks.map((rank) => rank <= early);
}

export function wordsOf(tokens: Meta["tokens"]): Unit[] {
  const units = unitsOf(tokens);
  const written = units.map((pieces) =>
    pieces
      .map((i) => itemAt(tokens.surface, i))
      .join("")
      .trim(),
  );
  const names = written.map((word) => word.toLowerCase());
  const common = commonOf(units, names, tokens.id);
  const text = (i: number): string => itemAt(tokens.text, i);

  const kinds = units.map((pieces, u): Kind => {
    const name = uncontracted(itemAt(names, u));
    const [before, after] = [names[u - 1] ?? "", names[u + 1] ?? ""];
    if (text(itemAt(pieces, 0)) === MASK) return "mask";
    if (!isWord(name) || pieces.some((i) => text(i) === UNKNOWN)) return "outside";
    if (REFERRING.has(name)) return "pronoun";
    if (COPULAS.has(name) && !PRONOUNS.has(before) && before !== "there") return "copula";
    if (PRONOUNS.has(name)) return "person";
    if (name === "like" && DETERMINERS.has(after) && !BEFORE_VERBS.has(before)) return "function";
    if (/^['’]$/.test(after) && names[u + 2] === "t") return "function";
    const listed = FUNCTION_WORDS.has(name) || GRAMMAR.test(name);
    return listed || common[u] || /^[a-z]$/.test(name) ? "function" : "content";
  });

  const at = (u: number): string => names[u] ?? "";
  const content = (u: number): boolean => kinds[u] === "content";
  const capital = written.map((word) => /^\p{Lu}/u.test(word));
  const named = capital.map((is, u) => u > 0 && is && !SENTENCE_ENDS.has(at(u - 1)));
  const beforeOf = (u: number): string => {
    if (at(u - 1) === "t" && u > 2 && /^['’]$/.test(at(u - 2))) return at(u - 3).replace(/n$/, "");
    return at(at(u - 1) === "not" && u > 1 ? u - 2 : u - 1);
  };
  const isVerb = (name: string, u: number): boolean => {
    const [before, after] = [beforeOf(u), at(u + 1)];
    if (!content(u) || named[u]) return false;
    if (COPULAS.has(before) || ["be", "been", "being"].includes(before))
      return /(ed|ing)$/.test(name) || after === "by" || after === "in";
    if (before === "to") return DETERMINERS.has(after) || PRONOUNS.has(after);
    if (before === "that" && u > 1 && content(u - 2) && !isVerb(at(u - 2), u - 2)) return true;
    const follows = content(u - 1) || ENDS.has(before);
    return BEFORE_VERBS.has(before) || (follows && (DETERMINERS.has(after) || /ed$/.test(name)));
  };
  const verbs = names.map(isVerb);
  const isNoun = (u: number): boolean => {
    if (/ly$/.test(at(u))) return false;
    const ends = named[u] || !content(u + 1) || verbs[u + 1] || (capital[u] && named[u + 1]);
    return ends === true;
  };
  const roleOf = (u: number): Role => {
    if (!content(u)) return "untold";
    if (verbs[u]) return "verb";
    if (BEFORE_ADJECTIVES.has(beforeOf(u))) return "predicate";
    return isNoun(u) ? "noun" : "untold";
  };
  return units.map((pieces, u) => ({
    pieces,
    name: at(u),
    kind: itemAt(kinds, u),
    role: roleOf(u),
  }));
}
