/** The text of a decoder by the surprisal of its words: how little the model expected each. */

import { inkOn, ramp, type Mode as Theme } from "../../draw/color/ramp";
import { rampIndex } from "../../draw/color/scale";
import { exact, formatNumber } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import type { TokenColumns } from "../../protocol/types";
import { RampLegend } from "../../ui/legend";
import { memo } from "../../ui/memo";

export interface SurprisalWord {
  readonly text: string;
  /** Sum over its tokens; NaN where the model does not predict all of them. */
  readonly bits: number;
}

/** Words between white space; `surprisal` has at each position that of the token after it. */
export function surprisalWords(
  { surface, before, special }: TokenColumns,
  surprisal: ArrayLike<number>,
): SurprisalWord[] {
  const words: { text: string; bits: number }[] = [];
  let open = false;
  surface.forEach((text, i) => {
    if (special[i] === true) {
      open = false;
      return;
    }
    const bits = i === 0 ? Number.NaN : itemAt(surprisal, i - 1);
    const last = words.at(-1);
    // White space that is a token of its own belongs to the word after it.
    const begins = last?.text.trim() !== "" && (/\s/.test(before[i] ?? "") || /^\s/.test(text));
    if (open && last !== undefined && !begins) {
      last.text += text;
      last.bits += bits;
    } else words.push({ text, bits });
    open = text.trim() === "" || !/\s$/.test(text);
  });
  return words
    .map(({ text, bits }) => ({ text: text.trim(), bits }))
    .filter(({ text }) => text !== "");
}

export const SurprisalStrip = memo(function SurprisalStrip({
  words,
  theme,
}: {
  readonly words: readonly SurprisalWord[];
  readonly theme: Theme;
}) {
  const known = words.filter(({ bits }) => !Number.isNaN(bits));
  if (known.length === 0) return null;
  const top = Math.max(...known.map(({ bits }) => bits));
  const { css, rgb } = ramp("weight", theme);
  return (
    <section class="aw-lensgrid-surprisal" data-aw-part="surprisal">
      <div class="aw-cluster aw-tiny aw-muted">
        <h4>Surprisal by word</h4>
        <RampLegend max={top} mode={theme} />
        <span>bits, the sum over a word’s tokens</span>
      </div>
      <p dir="auto">
        {words.map(({ text, bits }, i) => {
          const index = rampIndex(bits, top, "head");
          const of = Number.isNaN(bits)
            ? { title: "Nothing stands before it" }
            : {
                title: `${formatNumber(bits)} bits`,
                "data-aw-value": exact(bits),
                style: { background: itemAt(css, index), color: inkOn(itemAt(rgb, index)) },
              };
          return [
            <span key={i} class="aw-lensgrid-word" {...of}>
              {text}
            </span>,
            " ",
          ];
        })}
      </p>
    </section>
  );
});
