/** How a kind of slice is answered. */

import { SliceFailure } from "../../../protocol/failure";
import { NEEDS_KERNEL } from "../../../protocol/token-row";
import type { Slice, SliceKind, SliceOptions, SliceRequest } from "../../../protocol/types";
import type { Ran } from "../ran";

export type Answer<K extends SliceKind> = (
  run: Ran,
  request: SliceRequest<K>,
  options: SliceOptions,
) => Slice | Promise<Slice>;

/** Answers by kind; what is left out is more than a page can compute. */
export type Answers = { readonly [K in SliceKind]?: Answer<K> };

export const refused = (what: string): SliceFailure =>
  new SliceFailure(`${what} is more than this page can compute.`, NEEDS_KERNEL);

export const canceled = (): DOMException =>
  new DOMException("This request was canceled.", "AbortError");
