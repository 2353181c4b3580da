/** Question answering: where an answer starts and ends, as two strips over the tokens, and the best span. */

import { computed, signal } from "@preact/signals-core";
import { pickLabels } from "../../draw/heatmap/axis";
import type { Classification } from "../../figures/classes";
import { largest } from "../../figures/derive/matrix";
import { exact, formatNumber, formatPercent, visible } from "../../figures/format";
import { schemeOf, tokenName } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import type { TokenColumns } from "../../protocol/types";
import { ClassFormula, ClassReferences, ClassTable, classChoice } from "../../ui/classes";
import { memo } from "../../ui/memo";
import { setTo, widthOf } from "../../ui/mount";
import { Num } from "../../ui/number";
import { followKey } from "../../ui/roving";
import { bestSpan, positionsOf, type Span, spanText } from "./answers";
import type { TaskContext } from "./context";
import { nextCell } from "./next-cell";

/** Pixels between two labels, and terms of each softmax with a line of their own. */
const LABEL_GAP = 14;
const LISTED = 5;
/** Width of the names next to the strips, px. */
const NAMES = 48;

/** Labels below bars that share `width` px, with their middles: all, or the most probable where they are crowded. */
export function spanLabels(
  priorities: readonly number[],
  width: number,
): readonly { readonly at: number; readonly x: number }[] {
  if (width <= 0 || priorities.length === 0) return [];
  const size = width / priorities.length;
  const track = { start: 0, size, count: priorities.length };
  return pickLabels(track, [0, width], LABEL_GAP, priorities).map((at) => ({
    at,
    x: NAMES + (at + 0.5) * size,
  }));
}

function cellOf({ target }: Event): { row: number; token: number } | null {
  const cell = (target as Element).closest<HTMLElement>(".aw-span-cell");
  return cell && { row: Number(cell.dataset.boundary), token: Number(cell.dataset.token) };
}

interface AnswerProps {
  readonly span: Span | null;
  readonly tokens: TokenColumns;
  readonly name: (token: number) => string;
  readonly probability: (token: number, boundary: number) => number;
}

function Answer({ span, tokens, name, probability }: AnswerProps) {
  if (span === null) return <p>No token can be an answer.</p>;
  const none = tokens.special[0] ? probability(0, 0) * probability(0, 1) : 0;
  const share = (value: number) => <Num tag="strong" value={value} text={formatPercent(value)} />;
  return (
    <>
      <p class="aw-answer-text">
        <bdi dir="auto">{`“${spanText(tokens, span)}”`}</bdi>
      </p>
      <p class="aw-view-note">
        {`most probable span of the text, ${name(span.start)} ${span.start} to ${name(span.end)} ${span.end}: P(start) `}
        {share(probability(span.start, 0))}
        {" × P(end) "}
        {share(probability(span.end, 1))}
        {" = "}
        {share(span.probability)}
      </p>
      {none > span.probability && (
        <p class="aw-view-note" data-aw-part="no-answer">
          {`Start and end at ${name(0)} are more probable, `}
          {share(none)}
          {
            ". This is how models trained on unanswerable questions (SQuAD 2.0) indicate that there is no answer."
          }
        </p>
      )}
    </>
  );
}

