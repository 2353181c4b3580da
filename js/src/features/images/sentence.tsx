/** The picture in words: the head that divides it most clearly. */

import { headName } from "../../figures/names";
import { Button } from "../../ui/controls";
import { SentenceLine, Share } from "../../ui/sentence";
import type { Patterns } from "./data";

export function PictureSentence({
  patterns,
  heads,
  subject,
  pick,
  point,
}: {
  readonly patterns: Patterns;
  readonly heads: number;
  /** Name of the token whose rows are divided. */
  readonly subject: string;
  readonly pick: (layer: number, head: number) => void;
  /** Called with the groups of the head while it is pointed at. */
  readonly point: (groups: ArrayLike<number> | null) => void;
}) {
  const { best, clear, together, upper, alike, alike_chance: chance } = patterns.data;
  if (together === false)
    return (
      <SentenceLine>
        {
          "Neighboring patches of this picture are hardly more alike than shuffled ones, so no dividing head is named."
        }
      </SentenceLine>
    );
  if (clear !== true || !Array.isArray(best)) return <SentenceLine silent />;
  const [layer, head] = [Number(best[0]), Number(best[1])];
  const [layers = 0, , n = 0] = patterns.groups.shape;
  const [from, last] = [Math.ceil(layers / 2), layers - 1];
  const at = (layer * heads + head) * n;
  const show = (): void => point(patterns.groups.data.subarray(at, at + n));
  const hide = (): void => point(null);
  return (
    <SentenceLine>
      {upper === true && (from < last ? `Of L${from} to L${last}, ` : `Of L${last}, `)}
      <Button
        class="aw-flat aw-focus-word"
        title="Choose this head; the line in the picture divides its two groups"
        onClick={() => pick(layer, head)}
        onPointerEnter={show}
        onFocus={show}
        onPointerLeave={hide}
        onBlur={hide}
      >
        <b>{headName(layer, head)}</b>
      </Button>
      {" divides the picture most clearly by what "}
      <bdi>{subject}</bdi>
      {" looks at, compared with an even and a random picture: "}
      <Share value={Number(alike)} />
      {" of neighboring patches share a group, "}
      <Share value={Number(chance)} />
      {" in any order. It is no segmentation."}
    </SentenceLine>
  );
}
