/** A text as the engine runs it: tokens, masks, first paint. */

import { SliceFailure } from "../../../protocol/failure";
import { itemAt } from "../../../protocol/required";
import type { Meta } from "../../../protocol/types";
import { EngineError } from "../errors";
import type { HeadsOff, ModelInput } from "../input";
import { METRIC_KEYS, metricArrays, metricScale } from "./answers/metrics";
import { described, readAsIs } from "./answers/read";
import { TOP_K } from "./answers/reading";
import { survey, thumbSide } from "./answers/survey";
import { EngineRun, within } from "./engine-run";
import { columnsOf, MASK, type Metadata, savedViews, type Text, UNKNOWN } from "./metadata";
import type { RequestQueue, Turn } from "./request-queue";

const TAU = 0.01;

/** Changes to the reading of a text. */
export interface Changes {
  /** The positions that the model reads as the mask token, found by the tokens of the text. */
  readonly masks?: (tokens: Meta["tokens"]) => readonly number[];
  /** Heads that give nothing to their layer. */
  readonly off?: HeadsOff;
  /** True if predictions come with the first paint; without them a pass takes half the time. */
  readonly predicted?: boolean;
}

/** The engine's own sentence, as the failure of a slice. */
export function asFailure(error: unknown): unknown {
  return error instanceof EngineError ? new SliceFailure(error.message) : error;
}

export async function runText(
  queue: RequestQueue,
  metadata: Metadata,
  { text, text_pair }: Text,
  changes: Changes = {},
): Promise<EngineRun> {
  if (text.trim() === "") throw new SliceFailure("text is empty.", "Give at least one word.");
  const pair = text_pair || null;
  try {
    return await queue.take((turn) => run(queue, turn, metadata, [text, pair], changes));
  } catch (error) {
    throw asFailure(error);
  }
}

async function run(
  queue: RequestQueue,
  turn: Turn,
  metadata: Metadata,
  [text, pair]: readonly [string, string | null],
  { masks = () => [], off = [], predicted = true }: Changes,
): Promise<EngineRun> {
  const encoded = await turn.engine.encode(text, ...(pair === null ? [] : [pair]));
  const originals = encoded.ids;
  const intact = columnsOf(encoded, encoded.names, [text, pair ?? ""]);
  const { tokens, masked } = withMasks(intact, masks(intact), metadata.ids.mask);
  const shape = [metadata.model.n_layers, metadata.model.n_heads] as const;
  const heads_off = sorted(off, shape);
  const input: ModelInput = { ids: tokens.id, typeIds: encoded.typeIds, off: heads_off };
  // Asked for at once: the engine answers in order.
  const [, attention] = await Promise.all([turn.run(input), turn.engine.attention()]);
  const n = originals.length;
  const { mlm } = metadata.model.has;
  const table = mlm && predicted ? await readAsIs(turn, input, originals, TOP_K, [0, n]) : null;
  const own = tokens.id.filter((_, i) => !tokens.special[i]);
  const count = own.filter((id) => id === metadata.ids.unknown).length;
  const mostly = 2 * count > own.length;
  const meta: Meta = {
    version: 1,
    model: metadata.model,
    text,
    text_pair: pair,
    truncated: null,
    tokens,
    masked,
    heads_off,
    unknown: mostly ? { count, tokens: own.length, text: UNKNOWN } : null,
    profile: null,
    ...savedViews(metadata),
    metrics: { keys: METRIC_KEYS, tau: TAU, scale: metricScale(n, TAU) },
    thumb: thumbSide(n, shape[0] * shape[1]),
    predictions: table && (await described(turn, table, "as_is", TOP_K)),
    selected: null,
    versions: metadata.versions,
  };
  const arrays = new Map([
    ...survey(attention, shape, tokens.special),
    ...metricArrays(attention, shape, n, TAU),
    ...(table?.arrays ?? []),
  ]);
  return new EngineRun(meta, arrays, queue, metadata, input, originals, attention);
}

/** Each head once, by layer and head. */
function sorted(off: HeadsOff, [layers, heads]: readonly [number, number]): HeadsOff {
  const places = off.map(([layer, head]) => {
    within("layer", layer, layers);
    within("head", head, heads);
    return layer * heads + head;
  });
  return [...new Set(places)]
    .sort((a, b) => a - b)
    .map((place) => [Math.floor(place / heads), place % heads]);
}

/** The tokens as the model reads them, and what stands in the text where it reads the mask token. */
function withMasks(
  tokens: Meta["tokens"],
  positions: readonly number[],
  mask: number,
): Pick<Meta, "tokens" | "masked"> {
  const chosen = [...new Set(positions)].sort((a, b) => a - b);
  for (const position of chosen) {
    within("tokens", position, tokens.id.length);
    if (tokens.special[position])
      throw new SliceFailure(
        `Token ${position} is ${itemAt(tokens.text, position)}, which the tokenizer added.`,
        "Only tokens of the text can be masked.",
      );
  }
  const put = <T>(column: readonly T[], value: T): T[] =>
    column.map((previous, i) => (chosen.includes(i) ? value : previous));
  return {
    tokens: { ...tokens, id: put(tokens.id, mask), text: put(tokens.text, MASK) },
    masked: chosen.map((token) => ({
      token,
      text: itemAt(tokens.text, token),
      id: itemAt(tokens.id, token),
    })),
  };
}
