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
          "Neighboring patches of this picture are no more alike than patches in any order, so no head divides it."
        }
      </SentenceLine>
    );
  if (clear !== true || !Array.isArray(best)) return <SentenceLine silent />;
  const [layer, head] = [Number(best[0]), Number(best[1])];
  const [, , n = 0] = patterns.groups.shape;
  const at = (layer * heads + head) * n;
  const show = (): void => point(patterns.groups.data.subarray(at, at + n));
  const hide = (): void => point(null);
  return (
    <SentenceLine>
      {upper === true && "Of the upper layers, "}
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
      {" divides the picture most clearly, into patches that "}
      <bdi>{subject}</bdi>
      {" looks at more and less than in pictures of nothing: "}
      <Share value={Number(alike)} />
      {" of neighboring patches are of one group, chance "}
      <Share value={Number(chance)} />
      {"; it is no segmentation."}
    </SentenceLine>
  );
}
