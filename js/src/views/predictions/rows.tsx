/** The list of positions: a header, and a row of cells for each position. */

import type { ComponentChildren } from "preact";
import {
  ABSENT,
  exact,
  formatCount,
  formatOrdinal,
  formatPercent,
  spokenToken,
  type TokenScheme,
  tokenLabel,
  visible,
} from "../../figures/format";
import { itemAt } from "../../protocol/required";
import type { Meta } from "../../protocol/types";
import { memo } from "../../ui/memo";
import { TokenText } from "../../ui/token";
import { type Answer, type Column, maskedAt } from "./answers";

export const HeaderRow = ({ topK, masks }: { readonly topK: number; readonly masks: boolean }) => (
  <div role="row" class="aw-position-head">
    <span role="columnheader" class="aw-index">
      #
    </span>
    <span role="columnheader">token</span>
    {masks && (
      <span role="columnheader" class="aw-mask-head">
        mask
      </span>
    )}
    <span role="columnheader" title="Rank and probability of the text's own token">
      original<span class="aw-wide-only">: rank, prob.</span>
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
  /** Whether it has its cells: hundreds of rows cost little until they are in sight. */
  readonly filled: boolean;
  readonly hidden: boolean;
  readonly focused: boolean;
  /** Whether its token is masked; null where nothing can be run. */
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

/** A cell with a button. */
function Cell({ position, entry, column, written, says, children, ...attributes }: CellProps) {
  return (
    <span role="gridcell">
      <button
        type="button"
        tabIndex={entry === column ? 0 : -1}
        data-position={position}
        aria-label={written === undefined ? says : `${written}, ${says}`}
        {...attributes}
        class={`aw-guess ${attributes.class}`}
      >
        {children}
      </button>
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
  const name = visible(was?.text ?? text);
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
        title={`${label.text}, id ${tokens.id[position]}`}
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
}: RowProps & { readonly answer: Answer }) {
  const { label, rank, probability } = original;
  const was = maskedAt(meta, position) !== undefined;
  const count = formatCount(rank);
  return (
    <>
      <Cell
        position={position}
        entry={entry}
        column="original"
        class={`aw-original${rank === 1 ? " is-first" : ""}`}
        style={bar(probability)}
        title={`${label.text}: rank ${rank}, probability ${exact(probability)}`}
        data-token-id={original.id}
        data-aw-rank={rank}
        data-aw-value={exact(probability)}
        aria-expanded={expanded === "original"}
        written={`${was ? `${label.text} ` : ""}${count} ${formatPercent(probability)}`}
        says={`original ${spokenToken(label)}: ${formatOrdinal(rank)}, ${formatPercent(probability)}`}
      >
        <span class="aw-rank">
          {was && <bdi class="aw-was">{label.text}</bdi>}
          {was && " "}
          {count}
        </span>{" "}
        <span class="aw-share">{formatPercent(probability)}</span>
      </Cell>
      {guesses.map(({ id, label, probability, original }, k) => (
        <Cell
          key={k}
          position={position}
          entry={entry}
          column={k + 1}
          class={original ? "aw-prediction is-original" : "aw-prediction"}
          style={bar(probability)}
          title={`${label.text}${label.word === null ? "" : ` (${label.word})`}, id ${id}: ${exact(probability)}`}
          data-rank={k + 1}
          data-token-id={id}
          data-aw-value={exact(probability)}
          aria-expanded={expanded === k + 1}
          written={`${label.text}${label.word ?? ""} ${formatPercent(probability)}`}
          says={`${formatOrdinal(k + 1)}${original ? ", the original token" : ""}`}
        >
          <TokenText {...label} /> <span class="aw-share">{formatPercent(probability)}</span>
        </Cell>
      ))}
    </>
  );
}
