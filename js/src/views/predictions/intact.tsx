/** The model's answer before heads were switched off: first choices that changed, with what is left of them. */

import { formatCount, visible } from "../../figures/format";
import { arrayOf, itemAt } from "../../protocol/required";
import type { Slice } from "../../protocol/types";
import { Button } from "../../ui/controls";
import { Percent } from "../../ui/figure";
import type { RunContext } from "../contract";
import { paintedPredictions } from "./data";

/** Changed positions that are listed. */
const LISTED = 12;

export interface Changed {
  readonly position: number;
  readonly before: string;
  readonly probability: number;
  /** Probability of the earlier first choice, now. */
  readonly left: number;
  /** Another token is first now. */
  readonly changed: boolean;
}

/** Positions whose first choice is another one now (`now` holds the ids), or has lost more than half. */
export function changedIn(
  slice: Slice,
  now: ArrayLike<number>,
  special: readonly boolean[],
): Changed[] {
  const ids = arrayOf(slice, "ids").data;
  const vocabulary = slice.data.vocabulary as Readonly<Record<string, string>>;
  return Array.from(ids, (id, position) => ({
    position,
    before: vocabulary[id] ?? String(id),
    probability: itemAt(arrayOf(slice, "probabilities").data, position),
    left: itemAt(arrayOf(slice, "left").data, position),
    changed: id !== now[position],
  })).filter(
    ({ position, changed, probability, left }) =>
      special[position] !== true && (changed || left < probability / 2),
  );
}

/** Ask what changed; null where all heads are on. Rejects where a saved page lacks the answer. */
export async function askChanged({ source, signal }: RunContext): Promise<Changed[] | null> {
  const { heads_off: off = [], tokens } = source.meta;
  const painted = paintedPredictions(source);
  if (off.length === 0 || painted?.mode !== "as_is") return null;
  const slice = await source.ask({ kind: "intact" }, { signal });
  const now = tokens.text.map((_, i) => itemAt(painted.ids.data, i * painted.topK));
  return changedIn(slice, now, tokens.special);
}

export function Intact({
  changed,
  context: { source, state },
}: {
  readonly changed: readonly Changed[];
  readonly context: RunContext;
}) {
  const { heads_off: off = [], tokens } = source.meta;
  const heads = off.length === 1 ? "this head" : `these ${formatCount(off.length)} heads`;
  const count = changed.filter((position) => position.changed).length;
  const words = tokens.special.filter((special) => !special).length;
  const listed = changed.slice(0, LISTED);
  return (
    <div class="aw-intact" data-aw-part="intact">
      <p class="aw-view-note">
        {`Switching ${heads} off changes ${count === 0 ? "no" : formatCount(count)} first choice${count > 1 ? "s" : ""} (${formatCount(words)} position${words === 1 ? "" : "s"})` +
          (changed.length > LISTED ? `; the first ${LISTED} that changed or lost half:` : ".")}
      </p>
      {listed.length > 0 && (
        <ul class="aw-masked-strip">
          {listed.map(({ position, before, probability, left }) => (
            <li key={position} data-token={position}>
              <Button
                class="aw-flat"
                data-token={position}
                onClick={() => state.set({ token: position })}
              >
                <span class="aw-number aw-muted">{position}</span>{" "}
                <bdi dir="ltr">{visible(tokens.text[position] ?? "")}</bdi>
              </Button>
              <span class="aw-muted">was </span>
              <bdi dir="ltr">{visible(before)}</bdi> <Percent value={probability} />
              <span class="aw-muted">now </span>
              <Percent value={left} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
