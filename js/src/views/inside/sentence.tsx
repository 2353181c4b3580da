/** The walk of the focus token in words: where it is changed most. */

import { argmax } from "../../figures/derive/dimensions";
import { itemAt } from "../../protocol/required";
import { Num } from "../../ui/number";
import { SentenceLine } from "../../ui/sentence";
import { Name } from "./bars";
import type { Bars } from "./map/map";

/** `here changes most in the FFN of L5, by 0.930 times its length.` Without such figures, where its direction changes most. */
export function InsideSentence({
  bars,
  turns,
  token,
}: {
  /** Null before the answer, and without one. */
  readonly bars: Bars | null;
  /** 1 minus the cosine of the token's states around each layer. */
  readonly turns: readonly number[];
  readonly token: string;
}) {
  if (bars === null) return <SentenceLine />;
  const { attention, ffn } = bars;
  const both = [...attention, ...ffn];
  const top = argmax(both);
  if (top >= 0) {
    const layers = attention.length;
    return (
      <SentenceLine>
        <Name text={token} />
        {` changes most in the ${top < layers ? "attention" : "FFN"} of L${top % layers}, by `}
        <Num value={itemAt(both, top)} />
        {" times its length."}
      </SentenceLine>
    );
  }
  const turn = argmax(turns);
  if (turn < 0) return <SentenceLine />;
  return (
    <SentenceLine>
      <Name text={token} />
      {` changes direction most in L${turn} (cosine `}
      <Num value={1 - itemAt(turns, turn)} />
      ).
    </SentenceLine>
  );
}
