/** One pair of sentences token by token, and how the cell follows from it. */

import { computed, type ReadonlySignal, signal } from "@preact/signals-core";
import { CellMap } from "../../draw/cell-map/cell-map";
import type { CellAt } from "../../draw/cell-map/layout";
import type { Mode } from "../../draw/color/ramp";
import { consume } from "../../draw/dom";
import { onResize } from "../../draw/resize";
import { byTouch } from "../../draw/touch";
import { largest, maximum } from "../../figures/derive/matrix";
import { formatCount, formatNumber } from "../../figures/format";
import { headName, schemeOf, tokenName } from "../../figures/names";
import { keysOf } from "../../protocol/meta";
import { itemAt } from "../../protocol/required";
import type { Selection } from "../../state/selection";
import { Button } from "../../ui/controls";
import { RampLegend } from "../../ui/legend";
import { watch } from "../../ui/mount";
import { Num } from "../../ui/number";
import type { ViewContext } from "../contract";
import { type CellPosition, linkAt, massSum, type SentenceMatrix, type TokenBlock } from "./data";
import { keyName as nameOfKey, sentenceName } from "./grid";

const MAP = { rowHeight: null, cellMost: 34, heightMost: 440 } as const;
/** Links listed next to the map. */
const LINKS = 6;

export interface Drilled {
  readonly place: CellPosition;
  readonly matrix: SentenceMatrix;
  readonly block: TokenBlock;
}

const count = (size: number): string => (size === 1 ? "token" : `${formatCount(size)} tokens`);

