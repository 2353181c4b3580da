/** The list of positions: a header, and a row of cells for each position. */

import type { ComponentChildren } from "preact";
import {
  ABSENT,
  exact,
  formatCount,
  formatNumber,
  formatOrdinal,
  formatPercent,
  spokenToken,
  type TokenScheme,
  tokenLabel,
  visible,
} from "../../figures/format";
import { itemAt } from "../../protocol/required";
import type { Meta } from "../../protocol/types";
import { Button } from "../../ui/controls";
import { memo } from "../../ui/memo";
import { TokenText } from "../../ui/token";
import { type Answer, type Column, maskedAt } from "./answers";

export const HeaderRow = ({
  topK,
  masks,
  next,
}: {
  readonly topK: number;
  readonly masks: boolean;
  /** The head predicts the token that follows. */
  readonly next: boolean;
}) => (
  <div role="row" class="aw-position-head">
    <span role="columnheader" class="aw-index">
      #
    </span>
    <span role="columnheader">{next ? "after" : "token"}</span>
    {masks && (
      <span role="columnheader" class="aw-mask-head">
        mask
      </span>
    )}
    <span
      role="columnheader"
      title={
        next
          ? "Token that follows in the text: its rank, probability and surprisal"
          : "Rank and probability of the text's own token"
      }
    >
      {next ? "follows" : "original"}
      <span class="aw-wide-only">{next ? ", rank" : ": rank, prob."}</span>
    </span>
    {Array.from({ length: topK }, (_, rank) => (
      <span key={rank} role="columnheader">
        {formatOrdinal(rank + 1)}
      </span>
    ))}
  </div>
);

interface RowProps {
  readonly position: number;
  readonly meta: Meta;
  readonly scheme: TokenScheme;
  /** Null where the model has not answered yet. */
  readonly answer: Answer | null;
  /** The row has its cells: hundreds of rows cost little until they are in sight. */
  readonly filled: boolean;
  readonly hidden: boolean;
  readonly focused: boolean;
  /** The head predicts the token that follows. */
  readonly next: boolean;
  /** A click on a guess continues the text with it. */
  readonly continues: boolean;
  /** Its token is masked; null where nothing can be run. */
  readonly masked: boolean | null;
  /** The cell that Tab enters, and the one whose softmax is open. */
  readonly entry: Column | null;
  readonly expanded: Column | null;
}

export const Row = memo(function Row(props: RowProps) {
  const { position, meta, answer, filled, hidden, focused } = props;
  const kind = maskedAt(meta, position)
    ? " is-masked"
    : meta.tokens.special[position]
      ? " is-special"
      : "";
  return (
    <div
      role="row"
      class={`aw-position${kind}${focused ? " is-focus" : ""}`}
      data-position={position}
      aria-rowindex={position + 2}
      hidden={hidden}
    >
      {filled && <LeadingCells {...props} />}
      {filled && answer === null && (
        <span role="gridcell" class="aw-row-waiting" title="Not run yet">
          {ABSENT}
        </span>
      )}
      {filled && answer !== null && <AnswerCells {...props} answer={answer} />}
    </div>
  );
});

interface CellProps extends Pick<RowProps, "position" | "entry"> {
  readonly column: Column;
  readonly class: string;
  readonly title: string;
  /** Text on the button, and what screen readers say after it. */
  readonly written?: string;
  readonly says: string;
  readonly children: ComponentChildren;
  readonly [attribute: `data-${string}` | `aria-${string}`]: string | number | boolean | undefined;
  readonly style?: Readonly<Record<string, string>>;
}

/** Surprisals below are written as this one, as shares below 0.01% are: a power of ten has no room. */
const MIN_BITS = 0.01;

/** A cell with a button. */
function Cell({ position, entry, column, written, says, children, ...attributes }: CellProps) {
  return (
    <span role="gridcell">
      <Button
        tabIndex={entry === column ? 0 : -1}
        data-position={position}
        data-column={column}
        label={written === undefined ? says : `${written}, ${says}`}
        {...attributes}
        class={`aw-guess ${attributes.class}`}
      >
        {children}
      </Button>
    </span>
  );
}

