/** The picture in words: the head that divides it most clearly. */

import { headName } from "../../figures/names";
import { itemAt } from "../../protocol/required";
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
  const { best, clear, together, upper, chance_separation: chance } = patterns.data;
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
  const share = itemAt(patterns.separation.data, layer * heads + head);
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
      {" divides the picture most clearly: in what "}
      <bdi>{subject}</bdi>
      {" looks at beyond pictures of nothing, two groups of patches account for "}
      <Share value={share} />
      {" of the variance"}
      {typeof chance === "number" && (
        <>
          {", chance "}
          <Share value={chance} />
        </>
      )}
      {"; it is no segmentation."}
    </SentenceLine>
  );
}
