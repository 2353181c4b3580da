/** A long text in one line above its ribbon: the values of its tokens, and the part in sight. */

import { minimap } from "../../draw/long/minimap";
import { outlineOf } from "../../figures/long/labels";
import type { Range } from "../../figures/long/levels";
import type { Hit, TokenRow } from "../../figures/row";
import type { Meta } from "../../protocol/types";

export function overview({ tokens }: Meta, go: (token: number) => void, signal: AbortSignal) {
  const size = tokens.text.length;
  const breaks = outlineOf(tokens).paragraphs.map(({ from }) => from);
  const empty = new Float32Array(size);
  const goToMiddle = ([from, to]: Range): void => go(Math.round((from + to) / 2));
  const map = minimap(
    "Part of the text in sight",
    { moved: (_, range) => goToMiddle(range), brushed: goToMiddle },
    signal,
  );
  return {
    ...map,
    show: (row: TokenRow | null, hits: readonly Hit[], focus: number, window: Range) =>
      map.show({
        size,
        values: row?.values ?? empty,
        base: row?.received ?? empty,
        top: row?.wordMax ?? 0,
        breaks,
        hits: hits.map(([from]) => from),
        focus,
        lanes: [{ name: "", window }],
      }),
  };
}
