/**
 * Why a head looks there: below a pinned pair, its score as a sum that closes, on the key side and on the query side.
 *
 * `data-aw-part`: qk, why-here, qk-back, qk-line, qk-by, qk-against, qk-keys, qk-key, qk-query (the sums), qk-key-total, qk-query-total,
 * qk-check, qk-verdict, qk-show-pairs, qk-texts, qk-matrix, qk-pairs, qk-start-trace, qk-trace, qk-csv, qk-notes, qk-absent.
 */

import { batch, computed, signal } from "@preact/signals-core";
import { render } from "preact";
import { formatNumber, formatPercent } from "../../figures/format";
import { headName } from "../../figures/names";
import { onAbort } from "../../protocol/abort";
import { NEEDS_KERNEL } from "../../protocol/failure";
import { Button, Segmented, Toggle } from "../../ui/controls";
import { modeSignal, mount, onChange, setTo, signalOf } from "../../ui/mount";
import { Num, Percent } from "../../ui/number";
import type { PairPart, PinnedCell } from "../../views/contract";
import { toCsv } from "../exports/csv";
import { download } from "../exports/deliver";
import { AgainstControl, RowOfKeys } from "./against";
import { createWay, memoryOf } from "./back";
import {
  type Against,
  askCell,
  askEffects,
  askTrace,
  type By,
  type CellRequest,
  cellRequest,
  type Effects,
  type Found,
  isAnswered,
  type OfCell,
  ofCell,
  SIDES,
  type SideName,
  type Traced,
} from "./data";
import { Verdict } from "./effects";
import { type Names, namesOf, SideToken } from "./names";
import { createPairs } from "./pairs";
import { type Follow, SideSum } from "./sums";
import { sumsTable } from "./table";
import { taskOf, Waiting } from "./task-of";
import { createTrace } from "./trace-view";

/** Levels of a trace. */
const DEPTH = 3;
const MERGED =
  "A word of several tokens has several queries and keys: switch off “words” in Display.";
const TITLES: Readonly<Record<SideName, readonly [before: string, after: string]>> = {
  key: ["Key side: what ", " offers"],
  query: ["Query side: what ", " asks for"],
};
const BYS: readonly (readonly [By, string, { readonly title: string }])[] = [
  ["tokens", "by tokens", { title: "Each token of the text as it enters the network" }],
  [
    "parts",
    "by parts",
    { title: "Each earlier head and FFN, as it writes straight into this head" },
  ],
];

/** `his looks at man (41.6%): 2.68 above the other words.` */
function Line({
  found,
  cell,
  names,
}: {
  readonly found: Found;
  readonly cell: PinnedCell;
  readonly names: Names;
}) {
  const { against, contrast, weight, capped, unreliable } = found;
  const than = {
    others: "the other words",
    all: "all other tokens",
    rivals: "its rivals, each by its weight",
    sink: "the sink",
  };
  return (
    <p class="aw-qk-line" data-aw-part="qk-line">
      <SideToken names={names} side="query" token={cell.query} />
      {" looks at "}
      <SideToken names={names} side="key" token={cell.key} />
      {" ("}
      <Percent value={weight} />
      {"): "}
      <Num value={contrast} text={formatNumber(Math.abs(contrast))} />
      {contrast < 0 ? " below " : " above "}
      {typeof against === "number" ? (
        <SideToken names={names} side="key" token={against} />
      ) : (
        than[against]
      )}
      .
      {capped !== null && (
        <span class="aw-qk-mark" title="The model caps its scores; the sum holds the cap’s factor.">
          {`capped to ${formatPercent(capped)}`}
        </span>
      )}
      {unreliable && (
        <span class="aw-qk-mark" title="The logarithm of a weight this small is unreliable.">
          unreliable
        </span>
      )}
    </p>
  );
}

