/** The pairs of the sum: by tokens threads between query side and key side and the matrix, by parts the largest. */

import { computed, signal } from "@preact/signals-core";
import { onResize } from "../../draw/resize";
import { visible } from "../../figures/format";
import { createSaidCells } from "../../marks/cells";
import { itemAt } from "../../protocol/required";
import { Button } from "../../ui/controls";
import { RampLegend } from "../../ui/legend";
import { watch } from "../../ui/mount";
import { Change, markOf, signed } from "../../ui/signs";
import {
  drawThreads,
  type Linked,
  sameUnit,
  type TextNames,
  Texts,
  threadsOf,
  type UnitOfText,
} from "../similarity/texts";
import type { Found, SideName } from "./data";
import type { QkModel } from "./model";
import { type Names, PartName } from "./names";

/** Least width of a cell with a number, px. */
const NUMBERED = 40;
const CELLS = { rowHeight: null, cellMost: 42, heightMost: 560 };
const LINES: TextNames = {
  both: "Query side and key side",
  part: "qk-texts",
  a: ["q", "Query side"],
  b: ["k", "Key side"],
};

/** One line for each side, with the tokens that add anything. */
export function linkedOf({ parts, sums, matrix }: Found, names: Names): Linked | null {
  if (matrix === null) return null;
  const [rows, columns] = [parts.query.length, parts.key.length];
  const line = (side: SideName) => {
    const { before } = names.columns(side);
    const of = parts[side];
    return {
      of: of.map((_, i) => i),
      names: of.map((part) => visible(names.part(side, part))),
      // A decoder's later tokens add nothing: they are left out.
      special: of.map((_, i) => {
        const count = side === "query" ? columns : rows;
        for (let k = 0; k < count; k++)
          if (matrix[side === "query" ? i * columns + k : k * columns + i] !== 0) return false;
        return true;
      }),
      apart: of.map(({ token }) => token === null || /\s/.test(before[token] ?? "")),
      breaks: of.map(() => false),
    };
  };
  const ranked = Array.from(matrix, (value, at) => ({
    ...{ a: Math.floor(at / columns), b: at % columns, value },
  })).filter(({ value }) => value !== 0);
  ranked.sort((pair, other) => Math.abs(other.value) - Math.abs(pair.value));
  return {
    a: line("query"),
    b: line("key"),
    valuesA: Float64Array.from(sums.query),
    valuesB: Float64Array.from(sums.key),
    matrix: { values: Float64Array.from(matrix), ranked },
  };
}

/** The largest pairs, and all others. */
function Largest({
  of: { pairs, pairsRest, parts },
  names,
}: {
  readonly of: Found;
  readonly names: Names;
}) {
  const top = Math.max(...[...pairs.map(([, , value]) => value), pairsRest].map(Math.abs));
  return (
    <table class="aw-qk-sum" data-aw-part="qk-pairs">
      <caption>Largest pairs: query side × key side</caption>
      <tbody>
        {pairs.map(([a, b, value]) => (
          <tr key={`${a} ${b}`}>
            <th scope="row">
              <PartName names={names} side="query" part={itemAt(parts.query, a)} />
              {" × "}

              <PartName names={names} side="key" part={itemAt(parts.key, b)} />
            </th>
            <Change value={value} top={top} />
          </tr>
        ))}
        <tr class="aw-qk-rest">
          <th scope="row">all other pairs</th>
          <Change value={pairsRest} top={top} />
        </tr>
      </tbody>
    </table>
  );
}

