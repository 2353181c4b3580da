/** One pair of sentences token by token, and how the cell follows from it. */
import { computed, type ReadonlySignal } from "@preact/signals-core";
import type { Mode } from "../../draw/color/ramp";
import { consume } from "../../draw/dom";
import { largest, maximum } from "../../figures/derive/matrix";
import { formatCount, formatNumber } from "../../figures/format";
import { headName, schemeOf, tokenName } from "../../figures/names";
import { type Cells, createCells } from "../../marks/cells";
import type { Place } from "../../marks/navigate";
import { keysOf } from "../../protocol/meta";
import { itemAt } from "../../protocol/required";
import type { Selection } from "../../state/selection";
import { Button } from "../../ui/controls";
import { RampLegend } from "../../ui/legend";
import { Num } from "../../ui/number";
import type { ViewContext } from "../../views/contract";
import {
  keyName,
  linkAt,
  massSum,
  type SentenceMatrix,
  sentenceName,
  type TokenBlock,
  valueAt,
} from "./data";

const SHAPE = { rowHeight: null, cellMost: 34, heightMost: 440 } as const;
/** Links listed next to the map. */
const LINKS = 6;

export interface Drilled {
  readonly place: Place;
  readonly matrix: SentenceMatrix;
  readonly block: TokenBlock;
}

interface Options {
  readonly drilled: ReadonlySignal<Drilled | null>;
  readonly selection: ReadonlySignal<Selection>;
  readonly mode: ReadonlySignal<Mode>;
  readonly close: () => void;
}

const strong = (value: number, error: number, digits?: number) => (
  <Num tag="strong" {...{ value, error }} text={formatNumber({ value, error }, digits)} />
);

/** The matrix's cell from the weights of its tokens. */
function derivation({ place, matrix, block }: Drilled) {
  const { queries, keys, weights, error } = block;
  const value = valueAt(matrix, place);
  const count = formatCount(queries.length);
  if (Number.isNaN(value)) return "The model's mask forbids every link between the two.";
  if (matrix.asked.aggregation === "max")
    return [
      `Largest of the ${formatCount(weights.length)} cells = `,
      strong(value, matrix.error(value)),
      ".",
    ];
  const { total, mean, digits } = massSum(block);
  return [
    `Mean over the ${queries.length === 1 ? "token" : `${count} tokens`} of ` +
      `${sentenceName(matrix, place.row)} of what each ` +
      `${matrix.asked.quantity === null ? "gives to" : "takes from"} ` +
      `${keyName(matrix, place.column)}: all cells sum to `,
    strong(total, error(total, weights.length), digits),
    ` ÷ ${count} = `,
    strong(mean, error(mean, keys.length)),
    ".",
  ];
}

