/** The list of predictions of each mode, as a task: whole, or piece by piece where masked runs take long. */

import { required } from "../../protocol/required";
import { Task } from "../../protocol/task";
import type { Source } from "../../protocol/types";
import type { State } from "../../state/selection";
import {
  type Mode,
  type Predictions,
  paintedPredictions,
  piecesOf,
  place,
  predictionsRequest,
  slicedPredictions,
  TOKENS_UNASKED,
} from "./data";

export const TOP_K = 5;

export function createLists(source: Source, state: State, until: AbortSignal) {
  const n = source.meta.tokens.text.length;
  const painted = paintedPredictions(source);
  const initial = (of: Mode) =>
    painted?.mode === of ? ({ status: "done", value: painted } as const) : {};
  /** The list of a mode in one answer. */
  const whole = (of: Mode) =>
    new Task<Predictions>(
      async (step) => slicedPredictions(await source.ask(predictionsRequest(of, TOP_K), step)),
      until,
      initial(of),
    );
  /** Positions that may run; fewer than all as long as the reader has not asked for more. */
  let most = Math.max(1, Math.floor(TOKENS_UNASKED / n));
  /** The list of masked predictions piece by piece, from the focus token on; each one stays, whatever becomes of the next. */
  const pieces: Task<Predictions> = new Task(
    async ({ signal, progress, partial }) => {
      let run = pieces.state.peek().value;
      for (const rows of piecesOf(n, state.get().token ?? 0, run?.known)) {
        const done = run?.known.size ?? 0;
        progress(done, n);
        if (done >= most) pieces.stop();
        signal.throwIfAborted();
        const request = predictionsRequest("masked", TOP_K, rows);
        const piece = slicedPredictions(await source.ask(request, { signal }));
        signal.throwIfAborted();
        run = place(run, piece, rows[0], n);
        partial(run);
      }
      return required(run, "A piece of the run");
    },
    until,
    initial("masked"),
  );
  const lists = {
    as_is: whole("as_is"),
    masked: source.live ? pieces : whole("masked"),
    next: whole("next"),
  } as const;

  return {
    lists,
    /** The list of the first paint. */
    painted,
    pieces,
    /** Run every position from now on. */
    askAll(): void {
      most = n;
    },
  };
}
