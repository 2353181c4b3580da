/** One engine for several runs: whoever asks for figures of a run gets them of that very run. */

import type { Engine } from "../client";
import type { ModelInput } from "../input";

/** Runs the model, when it is a caller's turn. */
export interface Turn {
  readonly engine: Engine;
  /** Make `input` the engine's last run, unless it is already. */
  run(input: ModelInput): Promise<void>;
}

export class RequestQueue {
  readonly #engine: Engine;
  #last: Promise<unknown> = Promise.resolve();
  #ran: ModelInput | null = null;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** The result of `work`, once everybody who asked before has been served. */
  take<T>(work: (turn: Turn) => Promise<T>): Promise<T> {
    const turn: Turn = {
      engine: this.#engine,
      run: async (input) => {
        if (this.#ran === input) return;
        // A run that is refused leaves the last one, but may have ended in the middle.
        this.#ran = null;
        await this.#engine.run(input);
        this.#ran = input;
      },
    };
    const result = this.#last.then(() => work(turn));
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** The result of `work` with `input` as the last run. */
  of<T>(input: ModelInput, work: (engine: Engine) => Promise<T>): Promise<T> {
    return this.take(async (turn) => {
      await turn.run(input);
      return work(turn.engine);
    });
  }
}