export function createPairs({
  place,
  found,
  pairsOpen: open,
  names,
  mode,
  choose,
  live,
  until,
}: QkModel) {
  const linked = computed(() => {
    const now = found.value;
    return open.value && now?.by === "tokens" ? linkedOf(now, names) : null;
  });
  const pointed = signal<UnitOfText | null>(null);
  const pinned = signal<UnitOfText | null>(null);
  const at = computed(() => pinned.value ?? pointed.value);
  watch(() => {
    linked.value;
    pointed.value = pinned.value = null;
  }, until);
  const topOf = () => Math.abs(linked.peek()?.matrix?.ranked[0]?.value ?? 0);
  const cells = createSaidCells(
    { shape: CELLS, part: "qk-matrix", pick: () => undefined },
    (row, column, value) => {
      const { a, b } = linked.peek() ?? {};
      return { text: `${a?.names[row]} · ${b?.names[column]}: ${signed(value, 3)}`, value };
    },
    until,
  );
  watch(() => {
    const now = linked.value;
    if (now?.matrix == null) return cells.clear();
    // Rows and columns that add nothing are left out, as in the lines.
    const [rows, columns] = [now.a, now.b].map(({ special }) =>
      special.flatMap((none, i) => (none ? [] : [i])),
    ) as [number[], number[]];
    const { values } = now.matrix;
    cells.show({
      values: Float32Array.from(
        rows.flatMap((i) => columns.map((j) => itemAt(values, i * now.b.names.length + j))),
      ),
      rowLabels: rows.map((i) => itemAt(now.a.names, i)),
      columnLabels: columns.map((j) => itemAt(now.b.names, j)),
      name: "What each pair of a token on the query side and one on the key side adds",
      signed: true,
      mark: (value, width) => {
        const text = markOf(topOf())(value, width < NUMBERED ? 0 : width);
        return text === "0" ? null : text;
      },
    });
  }, until);

  function threads(): void {
    const now = linked.peek();
    if (now !== null) drawThreads(place, threadsOf(now, at.peek()), topOf());
  }
  onResize(place, threads, until);

  /** The token that is pointed at, its sum, and its largest pairs. */
  function Reading({ of }: { readonly of: Linked }) {
    const unit = at.value;
    if (unit === null)
      return (
        <span class="aw-muted">Point at a token, or move with the arrow keys, for its pairs.</span>
      );
    const [own, far] = unit.side === "a" ? (["a", "b"] as const) : (["b", "a"] as const);
    const ranked = of.matrix?.ranked.filter((pair) => pair[own] === unit.unit).slice(0, 3) ?? [];
    const token = found.value?.parts.key[unit.unit]?.token ?? null;
    return (
      <>
        <strong>
          <bdi>{of[own].names[unit.unit]}</bdi>
        </strong>
        {` ${signed(itemAt(own === "a" ? of.valuesA : of.valuesB, unit.unit), 3)}: `}
        {ranked.map((pair, i) => (
          <span key={i}>
            {i > 0 && ", "}
            <bdi>{of[far].names[pair[far]]}</bdi> {signed(pair.value, 3)}
          </span>
        ))}
        {own === "b" && live && pinned.value !== null && token !== null && (
          <Button class="aw-link" part="qk-compare" onClick={() => choose(token)}>
            compare with it
          </Button>
        )}
      </>
    );
  }

  function Threads() {
    const now = linked.value;
    if (now === null) return null;
    return (
      <>
        <h4 class="aw-title">Pairs of tokens: query side by key side</h4>
        <Texts
          shown={now}
          names={LINES}
          place={at}
          pinned={pinned.value !== null}
          mode={mode.value}
          editing={null}
          point={(next) => {
            if (!sameUnit(pointed.peek(), next)) pointed.value = next;
          }}
          pin={(next) => {
            pinned.value = sameUnit(pinned.peek(), next) ? null : next;
          }}
        />
        <p class="aw-readout aw-cluster" role="status" data-aw-part="qk-reading">
          <span>
            <Reading of={now} />
          </span>
        </p>
        <div class="aw-cluster aw-small">
          <span class="aw-sim-key is-more">adds to the contrast</span>
          <span class="aw-sim-key is-less">takes from it</span>
          <RampLegend max={topOf()} mode={mode.value} signed />
        </div>
        <cells.Map />
        <cells.Reading part="qk-pair" />
      </>
    );
  }

  return {
    /** After each drawing: the words have their places. */
    threads,
    View() {
      const now = found.value;
      if (now === null || !open.value) return null;
      return (
        <section class="aw-qk-pairs">
          {linked.value !== null ? <Threads /> : <Largest of={now} names={names} />}
        </section>
      );
    },
  };
}
