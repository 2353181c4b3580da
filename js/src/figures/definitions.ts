/** Definitions of quantities, in words. */

import { DEFINITIONS } from "../catalog/definitions";
import type { Mixing, Quantity } from "../catalog/selection";
import { mixingOf } from "./quantities";

/** Definition of a mixing quantity, or of its rollout; null for the others. */
export const mixingDefinition = (quantity: Quantity): string | null =>
  mixingOf(quantity) && DEFINITIONS[quantity as Mixing];