export const qk: PairPart = (place, context, cell) => {
  const { source, state, signal: until } = context;
  const names = namesOf(source.meta);
  const mode = modeSignal(place, until);
  const matrix = signalOf(context.matrix.get, (changed) => context.matrix.on(changed, until));
  const { open } = memoryOf(state);
  const way = createWay(state, cell, until);
  const against = signal<Against>("others");
  const by = signal<By | null>(null);
  const pairsOpen = signal(false);
  const traceOpen = signal(false);
  const listing = signal(false);
  /** Of the last sums: what is below stays where it is while others are computed, px. */
  let height = 0;
  onChange(
    computed(() => [cell.value?.query, cell.value?.key] as const),
    // Another key is one of this row.
    () => {
      if (typeof against.peek() === "number") against.value = "others";
      listing.value = false;
    },
    until,
  );

  const request = computed(() => {
    const of = cell.value;
    return open.value && of !== null && !of.merged
      ? cellRequest(of, against.value, by.value)
      : null;
  });
  const answered = computed(() => request.value !== null && isAnswered(source, request.value));
  const question = computed(() => (answered.value ? request.value : null));
  const task = taskOf<CellRequest, Found>(
    question,
    (of, step) => askCell(source, of, step),
    until,
    true,
  );
  const found = computed(() => task.value?.state.value.value ?? null);
  /** What runs the network again, for the cell on screen. */
  const further = computed(() =>
    found.value === null || question.value === null
      ? null
      : { ...ofCell(question.value), by: found.value.by },
  );
  const check = taskOf<OfCell, Effects>(
    further,
    (of, step) => askEffects(source, of, step),
    until,
    false,
  );
  const trace = taskOf<OfCell, Traced>(
    computed(() => (traceOpen.value ? further.value : null)),
    (of, step) => askTrace(source, of, DEPTH, step),
    until,
    true,
  );
  const effects = computed(() => check.value?.state.value.value ?? null);
  const pairs = createPairs(place, found, pairsOpen, names, mode, choose, until);
  const Trace = createTrace(
    place,
    computed(() => trace.value?.state.value.value ?? null),
    names,
    ({ layer, head, query, key }) => way.go({ layer, head, query, key }),
    until,
  );

  function choose(next: Against): void {
    batch(() => {
      against.value = next;
      listing.value = false;
    });
  }
  const follow: Follow = (side, { layer, head, source: read }) => {
    const at = cell.peek();
    if (at === null || layer === null || head === null || read === null) return;
    // On the key side the head stands at the key, and read its own source there.
    way.go({ layer, head, query: side === "query" ? at.query : at.key, key: read });
  };
  function save(of: Found, { layer, head, query, key }: PinnedCell): void {
    const csv = toCsv(sumsTable(of, effects.peek(), names));
    download(
      new Blob([csv], { type: "text/csv" }),
      `attn_widget-why_here-L${layer}H${head}-${query}-${key}.csv`,
    );
  }

  function Controls({ found }: { readonly found: Found }) {
    return (
      <div class="aw-cluster aw-small">
        {found.others.length > 1 && (
          <Segmented<By>
            label="The sum"
            part="qk-by"
            name="by"
            options={BYS.filter(([each]) => found.others.includes(each))}
            value={found.by}
            choose={(next) => {
              by.value = next;
            }}
          />
        )}
        <AgainstControl
          {...{ found, names, choose }}
          listing={listing.value}
          list={(next) => {
            listing.value = next;
          }}
        />
      </div>
    );
  }

  /** What can be asked for further. */
  function Further({ found, cell }: { readonly found: Found; readonly cell: PinnedCell }) {
    const [checking, tracing] = [check.value, trace.value];
    const parts = found.others.includes("parts");
    return (
      <div class="aw-cluster">
        {source.live && checking !== null && (
          <Waiting
            task={checking}
            doing="Running without each of the largest"
            start="Check by running"
            part="qk-check"
          />
        )}
        <Toggle
          text="pairs"
          part="qk-show-pairs"
          on={pairsOpen.value}
          set={(next) => {
            pairsOpen.value = next;
          }}
          title={
            found.by === "tokens"
              ? "Every pair of tokens, as threads and cells"
              : "The largest pairs of parts"
          }
        />
        {parts && source.live && (
          <Toggle
            text="trace"
            part="qk-start-trace"
            on={traceOpen.value}
            set={(next) => {
              traceOpen.value = next;
            }}
            title="Follow the heads that bring most, from cell to cell"
          />
        )}
        {tracing !== null && (
          <Waiting task={tracing} doing="Following heads" start="Trace" part="qk-tracing" />
        )}
        <Button class="aw-link" part="qk-csv" onClick={() => save(found, cell)}>
          Save the sums as CSV
        </Button>
      </div>
    );
  }

  function Sums({ found, cell }: { readonly found: Found; readonly cell: PinnedCell }) {
    const shown = matrix.value;
    return (
      <>
        <Line {...{ found, cell, names }} />
        <Controls found={found} />
        {listing.value && shown !== null && (
          <RowOfKeys
            matrix={shown}
            query={cell.query}
            pinned={cell.key}
            against={found.against}
            {...{ names, choose }}
          />
        )}
        {found.fallback !== null && <p class="aw-view-note">{found.fallback}</p>}
        <div class={`aw-qk-sides${effects.value === null ? "" : " is-checked"}`}>
          {SIDES.map((side) => (
            <SideSum
              key={side}
              title={
                <>
                  {TITLES[side][0]}
                  <SideToken names={names} side={side} token={cell[side]} />
                  {TITLES[side][1]}
                </>
              }
              effects={effects.value?.[side] ?? null}
              {...{ found, side, names, follow }}
            />
          ))}
        </div>
        {effects.value !== null && <Verdict effects={effects.value} {...{ found, cell, names }} />}
        <Further {...{ found, cell }} />
        <pairs.View />
        <Trace />
        <div class="aw-qk-notes" data-aw-part="qk-notes">
          {found.notes.map((note) => (
            <p class="aw-view-note" key={note}>
              {note}
            </p>
          ))}
        </div>
      </>
    );
  }

  function Body({ cell }: { readonly cell: PinnedCell }) {
    const now = found.value;
    if (cell.merged) return <p class="aw-qk-absent">{MERGED}</p>;
    if (!answered.value)
      return (
        <p class="aw-qk-absent" data-aw-part="qk-absent">
          {`Why a head looks there is computed by the model. ${NEEDS_KERNEL}`}
        </p>
      );
    if (now !== null) return <Sums found={now} cell={cell} />;
    return (
      task.value && (
        <Waiting task={task.value} doing="Computing the sum" start="Compute the sum" part="qk" />
      )
    );
  }

  function View() {
    const at = cell.value;
    const last = way.last.value;
    if (at === null) return null;
    const waits = task.value?.state.value.status === "running" && found.value === null;
    return (
      <div
        class="aw-qk"
        data-aw-part="qk"
        aria-busy={waits ? "true" : undefined}
        style={{ minBlockSize: waits ? `${height}px` : "" }}
      >
        <div class="aw-cluster">
          <Button
            class="aw-plain-button aw-small"
            part="why-here"
            aria-expanded={open.value}
            onClick={setTo(open, !open.value)}
          >
            Why here?
          </Button>
          {last !== null && (
            <Button class="aw-link aw-small" part="qk-back" onClick={way.back}>
              {`← back to ${headName(last.layer, last.head)}, ${last.pair?.join(" → ")}`}
            </Button>
          )}
        </div>
        {open.value && <Body cell={at} />}
      </div>
    );
  }
  mount(place, View, until, () => {
    if (found.peek() !== null) height = place.offsetHeight;
    pairs.threads();
  });
  onAbort(until, () => render(null, place));
};

declare module "../../views/contract" {
  interface LazyCode {
    readonly qk: typeof qk;
  }
}
