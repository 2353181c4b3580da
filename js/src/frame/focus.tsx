/** The focus token's row as a short list: its strongest keys, or, without one, the keys that receive most. */

import { computed, type ReadonlySignal, signal } from "@preact/signals-core";
import { render } from "preact";
import { ramp } from "../draw/color/ramp";
import { rampIndex } from "../draw/color/scale";
import { keepFocus, moveFocus } from "../draw/roving";
import { strongestOf } from "../figures/derive/matrix";
import { repeated, sumsOf } from "../figures/derive/units";
import { formatCount, formatNumber } from "../figures/format";
import { schemeOf, unitLabel } from "../figures/names";
import { matrixRows, type RowStore, type TokenRow } from "../figures/row";
import { isAbort, messageOf } from "../protocol/failure";
import { isLong } from "../protocol/meta";
import { arrayOf, itemAt } from "../protocol/required";
import type { Selection } from "../state/selection";
import { Button } from "../ui/controls";
import { modeSignal, mount, selectionOf, setTo, signalOf, watch } from "../ui/mount";
import { Num } from "../ui/number";
import { lazyCode, type ViewContext } from "../views/contract";

const KEYS = 10;
/** Ramp index of the palest bar: a paler one is lost on the ground, and its width still tells. */
const PALEST = 48;
const FLOW_TITLE =
  "Attention flow (Abnar & Zuidema 2020): the maximum flow from this token in the last layer to each input token, through all layers";

/** Attention flow of a token: one value a token of the text; null while it is computed, a string for the reason why there is none. */
interface Flow {
  readonly token: number;
  readonly values: Float32Array | string | null;
}

/** Sum of the values that are not listed. */
export function restOf(values: ArrayLike<number>, listed: readonly number[]): number {
  const sum = listed.reduce((total, i) => total + itemAt(values, i), 0);
  const all = Array.from(values).reduce((total, value) => total + (value || 0), 0);
  return Math.max(0, all - sum);
}

/** The flow of the focus token, as second bars of its keys. */
function createFlow(
  { source, signal: until }: ViewContext,
  row: ReadonlySignal<TokenRow | null>,
  selection: ReadonlySignal<Selection>,
) {
  const long = isLong(source.meta);
  /** Asked for by a button, since it takes a maximum flow for every token; then kept up for other tokens. */
  const wanted = signal(false);
  const flow = signal<Flow | null>(null);
  /** The focus token, where its flow can be compared: in rollout. */
  const flowToken = computed(() => {
    const { token } = selection.value;
    const shown = row.value;
    return shown !== null && !long && shown.quantity === "rollout" && shown.query >= 0
      ? token
      : null;
  });

  async function askFlow(token: number): Promise<void> {
    flow.value = { token, values: null };
    let values: Float32Array | string;
    try {
      const slice = await source.ask({ kind: "flow", token }, { signal: until });
      values = arrayOf(slice, "flow").data as Float32Array;
    } catch (error) {
      if (isAbort(error)) return;
      values = messageOf(error);
    }
    if (!until.aborted && flow.value?.token === token) flow.value = { token, values };
  }
  watch(() => {
    const token = flowToken.value;
    if (wanted.value && token !== null && flow.peek()?.token !== token) void askFlow(token);
  }, until);

  /** Legend of the second bar, the offer to compute it, or the reason why there is none. */
  function FlowKey({ token }: { readonly token: number }) {
    if (source.has?.({ kind: "flow", token }) === false)
      return <p class="aw-hint">Flow (max-flow) needs a kernel.</p>;
    if (!wanted.value)
      return (
        <Button class="aw-button aw-text-button" title={FLOW_TITLE} onClick={setTo(wanted, true)}>
          Compare with flow (max-flow)
        </Button>
      );
    const values = flow.value?.values ?? null;
    if (typeof values === "string") return <p class="aw-hint aw-flow-key">Flow N/A: {values}</p>;
    return (
      <>
        <p class="aw-hint aw-flow-key">
          <i class="aw-flow-mark is-rollout" aria-hidden="true" />
          rollout
        </p>
        <p class="aw-hint aw-flow-key">
          <i class="aw-flow-mark is-flow" aria-hidden="true" />
          flow (max-flow){values === null ? " …" : ", all layers"}
        </p>
      </>
    );
  }
  return { flow, flowToken, FlowKey };
}

