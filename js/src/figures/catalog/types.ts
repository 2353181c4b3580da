/** Description of a figure of a head, independent of any run: its names, and the texts and formula of its explanation. */

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
}

/** Formula and reading of a figure, in its explanation. */
interface Texts {
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
  /** For names that point the wrong way. */
  readonly warning: string | null;
}

export interface MetricTexts extends Texts {
  readonly low: string;
  /** Smallest and largest possible figure, in symbols. */
  readonly range: string;
  /** Formula and spoken text for a matrix that is not square or has a mask, where they differ: `m_i` keys for query `i`. */
  readonly by_row?: Pick<Texts, "formula" | "spoken">;
}

/** A figure that says where a head looks. */
export interface SpecializationMetric extends Figure {
  /** Its meaning in a few words; next to its name on the radar. */
  readonly meaning: string;
}

export interface SpecializationTexts extends Texts {
  readonly symbols: string;
}
