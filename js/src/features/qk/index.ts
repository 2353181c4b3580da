/** Why a head looks there: the score of a pinned pair as a sum over tokens, or over earlier heads and FFNs. */

import { type ComparedPairPart, type PairPart, withLazyCode } from "../../views/contract";
import type { Feature } from "../../views/feature";

const draw: PairPart = (place, context, cell) =>
  withLazyCode((code) => code.qk(place, context, cell), context.signal);
const pair: PairPart = Object.assign(draw, { hint: "“Why here?”" });

const comparedPair: ComparedPairPart = (place, compared) =>
  withLazyCode((code) => code.qkCompared(place, compared), compared.signal);

export const qk: Feature = { uses: ["exports", "similarity", "tree"], pair, comparedPair };
