/** Next-sentence prediction: the head's softmax over its two classes. */

import { classesOf, slicedClasses } from "../../figures/classes";
import { formatPercent } from "../../figures/format";
import { asking } from "../../protocol/asking";
import { messageOf } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import { ClassTable, classChoice } from "../../ui/classes";
import { Num } from "../../ui/number";
import type { RunContext } from "../contract";

/** A panel for a pair of texts; null for one text, or without the head. */
export function createNextSentence({ source, signal }: RunContext) {
  const { meta } = source;
  if (meta.text_pair === null || !meta.model.has.nsp) return null;
  const { answer, failure, ask } = asking<ReturnType<typeof read>>(signal);
  const read = (slice: Parameters<typeof slicedClasses>[0]) => {
    const column = classesOf(slicedClasses(slice), 0);
    return { column, choice: classChoice(column) };
  };
  void ask(async (signal) => read(await source.ask({ kind: "next_sentence" }, { signal })));

  return function NextSentence() {
    const why = failure.value;
    // The first class is "is next" in every model with this head (Devlin et al. 2019).
    const isNext = answer.value && itemAt(answer.value.column.probabilities, 0);
    return (
      <details class="aw-pair" open>
        <summary>
          {"Does B follow A? "}
          {isNext !== null && (
            <Num
              part="next-sentence"
              value={isNext}
              text={`P(is next) = ${formatPercent(isNext)}`}
            />
          )}
        </summary>
        <div class="aw-pair-body">
          {why !== null && <p class="aw-hint">{messageOf(why)}</p>}
          {answer.value !== null && (
            <ClassTable
              {...answer.value}
              caption="softmax of the next-sentence head over its two classes"
              term="B"
              part="next-sentence-terms"
            />
          )}
        </div>
      </details>
    );
  };
}