export function focus(
  host: HTMLElement,
  context: ViewContext,
  rows: RowStore = matrixRows(context),
): () => void {
  const { source, state, signal: until } = context;
  const { meta } = source;
  const scheme = schemeOf(meta.tokens);
  const long = isLong(meta);
  const row = signalOf(rows.get, rows.on);
  const selection = selectionOf(state, ["token", "pair", "scale"], until);
  const mode = modeSignal(host, until);
  const { flow, flowToken, FlowKey } = createFlow(context, row, selection);

  function List({ shown }: { readonly shown: TokenRow }) {
    const { queries, keys: units, query, values, quantity, max, top, error } = shown;
    const { pair, scale } = selection.value;
    const token = queries[query]?.token ?? null;
    const name = (i: number): string => unitLabel(itemAt(units, i), scheme);
    const possible = Float32Array.from(values, (value, i) =>
      shown.isPossible(i) ? value : Number.NaN,
    );
    const listed = strongestOf(possible, KEYS);
    const twice = repeated(listed.map(name));
    const { css } = ramp("weight", mode.value);
    const flows =
      flow.value?.token === flowToken.value && flow.value?.values instanceof Float32Array
        ? sumsOf(flow.value.values, units)
        : null;
    const flowTop = flows?.reduce((a, b) => Math.max(a, b), 0) ?? 0;
    const width = (value: number, most: number): string =>
      `${most > 0 ? Math.max(0, (100 * value) / most) : 0}%`;
    // Only weights have the color of a weight.
    const color = (value: number): string | undefined =>
      query < 0 || quantity === "scores"
        ? undefined
        : css[Math.max(PALEST, rampIndex(value, top, scale))];
    const masked = possible.reduce((count, value) => count + (Number.isNaN(value) ? 1 : 0), 0);
    const others = units.length - listed.length - masked;
    const remains = restOf(possible, listed);
    return (
      <>
        <div class="aw-panel-head">
          <h3 class="aw-title">
            {query < 0 ? (
              quantity === "weights" ? (
                "Most received"
              ) : (
                "Most taken from"
              )
            ) : (
              <>
                <bdi dir="ltr">{unitLabel(itemAt(queries, query), scheme)}</bdi>
                {VERBS[quantity] ?? " comes from"}
              </>
            )}
          </h3>
          {long && (
            <span class="aw-muted aw-nth" data-aw-part="window">
              {token !== null && lazyCode.value?.windows.name(meta, token, "query")}
            </span>
          )}
        </div>
        <ol
          class={`aw-rowkeys${long ? " aw-long-keys" : ""}${flows === null ? "" : " aw-with-flow"}`}
          data-aw-part="focus-keys"
          onKeyDown={moveFocus}
        >
          {listed.map((i) => {
            const unit = itemAt(units, i);
            const value = itemAt(values, i);
            return (
              <li key={unit.token}>
                <Button
                  class="aw-rowkey"
                  data-token={unit.token}
                  aria-pressed={pair !== null && pair[0] === token && shown.keyOf(pair[1]) === i}
                  title={`position ${unit.token}`}
                  onClick={() =>
                    state.set(
                      token === null ? { token: unit.token } : { pair: [token, unit.token] },
                    )
                  }
                >
                  <span class="aw-rowkey-name">
                    <bdi dir="ltr">{name(i)}</bdi>
                    {(long || twice.has(name(i))) && (
                      <span class="aw-muted aw-nth">{unit.token}</span>
                    )}
                  </span>
                  <span class="aw-rowkey-track">
                    <span
                      class="aw-rowkey-bar"
                      aria-hidden="true"
                      style={{ width: width(value, max), background: color(value) }}
                    />
                    {flows && (
                      <span
                        class="aw-rowkey-bar aw-rowkey-flow"
                        aria-hidden="true"
                        style={{ width: width(itemAt(flows, i), flowTop) }}
                      />
                    )}
                  </span>
                  <span class="aw-rowkey-numbers">
                    <Num value={value} error={error(value)} />
                    {flows && <Num value={itemAt(flows, i)} />}
                  </span>
                </Button>
              </li>
            );
          })}
        </ol>
        <p class="aw-hint">
          {quantity !== "scores" &&
            others > 0 &&
            `${others === 1 ? "1 other has" : `${formatCount(others)} others share`} ${formatNumber({ value: remains, error: error(remains, others) })}. `}
          {masked > 0 &&
            `${formatCount(masked)} masked: this query cannot see ${masked === 1 ? "it" : "them"}. `}
          {query < 0 && "Choose a token above to see its row."}
        </p>
        <div class="aw-focus-flow" data-aw-part="focus-flow" hidden={flowToken.value === null}>
          {flowToken.value !== null && <FlowKey token={flowToken.value} />}
        </div>
      </>
    );
  }

  let settle = (): void => undefined;
  mount(
    host,
    () => {
      settle = keepFocus(() => host.querySelector("ol"));
      const shown = row.value;
      // Called, not drawn as a component: what it reads is read by this effect.
      return shown && List({ shown });
    },
    until,
    () => settle(),
  );
  return () => render(null, host);
}

const VERBS: Readonly<Partial<Record<TokenRow["quantity"], string>>> = {
  weights: " attends to",
  scores: " scores",
};
