/** The pinned pair of a long text: its row of weights, its row of scores, its two vectors, asked for when it is pinned. */

import { render } from "preact";
import { modeOf } from "../../../draw/color/theme";
import { h } from "../../../draw/dom";
import { linkOf, type PairParts, pairMatrix } from "../../../figures/long/pair";
import type { LongMatrix, LongRow, LongStore } from "../../../figures/long/store";
import { axisLabels } from "../../../figures/names";
import { isAbort } from "../../../protocol/failure";
import { arrayOf } from "../../../protocol/required";
import type { Slice } from "../../../protocol/types";
import type { ViewContext } from "../../contract";
import { factsOf } from "../facts";
import { PinnedPair } from "../lazy/pinned-pair";
import { PairHint } from "../pair-hint";
import { createPairPlace } from "../pair-place";

interface PairCard {
  readonly element: HTMLElement;
  /** Show the pinned pair of the selection; `row`: the focus token's, where it is here. */
  show(matrix: LongMatrix, row: LongRow | null): void;
}

export function pairCard(host: Element, context: ViewContext, store: LongStore): PairCard {
  const { source, state, signal } = context;
  const { model } = source.meta;
  const element = h("div", { class: "aw-link-strip", "data-aw-part": "pair" });
  let shown = "";
  const place = createPairPlace(context);

  function draw(matrix: LongMatrix, pair: readonly [number, number], parts: PairParts): void {
    element.classList.add("aw-has-pair");
    const alone = pairMatrix(matrix, source.meta, pair, parts.weights);
    render(
      <PinnedPair
        matrix={alone}
        row={0}
        column={0}
        labels={axisLabels(alone, source.meta)}
        link={linkOf(pair[1], parts)}
        facts={factsOf(source, () => null)}
        context={context}
        mode={modeOf(host)}
        hold={place.hold}
      />,
      element,
    );
    place.show({ matrix: alone, row: 0, column: 0 });
  }

  const vector = (slice: Slice | null, part: string): Float32Array | null =>
    (slice?.arrays.get(part)?.data as Float32Array | undefined) ?? null;

  return {
    element,
    show(matrix, row) {
      const { pair } = state.get();
      const key = pair === null ? "" : `${matrix.layer} ${matrix.head} ${matrix.quantity} ${pair}`;
      if (pair === null || matrix.quantity === "scores") {
        shown = "";
        element.classList.remove("aw-has-pair");
        place.show(null);
        render(<PairHint empty={matrix.rows * matrix.columns === 0} context={context} />, element);
        return;
      }
      if (key === shown) return;
      const weights = row?.token === pair[0] ? row.values : null;
      if (weights === null) {
        void store
          .row(matrix, pair[0], signal)
          .then((found) => {
            if (String(state.get().pair) === String(pair)) this.show(matrix, found);
          })
          .catch(() => undefined);
        return;
      }
      shown = key;
      const { layer, head } = matrix;
      const plain = matrix.quantity === "weights" && head !== "mean";
      const absent = plain
        ? null
        : matrix.quantity === "rollout"
          ? "rollout mixes the heads of all layers so far and has no scores of its own"
          : "the mean head averages weights and has no scores of its own";
      const base = {
        weights,
        scores: null,
        q: null,
        k: null,
        scaling: null,
        absent,
        error: store.error(weights[pair[1]] ?? 0),
        scoreError: source.precision?.score ?? 0,
      };
      draw(matrix, pair, { ...base, pending: plain });
      if (!plain) return;
      const ask = async (kind: "scores" | "qkv", token: number, available: boolean) => {
        if (!available) return null;
        try {
          const rows = [token, token + 1] as const;
          return await source.ask({ kind, layer, head, rows }, { signal });
        } catch (error) {
          // A dash stands for an unavailable value; the weight remains.
          if (!isAbort(error)) console.debug("attn-widget:", error);
          return null;
        }
      };
      void Promise.all([
        ask("scores", pair[0], model.has.scores),
        ask("qkv", pair[0], model.has.qkv),
        ask("qkv", pair[1], model.has.qkv),
      ]).then(([scores, query, other]) => {
        if (shown !== key || signal.aborted) return;
        draw(matrix, pair, {
          ...base,
          scores: scores === null ? null : (arrayOf(scores, "scores").data as Float32Array),
          q: vector(query, "q"),
          k: vector(other, "k"),
          scaling: (query?.data.scaling as number | undefined) ?? null,
          absent: model.has.qkv ? null : "this run holds no queries and keys: q · k is not known",
          pending: false,
        });
      });
    },
  };
}