export function createAnswerSpan(host: Element, context: TaskContext, found: Classification) {
  const { source, state, announce, selection, signal: until } = context;
  const { tokens } = source.meta;
  const scheme = schemeOf(tokens);
  const name = (token: number): string => tokenName(tokens, token, scheme);
  const span = bestSpan(found, tokens);
  const inSpan = (token: number): boolean =>
    span !== null && token >= span.start && token <= span.end;
  const probability = (token: number, boundary: number): number =>
    itemAt(found.probabilities, token * found.labels.length + boundary);
  const names = tokens.text.map((_, i) => `${name(i)} ${i}`);
  const columns = found.labels.map((label, boundary) => {
    const column = positionsOf(found, boundary, names);
    return { label, column, choice: classChoice(column), top: Math.max(...column.probabilities) };
  });

  const width = widthOf(host, 0, until);
  const pointed = signal<number | null>(null);
  const seen = computed(() =>
    tokens.text.flatMap((_, i) => (tokens.special[i] && !selection.value.special ? [] : [i])),
  );
  const visited = signal({ row: 0, token: span?.start ?? 0 });
  const entry = computed(() => {
    const { row, token } = visited.value;
    return { row, token: seen.value.includes(token) ? token : (seen.value[0] ?? 0) };
  });

  function point(event: Event): void {
    pointed.value = cellOf(event)?.token ?? null;
  }
  function onClick(event: MouseEvent): void {
    const at = cellOf(event);
    if (at === null) return;
    visited.value = at;
    state.set({ token: at.token });
    announce(`Focus token: ${name(at.token)}.`);
  }
  function onKey(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
    const at = cellOf(event);
    if (at === null) return;
    const all = seen.value;
    const from = { row: at.row, column: all.indexOf(at.token) };
    const next = nextCell(event, from, columns.length, all.length);
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (next !== null) visited.value = { row: next.row, token: itemAt(all, next.column) };
    else if (plain && event.key === "m") {
      const shares = all.map((token) => probability(token, at.row));
      visited.value = { ...at, token: itemAt(all, itemAt(largest(shares, 1), 0)) };
    } else if (plain && (event.key === "Enter" || event.key === " ")) {
      state.set({ token: at.token });
    } else return;
    followKey(event, event.currentTarget);
  }

  const Strips = memo(function Strips() {
    const shown = new Set(seen.value);
    const { row, token: stop } = entry.value;
    return (
      <div
        class="aw-spans"
        role="grid"
        aria-label="Probability that the answer starts or ends at each token"
        data-aw-part="spans"
        onPointerOver={point}
        onFocusIn={point}
        onPointerLeave={setTo(pointed, null)}
        onClick={onClick}
        onKeyDown={onKey}
      >
        {columns.map(({ label, top }, boundary) => (
          <div key={label} class="aw-span-row" role="row">
            <div role="rowheader" class="aw-span-name">
              {label}
              <span class="aw-number">{formatPercent(top)}</span>
            </div>
            <div class="aw-span-bars" role="presentation">
              {tokens.text.map((_, token) => {
                const share = probability(token, boundary);
                return (
                  <div
                    key={token}
                    role="gridcell"
                    class={`aw-span-cell${inSpan(token) ? " is-answer" : ""}`}
                    tabIndex={boundary === row && token === stop ? 0 : -1}
                    data-token={token}
                    data-boundary={boundary}
                    data-aw-value={exact(share)}
                    data-aw-focus={token === selection.value.token ? "" : undefined}
                    aria-label={`${label} at ${name(token)}: ${formatPercent(share)}`}
                    hidden={!shown.has(token)}
                  >
                    <i style={{ blockSize: `${top > 0 ? (100 * share) / top : 0}%` }} />
                  </div>
                );
              })}
            </div>
          </div>
        ))}
      </div>
    );
  });

  const Axis = memo(function Axis() {
    const all = seen.value;
    const priorities = all.map((token) =>
      Math.max(...columns.map((_, boundary) => probability(token, boundary))),
    );
    return (
      <div class="aw-span-axis" aria-hidden="true">
        {spanLabels(priorities, width.value - NAMES).map(({ at, x }) => {
          const token = itemAt(all, at);
          return (
            <span key={token} class={inSpan(token) ? "is-answer" : ""} style={{ left: `${x}px` }}>
              <bdi dir="ltr">{visible(name(token))}</bdi>
            </span>
          );
        })}
      </div>
    );
  });

  const Readout = memo(function Readout() {
    const token = pointed.value;
    if (token === null)
      return "The bars of each strip are scaled to its largest probability, written beside it; the shaded tokens are the answer.";
    return (
      <>
        <bdi dir="ltr">{name(token)}</bdi>
        <span class="aw-drill-at">{token}</span>
        {columns.map(({ label }, boundary) => {
          const value = probability(token, boundary);
          const text = `${formatPercent(value)} (${formatNumber(value)})`;
          return [`  ${label} `, <Num key={label} tag="strong" value={value} text={text} />];
        })}
      </>
    );
  });

  return memo(function AnswerSpan() {
    return (
      <div class="aw-span-block">
        <div class="aw-answer" data-aw-part="answer">
          <Answer {...{ span, tokens, name, probability }} />
        </div>
        <Strips />
        <Axis />
        <p class="aw-readout" data-aw-part="span-readout">
          <Readout />
        </p>
        <div class="aw-span-tables">
          {columns.map(({ label, column, choice }, boundary) => (
            <ClassTable
              key={label}
              column={column}
              choice={choice}
              caption={`Softmax over the ${tokens.text.length} positions: ${label}`}
              term="position"
              part={`positions-${boundary}`}
              listed={LISTED}
            />
          ))}
        </div>
        <div class="aw-span-formula">
          <ClassFormula activation="softmax" />
          <ClassReferences activation="softmax" />
        </div>
      </div>
    );
  });
}
