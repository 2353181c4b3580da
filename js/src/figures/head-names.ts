/** Names of roles, and which runs have an alignment. */

import type { Meta } from "../protocol/types";
import { ALIGNMENT_KEYS } from "./catalog/names";

/** True of cross-attention, of one run or many: where its heads look in one text, their patterns and their roles are N/A. */
export const isAligned = ({ keys, profile }: Meta): boolean =>
  keys != null || (profile?.keys.some((key) => ALIGNMENT_KEYS.includes(key)) ?? false);

/** A role as it is read: `cls + long_range` as `cls + long range`. */
export const roleName = (name: string): string => name.replaceAll("_", " ");
