/** Work on the page in small parts, so that a click never waits for more than one of them. */

/** Script of a frame that is given to such work, ms: half of a frame. */
const BUDGET_MS = 8;

interface Scheduling {
  isInputPending?(): boolean;
}

export interface Frames {
  /** Do `part` in one of the next frames; one that waits under the same key is done once. */
  add(key: string | number, part: () => void): void;
  stop(): void;
}

/** Parts are done in their order, in each frame for as long as the budget lasts and no click or key waits. */
export function inFrames(now: () => number = () => performance.now()): Frames {
  const parts = new Map<string | number, () => void>();
  let frame = 0;
  // Chromium alone tells; elsewhere the budget does.
  const { scheduling } = navigator as Navigator & { scheduling?: Scheduling };
  function turn(): void {
    frame = 0;
    const end = now() + BUDGET_MS;
    for (const [key, part] of parts) {
      if (scheduling?.isInputPending?.()) break;
      parts.delete(key);
      part();
      if (now() >= end) break;
    }
    if (parts.size > 0) wake();
  }
  function wake(): void {
    if (frame === 0) frame = requestAnimationFrame(turn);
  }
  return {
    add(key, part) {
      parts.set(key, part);
      wake();
    },
    stop() {
      cancelAnimationFrame(frame);
      parts.clear();
    },
  };
}
