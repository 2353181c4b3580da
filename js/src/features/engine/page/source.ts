/** Answers about a text that the engine ran in the page: the same slices as a kernel's, as far as a page can. */

import { CachedSource } from "../../../protocol/cached-source";
import { type Arrays, answerWith, type Slice, type SliceOptions } from "../../../protocol/slice";
import type { Meta, SliceRequest } from "../../../protocol/types";
import { CLASSES } from "./answers/classes";
import { type Answers, refused } from "./answers/contract";
import { HEADS } from "./answers/heads";
import { INSIDE } from "./answers/inside/inside";
import { FLOW } from "./answers/mixing/flow";
import { CARRIED } from "./answers/mixing/mixing";
import { QK } from "./answers/qk";
import { READING } from "./answers/reading";
import { SPECIALIZATION } from "./answers/specialization";
import { WORDS } from "./answers/words";
import type { EngineRun } from "./engine-run";
import { type Metadata, precisionOf, type Text } from "./metadata";
import { asFailure, type Changes, runText } from "./open";
import { type Opening, openingOf } from "./opening/opening";
import type { RequestQueue } from "./request-queue";

const CACHE_BYTES = 64e6;

const ANSWERS: Answers = {
  ...{ ...HEADS, ...SPECIALIZATION, ...READING, ...WORDS },
  ...{ ...INSIDE, ...CLASSES, ...FLOW, ...CARRIED, ...QK },
};

export class EngineSource extends CachedSource {
  readonly live = true;
  override readonly precision;
  readonly #run: EngineRun;

  /**
   * Run a text.
   *
   * @throws SliceFailure with a sentence for the reader: no text, too many tokens, a masked special token
   */
  static async open(
    queue: RequestQueue,
    metadata: Metadata,
    text: Text,
    changes?: Changes,
  ): Promise<EngineSource> {
    return new EngineSource(await runText(queue, metadata, text, changes));
  }

  private constructor(run: EngineRun) {
    super(CACHE_BYTES);
    this.#run = run;
    run.wanted = () => this.isAsked;
    this.precision = precisionOf(run.metadata);
  }

  get meta(): Meta {
    return this.#run.meta;
  }

  get arrays(): Arrays {
    return this.#run.arrays;
  }

  /** The opening of this text. */
  get opening(): Opening {
    const { attention, shape, meta } = this.#run;
    return openingOf(attention, shape, meta.tokens);
  }

  /** False for what no text gets from this page. */
  has(request: SliceRequest): boolean {
    const { kind } = request;
    if (kind === "qk" && request.by === "parts") return false;
    const { mlm, nsp, classifier } = this.meta.model.has;
    const model = {
      predictions: mlm,
      softmax: mlm,
      next_sentence: nsp,
      classification: classifier,
    };
    return ANSWERS[kind] !== undefined && (model[kind as keyof typeof model] ?? true);
  }

  protected async answer(request: SliceRequest, options: Required<SliceOptions>): Promise<Slice> {
    const refuse = () => refused(`"${request.kind}"`);
    if (!this.has(request)) throw refuse();
    try {
      return await answerWith(ANSWERS, this.#run, request, options, refuse);
    } catch (error) {
      throw asFailure(error);
    }
  }
}
