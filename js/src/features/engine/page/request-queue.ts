/** One engine for several runs: whoever asks for figures of a run gets them of that very run. */

import { canceled } from "../../../protocol/cached-source";
import type { Engine } from "../client";
import type { ModelInput } from "../input";

/** Runs the model, when it is a caller's turn. */
export interface Turn {
  readonly engine: Engine;
  /** Make `input` the engine's last run, unless it is already. */
  run(input: ModelInput): Promise<void>;
}

/** Turns of one run. */
export interface Turns {
  take<T>(work: (turn: Turn) => Promise<T>): Promise<T>;
  of<T>(input: ModelInput, work: (engine: Engine) => Promise<T>): Promise<T>;
}

export class RequestQueue implements Turns {
  readonly #engine: Engine;
  #last: Promise<unknown> = Promise.resolve();
  #ran: ModelInput | null = null;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /**
   * The result of `work`, once everybody who asked before has been served.
   *
   * @param wanted where given, a text is run again only while it is true: a question about a text that another has
   *   replaced would cost its pass, and then one more of the text that is shown
   */
  take<T>(work: (turn: Turn) => Promise<T>, wanted?: () => boolean): Promise<T> {
    const turn: Turn = {
      engine: this.#engine,
      run: async (input) => {
        if (this.#ran === input) return;
        if (wanted !== undefined) {
          // A task later whoever has just got another text has shown it.
          await new Promise((resolve) => setTimeout(resolve));
          if (!wanted()) throw canceled();
        }
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
  of<T>(
    input: ModelInput,
    work: (engine: Engine) => Promise<T>,
    wanted?: () => boolean,
  ): Promise<T> {
    return this.take(async (turn) => {
      await turn.run(input);
      return work(turn.engine);
    }, wanted);
  }

  /** The same turns for the questions of one run. */
  during(wanted: () => boolean): Turns {
    return {
      take: (work) => this.take(work, wanted),
      of: (input, work) => this.of(input, work, wanted),
    };
  }
}
