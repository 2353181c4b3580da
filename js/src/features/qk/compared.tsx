/**
 * Why a head looks there in two runs: the same cell of A and B, entry by entry, those that change most first.
 *
 * `data-aw-part`: qk-compared, why-here, qk-line-a, qk-line-b, qk-change, qk-by, qk-compared-key, qk-compared-query, qk-compared-csv, qk-absent.
 */

import { computed, signal } from "@preact/signals-core";
import { render } from "preact";
import { formatNumber, formatSigned } from "../../figures/format";
import { onAbort } from "../../protocol/abort";
import { messageOf, needsKernel } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import { Button, Segmented } from "../../ui/controls";
import { mount, setTo } from "../../ui/mount";
import { Num } from "../../ui/number";
import { Change } from "../../ui/signs";
import type { ComparedPair, ComparedPairPart } from "../../views/contract";
import { toCsv } from "../exports/csv";
import { download } from "../exports/deliver";
import { memoryOf } from "./back";
import { type ChangedPart, changeOf, changesOf } from "./changes";
import {
  askCell,
  BYS,
  type By,
  type CellRequest,
  cellRequest,
  type Found,
  isAnswered,
  SIDES,
  type SideName,
} from "./data";
import { Line } from "./line";
import { type Names, namesOf, PartName } from "./names";
import { ONE_NUMBER } from "./sums";
import { taskOf, Waiting } from "./task-of";

/** Entries that are listed of a side. */
const LISTED = 6;
const RUNS = ["a", "b"] as const;
type OfBoth<T> = Readonly<Record<"a" | "b", T>>;
const TITLES: Readonly<Record<SideName, string>> = { key: "Key side", query: "Query side" };

/** Name of an entry: A's, and B's where it is another; in which run it stands if only in one. */
function ChangedName({
  of: { a, b },
  found,
  names,
  side,
}: {
  readonly of: ChangedPart;
  readonly found: OfBoth<Found>;
  readonly names: OfBoth<Names>;
  readonly side: SideName;
}) {
  const name = (run: "a" | "b", at: number) => (
    <PartName names={names[run]} side={side} part={itemAt(found[run].parts[side], at)} />
  );
  if (a === null || b === null)
    return (
      <>
        {a !== null ? name("a", a) : b !== null && name("b", b)}
        <span class="aw-muted">{a === null ? " (only in B)" : " (only in A)"}</span>
      </>
    );
  const text = (run: "a" | "b", at: number) =>
    names[run].part(side, itemAt(found[run].parts[side], at)).toLowerCase();
  return (
    <>
      {name("a", a)}
      {text("a", a) !== text("b", b) && <> → {name("b", b)}</>}
    </>
  );
}

export const qkCompared: ComparedPairPart = (place, compared) => {
  const { sources, cells, partners, state, signal: until } = compared;
  const names = { a: namesOf(sources.a.meta), b: namesOf(sources.b.meta) };
  const { open } = memoryOf(state);
  const by = signal<By | null>(null);
  const requests = computed((): OfBoth<CellRequest> | null => {
    const of = cells.value;
    if (of === null || !open.value) return null;
    const request = (run: "a" | "b") => cellRequest(of[run], "others", by.value);
    return { a: request("a"), b: request("b") };
  });
  const answered = computed(() => {
    const of = requests.value;
    return of !== null && RUNS.every((run) => isAnswered(sources[run], of[run]));
  });
  const task = taskOf<OfBoth<CellRequest>, OfBoth<Found>>(
    computed(() => (answered.value ? requests.value : null)),
    async (of, step) => {
      const [a, b] = await Promise.all(RUNS.map((run) => askCell(sources[run], of[run], step)));
      return { a: a as Found, b: b as Found };
    },
    until,
  );

  function View() {
    const of = cells.value;
    if (of === null) return null;
    const now = task.value;
    const found = now?.state.value.value ?? null;
    return (
      <div class="aw-qk" data-aw-part="qk-compared">
        <div class="aw-cluster">
          <Button
            class="aw-plain-button aw-small"
            part="why-here"
            aria-expanded={open.value}
            onClick={setTo(open, !open.value)}
          >
            Why here, in A and in B?
          </Button>
        </div>
        {open.value && !answered.value && (
          <p class="aw-qk-absent" data-aw-part="qk-absent">
            {messageOf(needsKernel("The sum of this pair"))}
          </p>
        )}
        {now !== null && (
          <Waiting task={now} doing="Computing both sums" start="Compute both sums" part="qk" />
        )}
        {found !== null && <Both {...{ found, cells: of, names, partners }} by={by} />}
      </div>
    );
  }
  mount(place, View, until);
  onAbort(until, () => render(null, place));
};

