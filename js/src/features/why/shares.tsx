/** Every written token's logit by where it comes from: does the model translate, or continue what it has written? */

import { exact, formatNumber, type TokenScheme, tokenLabel } from "../../figures/format";
import { arrayOf, itemAt } from "../../protocol/required";
import type { Source } from "../../protocol/types";
import type { State } from "../../state/selection";
import { Button } from "../../ui/controls";

export interface WrittenShares {
  /** Tokens that are written: row `i` follows target token `i`. */
  readonly tokens: readonly string[];
  /** `[n, 3]`: source, prefix, bias, by absolute contributions; rows sum to 1. */
  readonly shares: Float32Array;
}

export async function askShares(source: Source, signal: AbortSignal): Promise<WrittenShares> {
  const slice = await source.ask({ kind: "written_shares" }, { signal });
  return {
    tokens: slice.data.tokens as readonly string[],
    shares: arrayOf(slice, "shares").data as Float32Array,
  };
}

const PARTS = [
  ["source", "source"],
  ["prefix", "written before"],
  ["bias", "biases"],
] as const;

/** Mean share of each of the three. */
const meansOf = ({ tokens, shares }: WrittenShares): number[] =>
  PARTS.map(
    (_, part) =>
      tokens.reduce((sum, _, i) => sum + itemAt(shares, 3 * i + part), 0) / tokens.length,
  );

export function SharesPanel({
  of,
  focus,
  state,
  scheme,
}: {
  readonly of: WrittenShares;
  readonly focus: number | null;
  readonly state: State;
  readonly scheme: TokenScheme;
}) {
  const { tokens, shares } = of;
  const means = meansOf(of);
  const [source = 0, prefix = 0] = means;
  /** The token of the text that a row is of; null for the end token, which is not in it. */
  const placeOf = (row: number): number | null => (row + 1 < tokens.length ? row + 1 : null);
  const percent = (share: number): string => `${formatNumber(100 * share, 2)}%`;
  return (
    <div class="aw-why-panel" data-aw-part="why-shares">
      <h4>Translates or continues?</h4>
      <p class="aw-hint">
        {source > prefix
          ? `It translates: the source has a larger share of what is written (${percent(source)}) than the tokens written before (${percent(prefix)}). `
          : `It continues: the tokens written before have a larger share of what is written (${percent(prefix)}) than the source (${percent(source)}). `}
        Shares of each token’s logit, by the size of contributions.
      </p>
      <ol class="aw-written-shares">
        {tokens.map((token, i) => (
          <li key={i}>
            <Button
              class="aw-written-share"
              data-token={i}
              aria-pressed={placeOf(i) === focus}
              label={`${tokenLabel(token, scheme).text}: ${PARTS.map(([, name], part) => `${name} ${formatNumber(itemAt(shares, 3 * i + part), 2)}`).join(", ")}`}
              onClick={() => state.set({ token: placeOf(i) })}
            >
              <span class="aw-written-share-bar" aria-hidden="true">
                {PARTS.map(([key, name], part) => {
                  const share = itemAt(shares, 3 * i + part);
                  return (
                    <i
                      key={key}
                      class={`aw-written-share-${key}`}
                      style={{ blockSize: `${100 * share}%` }}
                      title={`${name} ${formatNumber(share)}`}
                      data-aw-value={exact(share)}
                    />
                  );
                })}
              </span>
              <bdi class="aw-written-share-name">{tokenLabel(token, scheme).text}</bdi>
            </Button>
          </li>
        ))}
      </ol>
      <p class="aw-small aw-cluster aw-written-share-legend">
        {PARTS.map(([key, name], part) => (
          <span key={key}>
            <i class={`aw-written-share-${key}`} aria-hidden="true" />
            {`${name} `}
            <span class="aw-number">{formatNumber(itemAt(means, part), 2)}</span>
          </span>
        ))}
        <span class="aw-muted">mean share</span>
      </p>
    </div>
  );
}
