/** Description of a figure of a head, independent of any run: its texts and its formula. */

import type { MathNode } from "../math";

export type Tau = number | "uniform";

export interface Reference {
  readonly text: string;
  /** null where none is registered. */
  readonly doi: string | null;
}

interface Figure {
  readonly key: string;
  readonly name: string;
  /** Column heading and filter word. */
  readonly short: string;
  readonly formula: MathNode;
  readonly spoken: string;
  readonly high: string;
  /** The figure of a head that attends to every possible key alike, in symbols. */
  readonly chance: string;
  readonly references: readonly Reference[];
}

/** A figure that says how a head attends. */
export interface Metric extends Figure {
  readonly unit: string;
  /** Its meaning in half a sentence. */
  readonly summary: string;
  readonly low: string;
  /** For names that point the wrong way. */
  readonly warning: string | null;
  /** Smallest and largest possible figure, in symbols. */
  readonly range: string;
}

/** A figure that says where a head looks. */
export interface Aim extends Figure {
  /** Its meaning in a few words; next to its name on the radar. */
  readonly meaning: string;
  readonly symbols: string;
}
