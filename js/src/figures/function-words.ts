/**
 * English function words: what stands in nearly every text and says little about one. Sentences and openings use the same
 * words without waiting for a tagger. Word pieces of contractions count (*don ' t*). Pronouns are listed apart: they link
 * to what they stand for.
 */

export const PRONOUNS: ReadonlySet<string> = new Set(
  (
    "i you he she it we they me him her us them my your his its our their mine yours hers ours theirs " +
    "myself yourself himself herself itself ourselves yourselves themselves"
  ).split(" "),
);

export const FUNCTION_WORDS: ReadonlySet<string> = new Set([
  ...PRONOUNS,
  ...(
    "a an the this that these those some any each every all both either neither such same other another " +
    "and or but nor so yet if then than as though although unless until while because since whether " +
    "of in on at by for with from to into onto over under about after before between through during against among " +
    "within without across behind beyond beside besides along around above below near off up down out upon toward towards via per " +
    "who whom whose which what when where why how whoever whatever " +
    "am is are was were be been being do does did doing done has have had having " +
    "will would shall should can could may might must ought cannot not no " +
    "very too also only just even still again ever never there here now more most much many few less least own quite rather " +
    "n't 's 're 've 'll 'd 'm s t re ve ll d m don doesn didn isn aren wasn weren hasn haven hadn won wouldn shouldn couldn ain"
  ).split(" "),
]);

/** A word as the list has it, without what a tokenizer writes before it. */
export const isFunctionWord = (word: string): boolean =>
  FUNCTION_WORDS.has(word.replace(/^(?:##|[ĠĊ▁\s])+/u, "").toLowerCase());
