/** Surprisal of words, a part of the view Predictions. */

import type { Feature } from "../../views/feature";

export const surprisal: Feature = {};
