/** Answers about a text that the engine ran in the page: the same slices as a kernel's, as far as a page can. */

import { ByteCache } from "../../protocol/cache";
import { requestKey } from "../../protocol/kernel";
import type {
  Meta,
  NdArray,
  Precision,
  Slice,
  SliceKind,
  SliceOptions,
  SliceRequest,
  Source,
} from "../../protocol/types";
import { type About, precisionOf, type Text } from "./about";
import { AIMS } from "./answers/aims";
import { FLOW } from "./answers/carried/flow";
import { CARRIED } from "./answers/carried/mixing";
import { CLASSES } from "./answers/classes";
import { type Answer, type Answers, canceled, refused } from "./answers/contract";
import { HEADS } from "./answers/heads";
import { INSIDE } from "./answers/inside/inside";
import { READING } from "./answers/reading";
import { WORDS } from "./answers/words";
import { asFailure, type Changes, runText } from "./open";
import type { Ran } from "./ran";
import type { Turns } from "./turns";

const CACHE_BYTES = 64e6;

const ANSWERS: Answers = {
  ...{ ...HEADS, ...AIMS, ...READING, ...WORDS },
  ...{ ...INSIDE, ...CLASSES, ...FLOW, ...CARRIED },
};

export class EngineSource implements Source {
  readonly live = true;
  readonly #run: Ran;
  readonly #cache = new ByteCache<Slice>(CACHE_BYTES);

  /**
   * Run a text.
   *
   * @throws SliceFailure with a sentence for the reader: no text, too many tokens, a masked special token
   */
  static async open(
    turns: Turns,
    about: About,
    text: Text,
    changes?: Changes,
  ): Promise<EngineSource> {
    return new EngineSource(await runText(turns, about, text, changes));
  }

  private constructor(run: Ran) {
    this.#run = run;
  }

  get meta(): Meta {
    return this.#run.meta;
  }

  get arrays(): ReadonlyMap<string, NdArray> {
    return this.#run.arrays;
  }

  get precision(): Precision {
    return precisionOf(this.#run.about);
  }

  /** False for what no text gets from this page. */
  has({ kind }: SliceRequest): boolean {
    const { mlm, nsp, classifier } = this.meta.model.has;
    const model = {
      predictions: mlm,
      softmax: mlm,
      next_sentence: nsp,
      classification: classifier,
    };
    return ANSWERS[kind] !== undefined && (model[kind as keyof typeof model] ?? true);
  }

  async slice(request: SliceRequest, options: SliceOptions = {}): Promise<Slice> {
    const key = requestKey(request);
    const known = this.#cache.get(key);
    if (known !== undefined) return known;
    const answer = ANSWERS[request.kind] as Answer<SliceKind> | undefined;
    if (answer === undefined || !this.has(request)) throw refused(`"${request.kind}"`);
    let made: Slice;
    try {
      made = await answer(this.#run, request, options);
    } catch (error) {
      throw asFailure(error);
    }
    if (options.signal?.aborted) throw canceled();
    const bytes = [...made.arrays.values()].reduce((sum, { data }) => sum + data.byteLength, 256);
    this.#cache.set(key, made, bytes);
    return made;
  }
}
