/** The strip of the pinned pair: how the weight comes about. */

import type { Mode } from "../../../draw/color/ramp";
import { createPairNumbers } from "../../../figures/pairs";
import { isRolled } from "../../../figures/quantities";
import { itemAt } from "../../../protocol/required";
import { Button } from "../../../ui/controls";
import type { ViewContext } from "../../contract";
import type { PairPlace } from "../pair-place";
import { Arithmetic } from "./arithmetic";
import { CarriedSum } from "./carried-sum";
import { Ends, isImpossible, type Pair } from "./ends";
import { VectorStrips } from "./link-vectors";

export function PinnedPair({
  mode,
  context,
  hold,
  ...pair
}: Pair & {
  readonly mode: Mode;
  readonly context: ViewContext;
  /** Takes the place of what features add. */
  readonly hold?: PairPlace["hold"];
}) {
  const { matrix, row, column, link } = pair;
  const { layer, head, quantity, queries, keys } = matrix;
  const summed = quantity !== "weights" && !isRolled(quantity);
  const [query, key] = [itemAt(queries, row), itemAt(keys, column)];
  return (
    <div class="aw-pinned">
      <Ends {...pair} />
      {isImpossible(pair) ? (
        <p class="aw-muted">Masked: this query cannot see this key.</p>
      ) : (
        <>
          {link.q !== null && link.k !== null && <VectorStrips mode={mode} q={link.q} k={link.k} />}
          <Arithmetic matrix={matrix} link={link} />
          {summed && (
            <CarriedSum
              key={[mode, layer, head, quantity, query.token, query.end, key.token, key.end].join()}
              {...{ mode, context, matrix, row, column }}
            />
          )}
          {link.absent !== null && !summed && <p class="aw-muted">N/A: {link.absent}.</p>}
        </>
      )}
      <div ref={hold ?? null} />
      <Button
        label="Unpin this pair"
        title="Unpin"
        onClick={() => context.state.set({ pair: null })}
      >
        ×
      </Button>
    </div>
  );
}

export { createPairNumbers };

declare module "../../contract" {
  interface LazyCode {
    readonly createPairNumbers: typeof createPairNumbers;
    readonly PinnedPair: typeof PinnedPair;
  }
}
