/** The target by layer: rank and probability of its word in each layer's hidden state. */

import { exact, formatCount, formatNumber } from "../figures/format";
import type { Lens } from "../figures/targets";
import { itemAt } from "../protocol/required";

/** Smaller shares are written as a bound: their digits would be too wide for the column. */
const MIN_SHARE = 1e-4;
/** Pixels. */
const MAX_WIDTH = 640;
const COLUMN = 60;
const shortPercent = (share: number): string =>
  share > 0 && share < MIN_SHARE ? `<${100 * MIN_SHARE}%` : `${formatNumber(100 * share, 1)}%`;

/** `#5,920`, `#30k`. */
const shortRank = (rank: number): string =>
  `#${rank < 1e4 ? formatCount(rank) : `${Math.floor(rank / 1000)}k`}`;

/** `place` is the word's position in the text, `[MASK] 6`; `layer` is marked. */
export const LensPanel = ({
  lens: { word, ranks, probabilities },
  place = "",
  layer,
  next,
}: {
  readonly lens: Lens;
  readonly place?: string;
  readonly layer?: number;
  /** The head predicts the token that follows. */
  readonly next: boolean;
}) => (
  <div class="aw-lens" data-aw-part="lens">
    <p class="aw-hint">
      {"Probability and rank of "}
      <strong>
        <bdi>{word}</bdi>
      </strong>
      {place !== "" && (next ? " after " : " at ")}
      <bdi>{place}</bdi>
      {" according to each layer's state."}
    </p>
    <ol
      class="aw-lens-layers aw-number"
      style={{ maxWidth: `${Math.min(MAX_WIDTH, COLUMN * ranks.length)}px` }}
    >
      {Array.from(ranks, (rank, i) => {
        const share = itemAt(probabilities, i);
        return (
          <li key={i} class={layer !== undefined && i === layer + 1 ? "is-marked" : undefined}>
            <span class="aw-lens-name aw-muted">{i === 0 ? "emb." : `L${i - 1}`}</span>
            <span class="aw-lens-level">
              <i class="aw-lens-bar" aria-hidden="true" style={{ blockSize: `${100 * share}%` }} />
              <span data-aw-value={exact(share)} title={exact(share)}>
                {shortPercent(share)}
              </span>
            </span>
            <span class="aw-lens-rank" title={`rank ${rank}`}>
              {shortRank(rank)}
            </span>
          </li>
        );
      })}
    </ol>
    <p class="aw-hint">
      {next
        ? "The final norm and the language-model head read each layer (logit lens). They were"
        : "The masked-LM head reads each layer (logit lens). It was"}{" "}
      trained on the last one only, so earlier ranks are not calibrated.
    </p>
  </div>
);
