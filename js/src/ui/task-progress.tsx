/** Progress of work that takes one pass after another, and a button to stop it or to go on. */

import { formatCount } from "../figures/format";
import { Button } from "./controls";

/** `23 / 60 tokens`, a line that grows, and the button. */
export function TaskProgress({
  part,
  label,
  unit,
  now,
  again = "Go on",
  toggle,
}: {
  /** Its `data-aw-part`. */
  readonly part: string;
  readonly label: string;
  readonly unit: string;
  /** Null hides it. */
  readonly now: {
    readonly done: number;
    /** 0 while it is not known. */
    readonly total: number;
    readonly running: boolean;
  } | null;
  readonly again?: string;
  readonly toggle: () => void;
}) {
  const { done, total, running } = now ?? { done: 0, total: 0, running: false };
  const count = `${formatCount(done)} / ${formatCount(total)} ${unit}`;
  return (
    <div class="aw-masked-progress aw-cluster aw-small" data-aw-part={part} hidden={now === null}>
      <span
        class="aw-masked-bar"
        role="progressbar"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuenow={done}
      >
        <span class="aw-masked-fill" style={{ scale: `${done / Math.max(1, total)} 1` }} />
      </span>
      <span role="status">{running ? count : `Stopped: ${count}`}</span>
      <Button class="aw-plain-button" onClick={toggle}>
        {running ? "Cancel" : again}
      </Button>
    </div>
  );
}
