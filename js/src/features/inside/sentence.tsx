/** The focus word in words: from which word a layer brings most into its vector, against the head's own link. */

import type { Unit } from "../../figures/derive/units";
import type { TokenColumns } from "../../protocol/types";
import { SentenceLine, Share } from "../../ui/sentence";
import { TextWord } from "../../ui/word";
import type { Taken } from "./taken";

/** `In L2 “it” takes from published 31% of what it gets from other tokens, chance 5.3%, more than from book, to which this head links it: 12%; 49% of its vector stays its own (ALTI).` */
export function InsideSentence({
  taken,
  tokens,
  nameOf,
  choose,
}: {
  /** The word from which the focus word takes most in the selected layer, where that is not the head's; null where none tells. */
  readonly taken: Taken | null;
  readonly tokens: TokenColumns;
  readonly nameOf: (unit: Unit) => string;
  /** Make a token the focus token. */
  readonly choose: (token: number) => void;
}) {
  if (taken === null) return <SentenceLine silent />;
  const { layer, word, from, value, chance, own, beside } = taken;
  const named = (unit: Unit) => (
    <TextWord text={nameOf(unit)} position={unit.token} {...{ tokens, choose }} />
  );
  return (
    <SentenceLine of={tokens}>
      {`In L${layer} `}
      {named(word)}
      {" takes from "}
      {named(from)} <Share value={value} />
      {" of what it gets from other tokens, chance "}
      <Share value={chance} />
      {", more than from "}
      {named(beside.word)}
      {", to which this head links it: "}
      <Share value={beside.value} />
      {"; "}
      <Share value={own} />
      {" of its vector stays its own (ALTI)."}
    </SentenceLine>
  );
}
