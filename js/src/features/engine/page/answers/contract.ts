/** Contract of the functions that answer a kind of slice. */

import { NEEDS_KERNEL, SliceFailure } from "../../../../protocol/failure";
import type { Answers as AnswersOf } from "../../../../protocol/slice";
import type { SliceRequests } from "../../../../protocol/types";
import type { EngineRun } from "../engine-run";

/** Answers by kind; what is left out is more than a page can compute. */
export type Answers = AnswersOf<EngineRun, SliceRequests>;

export const refused = (what: string): SliceFailure =>
  new SliceFailure(`${what} is more than this page can compute.`, NEEDS_KERNEL);
