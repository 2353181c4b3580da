/** State of the panel of a text: it stays when the text runs again with heads off, or another view was open in between. */

import { type Signal, signal } from "@preact/signals-core";
import type { Meta } from "../../protocol/types";
import type { State } from "../../state/selection";
import type { Against, By } from "./data";

export type Head = readonly [layer: number, head: number];

export interface Panel {
  readonly text: string;
  /** With what the reader compares, and the pair at which that was chosen: another key is one of its row. */
  readonly compared: Signal<{ readonly against: Against; readonly pair: string }>;
  readonly by: Signal<By | null>;
  readonly pairsOpen: Signal<boolean>;
  readonly traceOpen: Signal<boolean>;
  readonly headsOpen: Signal<boolean>;
  /** True while the network is to run without the listed entries. */
  readonly checking: Signal<boolean>;
  /** Height of the last sums, px: kept while others are computed. */
  height: number;
  /** Heads that are offered to be switched off, in their order, and the cell for which they are. */
  offered: { readonly cell: string; readonly heads: readonly Head[] };
}

const panels = new WeakMap<State, Panel>();

export function panelOf(state: State, { tokens, keys }: Pick<Meta, "tokens" | "keys">): Panel {
  const text = JSON.stringify([tokens.text, keys?.text]);
  const last = panels.get(state);
  if (last?.text === text) return last;
  const panel: Panel = {
    text,
    compared: signal({ against: "others", pair: "" }),
    by: signal(null),
    pairsOpen: signal(false),
    traceOpen: signal(false),
    headsOpen: signal(false),
    checking: signal(false),
    height: 0,
    offered: { cell: "", heads: [] },
  };
  panels.set(state, panel);
  return panel;
}
