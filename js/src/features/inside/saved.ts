/** Which stages a saved page has: of a long text it has a few tensors whole, and the row of one token in the others. */

import { NEEDS_KERNEL, ONE_TOKEN } from "../../protocol/failure";
import type { SliceRequest, Source } from "../../protocol/types";
import type { StageBox, StageId } from "./architecture";
import { savedRequest } from "./data";

export interface Absence {
  readonly reason: string;
  /** A token of which the page has this stage; null where there is none. */
  readonly instead: number | null;
}

interface Asker {
  readonly layer: number;
  /** Null for the mean head, whose stages say themselves what it lacks. */
  readonly head: number | null;
  readonly token: number;
}

/** The tensor without which a stage shows nothing, where it is not the one of its name. */
const TENSOR: Partial<Record<StageId, string>> = { qkv: "query" };

/** Slices that a stage needs; null if every page has them. */
function needed({ id, zone }: StageBox, { layer, head }: Asker): SliceRequest | null {
  switch (id) {
    case "hidden": // lengths, turns and the plane of all tokens are in every page
    case "mlm":
    case "classifier":
      return null;
    case "weights":
      return { kind: "weights", layer, head: head ?? "mean" };
    case "scores":
      return head === null ? null : { kind: "scores", layer, head };
    case "qkv":
    case "head_output":
      return head === null ? null : { kind: "tensor", name: TENSOR[id] ?? id, layer, head };
    default:
      return { kind: "tensor", name: id, ...(zone === "embeddings" ? {} : { layer }) };
  }
}

/** Why a stage cannot be shown; null where it can. */
export function absence(source: Source, box: StageBox, asker: Asker): Absence | null {
  if (box.missing !== null) return { reason: box.missing, instead: null };
  const request = source.live ? null : needed(box, asker);
  if (request === null || source.has === undefined) return null;
  const has = (token: number): boolean =>
    source.has?.(savedRequest(source, request, token)) === true;
  if (has(asker.token)) return null;
  const index = source.meta.tokens.text.findIndex((_, token) => has(token));
  return index < 0
    ? { reason: `Not in this saved page. ${NEEDS_KERNEL}`, instead: null }
    : { reason: ONE_TOKEN, instead: index };
}