export function createDrill(context: ViewContext, { drilled, selection, mode, close }: Options) {
  const { source, state, announce, signal: until } = context;
  const [queryTokens, keyTokens] = [source.meta.tokens, keysOf(source.meta)];
  const scheme = schemeOf(queryTokens);
  const queryNamed = (position: number): string => tokenName(queryTokens, position, scheme);
  const keyNamed = (position: number): string => tokenName(keyTokens, position, scheme);
  const namesOf = ({ place, matrix }: Drilled) =>
    [sentenceName(matrix, place.row), keyName(matrix, place.column)] as const;
  function pin(query: number, key: number): void {
    state.set({ token: query, pair: [query, key] });
    announce(`Pinned ${queryNamed(query)} to ${keyNamed(key)}.`);
  }

  const cells = computed((): Cells | null => {
    if (drilled.value === null) return null;
    const { queries, keys, weights: values } = drilled.value.block;
    const [a, b] = namesOf(drilled.value);
    return {
      values,
      rowLabels: queries.map(queryNamed),
      columnLabels: keys.map(keyNamed),
      name: `Tokens of ${a} against tokens of ${b}`,
      top: maximum(values),
      scale: selection.value.scale,
    };
  });
  const pinned = computed(() => {
    const [pair, block] = [selection.value.pair, drilled.value?.block];
    const row = block?.queries.indexOf(pair?.[0] ?? -1) ?? -1;
    const column = block?.keys.indexOf(pair?.[1] ?? -1) ?? -1;
    return row < 0 || column < 0 ? null : { row, column };
  });
  const pick = ({ row, column }: Place): void => {
    const { queries = [], keys = [] } = drilled.peek()?.block ?? {};
    pin(itemAt(queries, row), itemAt(keys, column));
  };
  const map = createCells(cells, { part: "drill", shape: SHAPE, pick, pinned, announce }, until);

  const token = (name: string, position: number) => (
    <span class="aw-drill-token">
      <bdi dir="ltr">{name}</bdi>
      <span class="aw-drill-at">{position}</span>
    </span>
  );
  const link = ({ query, key }: ReturnType<typeof linkAt>) => (
    <>
      {token(queryNamed(query), query)}
      {" → "}
      {token(keyNamed(key), key)}
    </>
  );

  /** A weight, with the sum of its row. */
  function say({ matrix, block }: Drilled, { row }: Place, at: number, value: number) {
    const { keys, weights, error } = block;
    const sum = weights
      .subarray(row * keys.length, (row + 1) * keys.length)
      .reduce((total, weight) => total + (weight || 0), 0);
    return (
      <>
        {link(linkAt(block, at))}
        {"  "}
        {Number.isNaN(value) ? "impossible: the mask forbids it" : strong(value, error(value))}
        {!Number.isNaN(value) && matrix.asked.aggregation === "mass" && keys.length > 1 && (
          <>
            {" of its row's "}
            {strong(sum, error(sum, keys.length))}
          </>
        )}
      </>
    );
  }
  /** The head that made a maximum, and a button to go there. */
  function witness({ place, matrix }: Drilled) {
    const found = matrix.witness(place);
    if (found === null) return null;
    const { layer, head, query, key } = found;
    const value = valueAt(matrix, place);
    const show = ({ currentTarget }: { readonly currentTarget: Element }): void => {
      // The button goes with this view: the focus moves to the tab of the next one.
      const tab = currentTarget
        .closest(".attn-widget")
        ?.querySelector<HTMLElement>('[role="tab"][data-view="attention"]');
      const quantity = matrix.asked.quantity ?? "weights";
      state.set({ layer, head, token: query, pair: [query, key], quantity, view: "attention" });
      tab?.focus({ preventScroll: true });
    };
    return (
      <>
        <span>
          {"Made by "}
          <strong>{headName(layer, head)}</strong>
          {": "}
          {link(found)}
          {", "}
          {strong(value, matrix.error(value))}
        </span>
        <Button class="aw-plain-button aw-drill-show" part="show-witness" onClick={show}>
          {`Show L${layer} H${head}`}
        </Button>
      </>
    );
  }
  function strongest(block: TokenBlock) {
    const possible = block.weights.map((weight) => (Number.isNaN(weight) ? -1 : weight));
    const listed = largest(possible, LINKS, "weights").filter((at) => itemAt(possible, at) >= 0);
    return (
      <div hidden={listed.length === 0}>
        <h4 class="aw-drill-subtitle aw-muted aw-small">Strongest links</h4>
        <ol class="aw-small" data-aw-part="drill-links">
          {listed.map((at) => {
            const { query, key } = linkAt(block, at);
            const [value, { pair }] = [itemAt(possible, at), selection.value];
            return (
              <li key={at}>
                <Button
                  class="aw-item aw-drill-link"
                  {...{ "data-query": query, "data-key": key }}
                  aria-pressed={pair?.[0] === query && pair[1] === key}
                  onClick={() => pin(query, key)}
                >
                  <span class="aw-ellipsis">{link({ query, key })}</span>
                  <Num value={value} error={block.error(value)} />
                </Button>
              </li>
            );
          })}
        </ol>
      </div>
    );
  }

  return function Drill({ busy }: { readonly busy: boolean }) {
    const shown = drilled.value;
    if (shown === null) return null;
    const { queries, keys, error } = shown.block;
    const [a, b] = namesOf(shown);
    const [max, made] = [map.top.value, witness(shown)];
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
            <span class="aw-muted">
              {`  ${formatCount(queries.length)} × ${formatCount(keys.length)}`}
            </span>
          </h3>
          {max > 0 && (
            <RampLegend
              {...{ max, error: error(max), scale: selection.value.scale, mode: mode.value }}
            />
          )}
          <Button label="Close the tokens of this pair" onClick={close}>
            ×
          </Button>
        </div>
        <p class="aw-drill-sum" data-aw-part="drill-sum">
          {derivation(shown)}
        </p>
        <div class="aw-drill-body">
          <div>
            <div class="aw-drill-map">
              <map.Map />
            </div>
            <map.Reading
              part="drill-readout"
              idle="for weights; a click pins the two tokens in every view."
              say={(at, value) => say(shown, at, at.row * keys.length + at.column, value)}
            />
          </div>
          <div class="aw-drill-side aw-stack">
            <div class="aw-drill-witness aw-stack" data-aw-part="witness" hidden={made === null}>
              {made}
            </div>
            {strongest(shown.block)}
          </div>
        </div>
      </section>
    );
  };
}