function Both({
  found,
  cells,
  names,
  partners,
  by,
}: {
  readonly found: OfBoth<Found>;
  readonly cells: NonNullable<ComparedPair["cells"]["value"]>;
  readonly names: OfBoth<Names>;
  readonly partners: ComparedPair["partners"];
  readonly by: { value: By | null };
}) {
  const sides = { key: changes("key"), query: changes("query") };
  function changes(side: SideName) {
    return changesOf(found.a, found.b, side, partners);
  }
  const ways = found.a.others.filter((each) => found.b.others.includes(each));
  const change = found.b.contrast - found.a.contrast;
  const named = { found, names };
  // Bars of both sides have one scale.
  const top = Math.max(...SIDES.map((side) => topOf(sides[side])));
  function save(): void {
    const rows = SIDES.flatMap((side) =>
      sides[side].map(({ a, b, values }) => [
        side,
        a === null ? "" : names.a.part(side, itemAt(found.a.parts[side], a)),
        b === null ? "" : names.b.part(side, itemAt(found.b.parts[side], b)),
        a === null ? null : values[0],
        b === null ? null : values[1],
      ]),
    );
    const csv = toCsv({ columns: ["side", "name_a", "name_b", "a", "b"], rows });
    const { layer, head, query, key } = cells.a;
    download(
      new Blob([csv], { type: "text/csv" }),
      `attn_widget-why_here-L${layer}H${head}-${query}-${key}-compared.csv`,
    );
  }
  return (
    <>
      {RUNS.map((run) => (
        <div key={run} class="aw-qk-run" data-aw-part={`qk-line-${run}`}>
          <b>{run.toUpperCase()}</b>
          <Line found={found[run]} cell={cells[run]} names={names[run]} />
        </div>
      ))}
      <p data-aw-part="qk-change">
        {"In B the contrast is "}
        <Num value={change} text={formatNumber(Math.abs(change))} />
        {change < 0 ? " lower" : " higher"}. What changes most:
        {SIDES.map((side, i) => {
          const [most] = sides[side];
          if (most === undefined) return null;
          return (
            <span key={side}>
              {i === 0 ? " " : "; "}
              <ChangedName of={most} side={side} {...named} />
              {` on the ${side} side, `}
              <Num value={changeOf(most)} text={formatSigned(changeOf(most))} />
            </span>
          );
        })}
        .
      </p>
      {ways.length > 1 && (
        <div class="aw-cluster aw-small">
          <Segmented<By>
            label="The sums"
            part="qk-by"
            name="by"
            options={BYS.filter(([each]) => ways.includes(each))}
            value={found.a.by}
            choose={(next) => {
              by.value = next;
            }}
          />
        </div>
      )}
      {RUNS.map(
        (run) =>
          found[run].fallback !== null && (
            <p key={run} class="aw-view-note">
              {run.toUpperCase()}: {found[run].fallback}
            </p>
          ),
      )}
      <div class="aw-qk-sides is-checked">
        {SIDES.map((side) => (
          <ChangedSide key={side} side={side} rows={sides[side]} {...named} top={top} />
        ))}
      </div>
      <div class="aw-cluster">
        <Button class="aw-link" part="qk-compared-csv" onClick={save}>
          Save the sums as CSV
        </Button>
      </div>
      <p class="aw-view-note">
        {ONE_NUMBER} Both columns add up exactly, each with the attention, norms and gates of its
        own run held. A difference is not what would happen if an entry were exchanged: patching
        runs that.
      </p>
    </>
  );
}

const sumOf = (of: readonly ChangedPart[], run: 0 | 1): number =>
  of.reduce((sum, { values }) => sum + values[run], 0);

/** Largest change that a side lists, that of the others together included. */
function topOf(rows: readonly ChangedPart[]): number {
  const others = rows.slice(LISTED);
  const changes = [...rows.slice(0, LISTED).map(changeOf), sumOf(others, 1) - sumOf(others, 0)];
  return Math.max(...changes.map(Math.abs));
}

function ChangedSide({
  side,
  rows,
  found,
  names,
  top,
}: {
  readonly side: SideName;
  readonly rows: readonly ChangedPart[];
  readonly found: OfBoth<Found>;
  readonly names: OfBoth<Names>;
  /** Change whose bar is longest. */
  readonly top: number;
}) {
  const [listed, others] = [rows.slice(0, LISTED), rows.slice(LISTED)];
  const rest = [sumOf(others, 0), sumOf(others, 1)] as const;
  const cell = (value: number | null) =>
    value === null ? (
      <td class="aw-muted">–</td>
    ) : (
      <Num tag="td" value={value} text={formatSigned(value)} />
    );
  return (
    <table class="aw-qk-sum aw-qk-compared" data-aw-part={`qk-compared-${side}`}>
      <caption>{TITLES[side]}</caption>
      <thead>
        <tr>
          <td />
          <th scope="col">A</th>
          <th scope="col">B</th>
          <th scope="col">B − A</th>
        </tr>
      </thead>
      <tbody>
        {listed.map((row) => (
          <tr key={`${row.a} ${row.b}`} data-part={row.a ?? undefined}>
            <th scope="row">
              <ChangedName of={row} {...{ found, names, side }} />
            </th>
            {cell(row.a === null ? null : row.values[0])}
            {cell(row.b === null ? null : row.values[1])}
            <Change value={changeOf(row)} top={top} />
          </tr>
        ))}
        {others.length > 0 && (
          <tr class="aw-qk-rest">
            <th scope="row">{`${others.length} other ${found.a.by}`}</th>
            {cell(rest[0])}
            {cell(rest[1])}
            <Change value={rest[1] - rest[0]} top={top} />
          </tr>
        )}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">sum</th>
          {cell(sumOf(rows, 0))}
          {cell(sumOf(rows, 1))}
          <Change value={sumOf(rows, 1) - sumOf(rows, 0)} top={0} />
        </tr>
      </tfoot>
    </table>
  );
}

declare module "../../views/contract" {
  interface LazyCode {
    readonly qkCompared: typeof qkCompared;
  }
}