export function createDrill(
  context: ViewContext,
  {
    drilled,
    selection,
    mode,
    close,
  }: {
    readonly drilled: ReadonlySignal<Drilled | null>;
    readonly selection: ReadonlySignal<Selection>;
    readonly mode: ReadonlySignal<Mode>;
    readonly close: () => void;
  },
) {
  const { source, state, announce, signal: until } = context;
  const { tokens } = source.meta;
  const keyTokens = keysOf(source.meta);
  const scheme = schemeOf(tokens);
  const name = (position: number): string => tokenName(tokens, position, scheme);
  const keyName = (position: number): string => tokenName(keyTokens, position, scheme);
  const pointed = signal<CellAt | null>(null);
  const max = computed(() => (drilled.value === null ? 0 : maximum(drilled.value.block.weights)));

  const pin = (query: number, key: number): void => {
    state.set({ token: query, pair: [query, key] });
    announce(`Pinned ${name(query)} to ${keyName(key)}.`);
  };
  const map = new CellMap(
    MAP,
    {
      point(cell, byKey) {
        pointed.value = cell;
        const readout = map.element.closest(".aw-drill")?.querySelector(".aw-readout");
        if (cell !== null && byKey) announce(readout?.textContent ?? "");
      },
      pick({ row, column }) {
        const block = drilled.peek()?.block;
        if (block !== undefined) pin(itemAt(block.queries, row), itemAt(block.keys, column));
      },
    },
    "drill",
    until,
  );
  onResize(map.element, (width) => map.resize(width), until);
  watch(() => {
    if (drilled.value === null) return;
    const { place, block } = drilled.value;
    const { queries, keys, weights: values } = block;
    const [rowLabels, columnLabels] = [queries.map(name), keys.map(keyName)];
    map.show(
      {
        ...{ rows: queries.length, columns: keys.length, values, rowLabels, columnLabels },
        ...{ top: max.value, scale: selection.value.scale },
      },
      `Tokens of ${sentenceName(place.a)} against tokens of ${nameOfKey(drilled.value.matrix, place.b)}`,
    );
    pointed.value = null;
  }, until);
  watch(() => {
    const [pair, block] = [selection.value.pair, drilled.value?.block];
    const row = pair === null ? -1 : (block?.queries.indexOf(pair[0]) ?? -1);
    const column = pair === null ? -1 : (block?.keys.indexOf(pair[1]) ?? -1);
    map.mark(row >= 0 && column >= 0 ? { row, column } : null);
  }, until);
  watch(() => {
    void mode.value;
    map.recolor();
  }, until);
  const holdMap = (room: Element | null): void => room?.append(map.element);

  const Token = ({
    position,
    called = name,
  }: {
    readonly position: number;
    readonly called?: (position: number) => string;
  }) => (
    <span class="aw-drill-token">
      <bdi dir="ltr">{called(position)}</bdi>
      <span class="aw-drill-at">{position}</span>
    </span>
  );
  const Link = ({ query, key }: ReturnType<typeof linkAt>) => (
    <>
      <Token position={query} />
      {" → "}
      <Token position={key} called={keyName} />
    </>
  );

  /** The weight that is pointed at, with the sum of its row. */
  function Readout({ matrix, block: { queries, keys, weights, error } }: Drilled) {
    const cell = pointed.value;
    if (cell === null)
      return byTouch()
        ? "Tap for weights; a second tap pins the two tokens in every view."
        : "Hover for weights; a click pins the two tokens in every view.";
    const at = cell.row * keys.length + cell.column;
    const value = itemAt(weights, at);
    const sum = weights
      .subarray(cell.row * keys.length, (cell.row + 1) * keys.length)
      .reduce((total, weight) => total + (weight || 0), 0);
    const ofRow = matrix.asked.aggregation === "mass" && keys.length > 1;
    return (
      <>
        {Link(linkAt({ queries, keys }, at))}
        {"  "}
        {Number.isNaN(value) ? (
          "impossible: the mask forbids it"
        ) : (
          <>
            <Num tag="strong" value={value} error={error(value)} />
            {ofRow && " of its row's "}
            {ofRow && <Num tag="strong" value={sum} error={error(sum, keys.length)} />}
          </>
        )}
      </>
    );
  }

  /** Derivation of the matrix's cell from the weights of its tokens. */
  function Derivation({ place: { a, b }, matrix, block }: Drilled) {
    const { queries, keys, weights, error } = block;
    const value = itemAt(matrix.values, a * matrix.width + b);
    if (Number.isNaN(value)) return "The model's mask forbids every link between the two.";
    if (matrix.asked.aggregation === "max")
      return (
        <>
          {`Largest of the ${formatCount(weights.length)} cells = `}
          <Num tag="strong" value={value} error={matrix.error(value)} />.
        </>
      );
    const { total, mean, digits } = massSum(block);
    const off = error(total, weights.length);
    return (
      <>
        {`Mean over the ${count(queries.length)} of ${sentenceName(a)} of what each ` +
          `${matrix.asked.quantity === null ? "gives to" : "takes from"} ` +
          `${nameOfKey(matrix, b)}: all cells sum to `}
        <Num
          tag="strong"
          value={total}
          error={off}
          text={formatNumber({ value: total, error: off }, digits)}
        />
        {` ÷ ${formatCount(queries.length)} = `}
        <Num tag="strong" value={mean} error={error(mean, keys.length)} />.
      </>
    );
  }

  /** The head that made a maximum, and a button to go there. */
  function Witness({ place: { a, b }, matrix }: Drilled) {
    const witness = matrix.witness(a, b);
    const value = itemAt(matrix.values, a * matrix.width + b);
    const show = (): void => {
      if (witness === null) return;
      const { layer, head, query, key } = witness;
      const pair = [query, key] as const;
      // The button goes with this view: the focus moves to the tab of the next one.
      const tab = map.element
        .closest(".attn-widget")
        ?.querySelector<HTMLElement>('[role="tab"][data-view="attention"]');
      const quantity = matrix.asked.quantity ?? "weights";
      state.set({ layer, head, token: query, pair, quantity, view: "attention" });
      tab?.focus({ preventScroll: true });
    };
    return (
      <div class="aw-drill-witness aw-stack" data-aw-part="witness" hidden={witness === null}>
        {witness !== null && (
          <span>
            {"Made by "}
            <strong>{headName(witness.layer, witness.head)}</strong>
            {": "}
            {Link(witness)}
            {", "}
            <Num tag="strong" value={value} error={matrix.error(value)} />
          </span>
        )}
        {witness !== null && (
          <Button
            class="aw-plain-button aw-drill-show"
            part="show-witness"
            onClick={show}
          >{`Show L${witness.layer} H${witness.head}`}</Button>
        )}
      </div>
    );
  }

  function Strongest({ block }: Drilled) {
    const { pair } = selection.value;
    const possible = block.weights.map((weight) => (Number.isNaN(weight) ? -1 : weight));
    const listed = largest(possible, LINKS, "weights").filter((at) => itemAt(possible, at) >= 0);
    return (
      <div hidden={listed.length === 0}>
        <h4 class="aw-drill-subtitle aw-muted aw-small">Strongest links</h4>
        <ol class="aw-small" data-aw-part="drill-links">
          {listed.map((at) => {
            const weight = itemAt(possible, at);
            const { query, key } = linkAt(block, at);
            return (
              <li key={at}>
                <Button
                  class="aw-item aw-drill-link"
                  data-query={query}
                  data-key={key}
                  aria-pressed={pair?.[0] === query && pair[1] === key}
                  onClick={() => pin(query, key)}
                >
                  <span class="aw-ellipsis">{Link({ query, key })}</span>
                  <Num value={weight} error={block.error(weight)} />
                </Button>
              </li>
            );
          })}
        </ol>
      </div>
    );
  }

  function Drill({ busy }: { readonly busy: boolean }) {
    const shown = drilled.value;
    if (shown === null) return null;
    const { queries, keys, error } = shown.block;
    const [a, b] = [sentenceName(shown.place.a), nameOfKey(shown.matrix, shown.place.b)];
    return (
      <section
        class="aw-drill aw-divided"
        aria-label={`Tokens of ${a} and ${b}`}
        aria-busy={busy ? "true" : undefined}
        data-aw-part="drill-down"
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          consume(event);
          close();
        }}
      >
        <div class="aw-panel-head aw-drill-head">
          <h3 class="aw-title">
            {`${a} → ${b}, token by token`}
            <span class="aw-muted">{`  ${formatCount(queries.length)} × ${formatCount(keys.length)}`}</span>
          </h3>
          {max.value > 0 && (
            <RampLegend
              max={max.value}
              error={error(max.value)}
              scale={selection.value.scale}
              mode={mode.value}
            />
          )}
          <Button label="Close the tokens of this pair" onClick={close}>
            ×
          </Button>
        </div>
        <p class="aw-drill-sum" data-aw-part="drill-sum">
          <Derivation {...shown} />
        </p>
        <div class="aw-drill-body">
          <div>
            <div class="aw-drill-map" ref={holdMap} />
            <p class="aw-readout" data-aw-part="drill-readout">
              <Readout {...shown} />
            </p>
          </div>
          <div class="aw-drill-side aw-stack">
            <Witness {...shown} />
            <Strongest {...shown} />
          </div>
        </div>
      </section>
    );
  }

  return { Drill, map };
}