/** Position, token, and where runs can be started the switch that masks it. */
function LeadingCells({ position, meta, scheme, focused, masked, entry }: RowProps) {
  const { tokens } = meta;
  const text = itemAt(tokens.text, position);
  const was = maskedAt(meta, position);
  const label = tokenLabel(text, scheme, tokens.surface[position]);
  // The original is shown next to its rank; this cell shows what the model read.
  const shown = was ? { text, word: null } : label;
  const name = was === undefined ? label.text : tokenLabel(was.text, scheme).text;
  return (
    <>
      <span role="rowheader" class="aw-index">
        {position}
      </span>
      <Cell
        position={position}
        entry={entry}
        column="token"
        class="aw-position-token"
        aria-pressed={focused}
        title={`${visible(text)}, id ${tokens.id[position]}`}
        written={`${shown.text}${shown.word ?? ""}`}
        says={`position ${position}${was ? `: masked, ${name}` : ""}`}
      >
        <TokenText {...shown} />
      </Cell>
      {masked !== null &&
        (tokens.special[position] && was === undefined ? (
          <span role="gridcell" />
        ) : (
          <Cell
            position={position}
            entry={entry}
            column="mask"
            class="aw-mask-token"
            data-aw-part="mask-token"
            data-token={position}
            aria-pressed={masked}
            title={masked ? `Show ${name} again` : `Mask ${name} and run again`}
            says={`Mask ${name}, position ${position}`}
          >
            <i aria-hidden="true" />
          </Cell>
        ))}
    </>
  );
}

const bar = (share: number) => ({ "--share": share.toFixed(4) });

/** The original token's rank and probability, and the guesses. */
function AnswerCells({
  position,
  meta,
  answer: { original, guesses },
  entry,
  expanded,
  next,
  continues,
}: RowProps & { readonly answer: Answer }) {
  const guessed = guesses.map(({ id, token, label, probability, original }, k) => (
    <Cell
      key={k}
      position={position}
      entry={entry}
      column={k + 1}
      class={original ? "aw-prediction is-original" : "aw-prediction"}
      style={bar(probability)}
      title={`${visible(token)}${label.word === null ? "" : ` (${label.word})`}, id ${id}: ${exact(probability)}${continues ? ". A click continues with it" : ""}`}
      data-token-id={id}
      data-aw-value={exact(probability)}
      aria-expanded={continues ? undefined : expanded === k + 1}
      written={`${label.text}${label.word ?? ""} ${formatPercent(probability)}`}
      says={`${formatOrdinal(k + 1)}${original ? (next ? ", the token that follows" : ", the original token") : ""}${continues ? ": continue with it" : ""}`}
    >
      <TokenText {...label} /> <span class="aw-share">{formatPercent(probability)}</span>
    </Cell>
  ));
  if (original === null) {
    return (
      <>
        <Cell
          position={position}
          entry={entry}
          column="original"
          class="aw-original aw-comes-next aw-muted"
          title="The softmax that these are of"
          aria-expanded={expanded === "original"}
          says="would come next: open the softmax"
        >
          {/* A narrow column has room for one word. */}
          <span>
            <span class="aw-wide-only">would come </span>next
          </span>
        </Cell>
        {guessed}
      </>
    );
  }
  const { label, rank, probability, bits } = original;
  const was = maskedAt(meta, position) !== undefined || next;
  const count = formatCount(rank);
  const surprise =
    bits === null ? "" : ` ${bits < MIN_BITS ? `<${MIN_BITS}` : formatNumber(bits, 2)} bits`;
  return (
    <>
      <Cell
        position={position}
        entry={entry}
        column="original"
        class={`aw-original${rank === 1 ? " is-first" : ""}`}
        style={bar(probability)}
        title={`${label.text}: rank ${rank}, probability ${exact(probability)}${bits === null ? "" : `, surprisal ${exact(bits)} bits`}${continues ? ". A click opens the softmax" : ""}`}
        data-aw-bits={bits === null ? undefined : exact(bits)}
        data-token-id={original.id}
        data-aw-rank={rank}
        data-aw-value={exact(probability)}
        aria-expanded={expanded === "original"}
        written={`${was ? `${label.text} ` : ""}${next ? formatOrdinal(rank) : count} ${formatPercent(probability)}${surprise}`}
        says={`${next ? "follows" : "original"} ${spokenToken(label)}: ${formatOrdinal(rank)}, ${formatPercent(probability)}`}
      >
        <span class="aw-rank aw-ellipsis">
          {was && <bdi class={next ? "aw-was aw-ellipsis" : "aw-was"}>{label.text}</bdi>}
          {was && " "}
          {next ? <span class="aw-nth-rank aw-muted">{formatOrdinal(rank)}</span> : count}
        </span>{" "}
        <span class="aw-share">
          {formatPercent(probability)}
          {bits !== null && <span class="aw-wide-only aw-muted">{surprise}</span>}
        </span>
      </Cell>
      {guessed}
    </>
  );
}
