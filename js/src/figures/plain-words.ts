/** Words that say little of a text, in English and, as far as a short list and their length tell, in German, French and Spanish. */

import { isFunctionWord } from "./function-words";

/** Words of up to three letters of a text of another language. */
const SHORT = /^\p{Script=Latin}{1,3}$/u;
const ELSEWHERE: ReadonlySet<string> = new Set(
  "aber auch avec como cette dans das dass de del dem den der des desde die du eine einem einen einer eines el elle elles en esta este estos et haben habe hatte ich ihre ihrem ihren ihrer im ist la las le les leur leurs los mais meine meinem meinen meiner mi muchas muchos nach nicht nous oder para pero pour seine seinem seinen seiner sie sobre sont su sur una und une unter vous weil wenn werden wird wir über".split(
    " ",
  ),
);

/** Which of the words of a text, in small letters, say little. */
export function plainIn(words: readonly string[]): readonly boolean[] {
  const plain = words.map(isFunctionWord);
  const elsewhere = words.filter((word) => ELSEWHERE.has(word)).length;
  return elsewhere > plain.filter(Boolean).length
    ? words.map((word, i) => plain[i] === true || SHORT.test(word) || ELSEWHERE.has(word))
    : plain;
}
