/** Context shared by the parts of the heads view. */

import type { RunContext } from "../contract";

export interface HeadsStage extends Pick<RunContext, "source" | "state" | "announce" | "signal"> {
  readonly nLayers: number;
  readonly nHeads: number;
  /** Heads over many texts. */
  readonly profile: boolean;
  select(layer: number, head: number): void;
  /** Shade the heads by a figure, sort the table by it, and open what it means at `anchor`. */
  explain(key: string, label: string, anchor: HTMLElement, content: () => Node): void;
}
