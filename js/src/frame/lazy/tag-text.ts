/** Title of a word with tags: its part of speech in words, and its entity. */

/** Universal parts of speech, in words. */
const POS_NAMES: Readonly<Record<string, string>> = {
  ADJ: "adjective",
  ADP: "adposition",
  ADV: "adverb",
  AUX: "auxiliary",
  CCONJ: "coordinating conjunction",
  DET: "determiner",
  INTJ: "interjection",
  NOUN: "noun",
  NUM: "numeral",
  PART: "particle",
  PRON: "pronoun",
  PROPN: "proper noun",
  PUNCT: "punctuation",
  SCONJ: "subordinating conjunction",
  SYM: "symbol",
  VERB: "verb",
  X: "other",
};

/** `DET: determiner`, and the entity of the word; empty for a blank tag. */
export function tagText(pos: string | undefined, entity: string | undefined): string {
  const name = POS_NAMES[pos ?? ""];
  const parts = [name && `${pos}: ${name}`, entity && `entity: ${entity}`];
  return parts.filter(Boolean).join("; ");
}

declare module "../../views/contract" {
  interface LazyCode {
    readonly tagText: typeof tagText;
  }
}
