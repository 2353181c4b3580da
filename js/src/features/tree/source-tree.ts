/** Below a cross-attention link: what the source's tokens attend to in the encoder. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { createMatrix, type Matrix } from "../../figures/matrix";
import { isLong } from "../../protocol/meta";
import { acceptSelection } from "../../state/binding";
import { createState } from "../../state/state";
import { setter } from "../../ui/mount";
import type { ViewContext } from "../../views/contract";

type Traits = Readonly<Record<string, unknown>>;

/** The encoder's matrix of the head that it opens with, as the selected units see it; null before it is here, and where there is none. */
export function encoderMatrix({
  source,
  state,
  signal: until,
}: ViewContext): ReadonlySignal<Matrix | null> {
  const matrix = signal<Matrix | null>(null);
  const { keys, parts } = source.meta;
  if (!keys || isLong(source.meta) || !parts?.includes("encoder")) return matrix;

  async function load(): Promise<void> {
    const encoder = await source.part?.("encoder");
    if (encoder === undefined || until.aborted) return;
    const { selected, snapshot } = encoder.meta;
    // A saved page has it among the traits.
    const saved = acceptSelection(
      (snapshot as { selection?: Traits } | undefined)?.selection ?? {},
    );
    const { layer = 0, head = "mean" } = selected ?? saved;
    const { special, words } = state.get();
    const own = createState({ layer, head, special, words });
    state.on(["special", "words"], ({ special, words }) => own.set({ special, words }), until);
    const ignore = (): void => undefined;
    createMatrix(encoder, own, { signal: until, report: ignore, busy: ignore }).on(
      setter(matrix),
      until,
    );
  }
  // The links between the two texts are drawn without it.
  load().catch((error: unknown) => console.debug("attn-widget:", error));
  return matrix;
}
