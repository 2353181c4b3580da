/** Earlier texts, to run again. */

import { moveFocus } from "../../draw/roving";
import type { PastRun } from "../../protocol/types";
import { Button } from "../../ui/controls";
import { sameTexts } from "../run-box";

/** The last runs, to run again. */
export const History = ({
  runs,
  current,
  again,
  title = "Run again",
}: {
  readonly runs: readonly PastRun[];
  readonly current?: PastRun;
  readonly again: (run: PastRun) => void;
  readonly title?: string;
}) => (
  <div>
    <h3 class="aw-title">{title}</h3>
    <ol class="aw-history" data-aw-part="history" onKeyDown={moveFocus}>
      {runs.map((run, i) => (
        <li key={i}>
          <Button
            class="aw-past"
            tabIndex={i === 0 ? 0 : -1}
            aria-current={(current !== undefined && sameTexts(run, current)) || undefined}
            title={[run.text, run.text_pair].filter(Boolean).join("\n")}
            onClick={() => again(run)}
          >
            <bdi class="aw-past-text">{run.text}</bdi>
            {run.text_pair && <bdi class="aw-past-text aw-muted">{run.text_pair}</bdi>}
          </Button>
        </li>
      ))}
    </ol>
  </div>
);

declare module "../../views/contract" {
  interface LazyCode {
    readonly History: typeof History;
  }
}
