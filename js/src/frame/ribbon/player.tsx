/** Steps of a text that a decoder reads from left to right: the focus token, one on or back, or by itself. */

import { signal } from "@preact/signals-core";
import { Button } from "../../ui/controls";
import { memo } from "../../ui/memo";

const STEP_MS = 500;

/** True if the reader wants nothing to move by itself. */
const isStill = (): boolean =>
  window.matchMedia?.("(prefers-reduced-motion: reduce)").matches ?? true;

interface Steps {
  /** Move the focus token; false at the end. */
  step(by: number): boolean;
  /** Go back to the start, if the focus token is the last one. */
  begin(): void;
}

/** A player of one widget, until the signal aborts. */
export function createPlayer({ step, begin }: Steps, until: AbortSignal) {
  /** Timer of the next step; 0 while nothing plays. */
  const playing = signal(0);

  function stop(): void {
    clearInterval(playing.value);
    playing.value = 0;
  }
  function play(): void {
    if (playing.value !== 0) {
      stop();
      return;
    }
    begin();
    const timer = window.setInterval(() => {
      if (playing.value !== timer || until.aborted || !step(1)) {
        clearInterval(timer);
        if (playing.value === timer) playing.value = 0;
      }
    }, STEP_MS);
    playing.value = timer;
  }
  const by = (count: number) => (): void => {
    stop();
    step(count);
  };
  return memo(function Player() {
    return (
      <span class="aw-player" role="group" aria-label="Steps" data-aw-part="player">
        <Button
          class="aw-corner"
          aria-label="One token back"
          title="One token back"
          onClick={by(-1)}
        >
          ◀
        </Button>
        {!isStill() && (
          <Button
            class="aw-corner"
            title="Two tokens a second"
            aria-pressed={playing.value !== 0}
            onClick={play}
          >
            play
          </Button>
        )}
        <Button class="aw-corner" aria-label="One token on" title="One token on" onClick={by(1)}>
          ▶
        </Button>
      </span>
    );
  });
}
