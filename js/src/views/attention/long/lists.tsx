/** Lists below a long matrix: the strongest links of the head, and what the find box has found; a click goes there. */

import type { Signal } from "@preact/signals-core";
import { formatCount, formatNumber } from "../../../figures/format";
import type { LinkList } from "../../../figures/long/store";
import { windowOf } from "../../../figures/long/windows";
import type { Hit } from "../../../figures/row";
import { itemAt } from "../../../protocol/required";
import type { Meta, TokenColumns } from "../../../protocol/types";
import { Button } from "../../../ui/controls";
import { memo } from "../../../ui/memo";
import { Num } from "../../../ui/number";
import { RovingList } from "../../../ui/roving-list";
import { Toggle } from "../../../ui/toggle";

/** Rows of the lists; more hits are reached by the arrows of the find box. */
const LINKS = 50;
const HITS = 200;
/** Tokens on each side of a hit. */
const AROUND = 5;

export interface LinkChoice {
  readonly special: boolean;
  readonly neighbors: boolean;
  readonly itself: boolean;
  /** From this weight on, where one was asked for. */
  readonly least: number | null;
}

const CHOICES = [
  ["special", "special", "Links from and to special tokens"],
  ["neighbors", "neighbors", "Links to the token before and after"],
  ["itself", "self", "Links of a token to itself"],
] as const;

export const Strongest = memo(function Strongest({
  meta,
  links,
  status,
  choice,
  pair,
  name,
  error,
  go,
}: {
  readonly meta: Meta;
  /** Null where they are unavailable. */
  readonly links: LinkList | null;
  /** Words in place of their count; empty where they are here. */
  readonly status: string;
  readonly choice: Signal<LinkChoice>;
  readonly pair: readonly [number, number] | null;
  readonly name: (token: number) => string;
  readonly error: (weight: number) => number;
  readonly go: (query: number, key: number) => void;
}) {
  const { least } = choice.value;
  const { total = 0, queries = [], keys = [], weights = [] } = links ?? {};
  const shown = Math.min(LINKS, queries.length);
  const part = total > shown ? `, the strongest ${shown} here` : "";
  const count =
    least === null ? `the first ${shown}` : total === 0 ? "none" : `${formatCount(total)}${part}`;
  const set = (change: Partial<LinkChoice>): void => {
    choice.value = { ...choice.value, ...change };
  };
  return (
    <div class="aw-long-strongest">
      <div class="aw-panel-head">
        <h4 class="aw-title">
          {least === null ? "Strongest links" : `Links of at least ${formatNumber(least)}`}
        </h4>
        <span class="aw-muted" role="status">
          {status || count}
        </span>
        {least !== null && (
          <Button class="aw-button aw-text-button" onClick={() => set({ least: null })}>
            show the strongest
          </Button>
        )}
        <div class="aw-long-choices" role="group" aria-label="Links to include">
          {CHOICES.map(([key, text, title]) => (
            <Toggle
              key={key}
              {...{ text, title }}
              on={choice.value[key]}
              set={(on) => set({ [key]: on })}
            />
          ))}
        </div>
      </div>
      <RovingList class="aw-long-list" part="strongest">
        {Array.from({ length: shown }, (_, i) => {
          const [query, key] = [itemAt(queries, i), itemAt(keys, i)];
          const weight = itemAt(weights, i);
          const read = windowOf(meta, query);
          return (
            <li key={`${query} ${key}`}>
              <Button
                class="aw-long-link"
                data-token={query}
                data-link={`${query} ${key}`}
                title={`query ${query}, key ${key}${read === null ? "" : `, ${read}`}`}
                aria-pressed={pair !== null && pair[0] === query && pair[1] === key}
                onClick={() => go(query, key)}
              >
                <bdi dir="ltr">{name(query)}</bdi>
                <span class="aw-muted aw-number">{query}</span>
                <span class="aw-muted" role="img" aria-label="to">
                  →
                </span>
                <bdi dir="ltr">{name(key)}</bdi>
                <span class="aw-muted aw-number">{key}</span>
                {read !== null && <span class="aw-muted aw-link-window">{read}</span>}
                <span class="aw-long-weight">
                  <Num value={weight} error={error(weight)} />
                </span>
              </Button>
            </li>
          );
        })}
      </RovingList>
    </div>
  );
});

/** The text of tokens `[from, to)` as it stands, line breaks as spaces. */
function excerpt(tokens: TokenColumns, from: number, to: number): string {
  let written = "";
  for (let i = Math.max(0, from); i < Math.min(tokens.text.length, to); i++) {
    if (tokens.special[i] !== true)
      written += `${tokens.before[i] ?? ""}${tokens.surface[i] ?? ""}`;
  }
  return written.replace(/\s+/g, " ");
}

/** Scroll its list, and never the page, to a button. */
function center(button: HTMLElement | null): void {
  const list = button?.closest("ol");
  if (!button || !list) return;
  list.scrollTop = button.offsetTop - list.offsetTop - list.clientHeight / 2;
}

/** Places that the find box has found, each with the words around it; `at`: the one visited last. */
export const Hits = memo(function Hits({
  tokens,
  hits,
  at,
  go,
}: {
  readonly tokens: TokenColumns;
  readonly hits: readonly Hit[];
  readonly at: number;
  readonly go: (index: number) => void;
}) {
  const count = formatCount(hits.length);
  return (
    <div class="aw-long-hits" hidden={hits.length === 0}>
      <div class="aw-panel-head">
        <h4 class="aw-title">Found</h4>
        <span class="aw-muted">{hits.length > HITS ? `the first ${HITS} of ${count}` : count}</span>
      </div>
      <RovingList class="aw-long-list" part="hits">
        {hits.slice(0, HITS).map(([from, to], i) => (
          <li key={from}>
            <Button
              class="aw-long-link aw-long-hit"
              data-token={from}
              aria-current={i === at ? "true" : undefined}
              ref={i === at ? center : null}
              onClick={() => go(i)}
            >
              <span class="aw-muted aw-number">{from}</span>
              <bdi>
                {excerpt(tokens, from - AROUND, from)}
                {/* The space before a hit belongs to what precedes it. */}
                {/\s$/.test(tokens.before[from] ?? "") && " "}
                <b>{excerpt(tokens, from, to).trim()}</b>
                {excerpt(tokens, to, to + AROUND)}
              </bdi>
            </Button>
          </li>
        ))}
      </RovingList>
    </div>
  );
});
