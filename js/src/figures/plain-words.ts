/** Words that say little of a text, in English and, as far as a short list and their length tell, in other languages. */

import { isFunctionWord } from "./function-words";

/** A text with a smaller share of English function words is of another language, whose words of up to three letters say little. */
const ENGLISH = 0.15;
const SHORT = /^\p{Script=Latin}{1,3}$/u;
const LONGER: ReadonlySet<string> = new Set(
  "aber auch avec como cette dans dass desde eine einem einen einer eines elle elles esta este estos haben habe hatte ihre ihrem ihren ihrer leur leurs mais meine meinem meinen meiner muchas muchos nach nicht nous oder para pero pour seine seinem seinen seiner sobre sont unter vous weil wenn werden wird über".split(
    " ",
  ),
);

/** Which of the words of a text, in small letters, say little. */
export function plainIn(words: readonly string[]): readonly boolean[] {
  const plain = words.map(isFunctionWord);
  const isOther = plain.filter(Boolean).length < ENGLISH * words.length;
  return isOther
    ? words.map((word, i) => plain[i] === true || SHORT.test(word) || LONGER.has(word))
    : plain;
}
