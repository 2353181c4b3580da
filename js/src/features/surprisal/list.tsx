/** The words as a table: each with its surprisal, and the chain of its tokens. */

import { ABSENT, type TokenScheme } from "../../figures/format";
import { tokenName } from "../../figures/names";
import type { TokenColumns } from "../../protocol/types";
import { Button } from "../../ui/controls";
import { Num } from "../../ui/number";
import type { WordRow, Words } from "./data";

const Bits = ({ value }: { readonly value: number }) =>
  Number.isNaN(value) ? ABSENT : <Num value={value} text={value.toFixed(2)} />;

/** `hunt 11.0 + ed 2.1 − 0.8`: tokens, and what the correction changes. */
function Chain({
  row: { first, bits, tokens: parts },
  names,
}: {
  readonly row: WordRow;
  readonly names: (position: number) => string;
}) {
  const sum = parts.reduce((total, each) => total + each, 0);
  const change = bits - sum;
  const shown = Math.abs(change) >= 0.005;
  if (Number.isNaN(bits) || (parts.length === 1 && !shown)) return null;
  return (
    <>
      {parts.map((value, i) => (
        <span key={i} class="aw-surprisal-part">
          {i > 0 && "+ "}
          <bdi dir="ltr">{names(first + i)}</bdi> <Bits value={value} />{" "}
        </span>
      ))}
      {shown && (
        <span class="aw-surprisal-part" title="Where the word ends, and where the one before did">
          {change < 0 ? "− " : "+ "}
          <Num value={Math.abs(change)} text={Math.abs(change).toFixed(2)} />
          <span class="aw-muted"> end</span>
        </span>
      )}
    </>
  );
}

export function WordsList({
  words,
  rows,
  tokens,
  scheme,
  focus,
  choose,
}: {
  readonly words: Words;
  /** Rows that are shown. */
  readonly rows: readonly WordRow[];
  readonly tokens: TokenColumns;
  readonly scheme: TokenScheme;
  readonly focus: number | null;
  readonly choose: (token: number) => void;
}) {
  const top = Math.max(1e-9, ...rows.map(({ bits }) => (Number.isNaN(bits) ? 0 : bits)));
  const names = (position: number) => tokenName(tokens, position, scheme);
  return (
    <div class="aw-surprisal-list aw-scroll aw-small">
      <table data-aw-part="words" aria-label="Surprisal by word">
        <thead>
          <tr>
            <th scope="col">word</th>
            <th scope="col" colSpan={2} title="−log2 of the word’s probability">
              surprisal, bits
            </th>
            <th scope="col" title="Of what may come before its first token">
              entropy before
            </th>
            <th scope="col">{words.correction ? "its tokens, and its end" : "its tokens"}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const { text, first, end, bits, entropy } = row;
            const here = focus !== null && focus >= first && focus < end;
            return (
              <tr key={first} class={here ? "is-focus" : undefined}>
                <th scope="row">
                  <Button
                    class="aw-flat"
                    data-token={first}
                    aria-pressed={here}
                    onClick={() => choose(first)}
                  >
                    <bdi>{text}</bdi>
                  </Button>
                </th>
                <td class="aw-surprisal-value">
                  <Bits value={bits} />
                </td>
                <td class="aw-surprisal-track" aria-hidden="true">
                  {!Number.isNaN(bits) && <i style={{ scale: `${bits / top} 1` }} />}
                </td>
                <td class="aw-surprisal-value">
                  <Bits value={entropy} />
                </td>
                <td class="aw-muted">
                  <Chain {...{ row, names }} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
