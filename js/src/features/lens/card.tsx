/** The card of a cell: five guesses, the rank of the token itself, entropy and divergence. */

import { formatNumber, formatOrdinal, type TokenScheme } from "../../figures/format";
import { tokenName } from "../../figures/names";
import type { TokenColumns } from "../../protocol/types";
import { Percent } from "../../ui/figure";
import { Num } from "../../ui/number";
import { TokenName } from "../../ui/token";
import { type Block, layerName } from "./data";

const bits = (value: number) => <Num value={value} text={`${formatNumber(value)} bits`} />;

export function LensCard({
  block,
  row,
  position,
  next,
  tokens,
  scheme,
}: {
  readonly block: Block;
  readonly row: number;
  readonly position: number;
  /** The head predicts the token that follows. */
  readonly next: boolean;
  readonly tokens: TokenColumns;
  readonly scheme: TokenScheme;
}) {
  const { guesses, rank, entropy, divergence } = block.cell(row, position, scheme);
  const compared = next ? position + 1 : position;
  return (
    <div class="aw-lensgrid-card" data-aw-part="lens-card">
      <p>
        <strong>{layerName(row)}</strong>
        <span class="aw-muted">{next ? " after " : " at "}</span>
        <TokenName name={tokenName(tokens, position, scheme)} token={position} />
      </p>
      <ol>
        {guesses.map(({ label: { text, word }, probability }, i) => (
          <li key={i} class={i + 1 === rank ? "is-there" : undefined}>
            <bdi class="aw-ellipsis" dir="ltr">
              {text}
            </bdi>
            {word !== null && <bdi class="aw-muted aw-ellipsis">{word}</bdi>}
            <i class="aw-lensgrid-bar" aria-hidden="true" style={{ scale: `${probability} 1` }} />
            <Percent value={probability} />
          </li>
        ))}
      </ol>
      <dl>
        {rank > 0 && (
          <>
            <dt>{next ? "follows" : "in the text"}</dt>
            <dd>
              <bdi dir="ltr">{tokenName(tokens, compared, scheme)}</bdi>
              {`, ${formatOrdinal(rank)}`}
            </dd>
          </>
        )}
        <dt>entropy</dt>
        <dd>{bits(entropy)}</dd>
        <dt>KL to the last layer</dt>
        <dd>{row === block.layers - 1 ? "0, it is the last" : bits(divergence)}</dd>
      </dl>
    </div>
  );
}
