/** In place of the matrix of a text of one sentence: a text of three, in numbers of the embedded model. */

import type { Mode } from "../../draw/color/ramp";
import { inkOn, ramp } from "../../draw/color/ramp";
import { rampIndex } from "../../draw/color/scale";
import { itemAt } from "../../protocol/required";
import { Button } from "../../ui/controls";
import { Headings } from "../../ui/table";

/** `tests/unit/test_sentences_example.py` computes the numbers again. */
const SENTENCES = ["The cat sat on the mat.", "It was tired.", "Nobody came."];
const MASS = [
  [0.361, 0.094, 0.124],
  [0.194, 0.265, 0.177],
  [0.138, 0.135, 0.287],
];
const MOST = Math.max(...MASS.flat());

/** `run` runs the example; null where nothing can run. */
export function Example({
  mode,
  causal,
  run,
}: {
  readonly mode: Mode;
  /** The run's model does not look ahead; that of the example does. */
  readonly causal: boolean;
  readonly run: ((text: string) => void) | null;
}) {
  const { css, rgb } = ramp("weight", mode);
  return (
    <div class="aw-isa-example aw-stack aw-small" data-aw-part="sentences-example">
      <p class="aw-muted">
        There is no other sentence to compare it with. An example of three, averaged over all heads
        of the model that comes with the package{causal && ", which looks ahead too"}:
      </p>
      <table class="aw-number-table">
        <Headings of={["looks at →", "the first", "the second", "the third"]} />
        <tbody>
          {MASS.map((row, a) => (
            <tr key={a}>
              <th scope="row">{SENTENCES[a]}</th>
              {row.map((value, b) => {
                const index = rampIndex(value, MOST, "head");
                const style = {
                  backgroundColor: itemAt(css, index),
                  color: inkOn(itemAt(rgb, index)),
                };
                return (
                  <td key={b} class="aw-number" style={style}>
                    {value}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      <p>
        “{SENTENCES[1]}” looks most at “{SENTENCES[0]}” ({MASS[1]?.[0]}), besides itself.
      </p>
      {run !== null && (
        <Button class="aw-plain-button" part="run-example" onClick={() => run(SENTENCES.join(" "))}>
          Run this text
        </Button>
      )}
    </div>
  );
}
