/** Attention of the first token in the last layers: one row a layer, on one scale. */

import { computed, signal } from "@preact/signals-core";
import { largest, maximum } from "../../figures/derive/matrix";
import { sumsOf, unitsOf } from "../../figures/derive/units";
import { exact, formatNumber } from "../../figures/format";
import { headName, unitLabel } from "../../figures/names";
import { asking } from "../../protocol/asking";
import { messageOf } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import type { HeadIndex } from "../../protocol/types";
import { Segmented } from "../../ui/controls";
import { memo } from "../../ui/memo";
import { watch } from "../../ui/mount";
import { showSettings } from "../../views/contract";
import { firstTokenRequest } from "./answers";
import { type TaskContext, type Words, wordUnits } from "./context";
import { createPainted, PaintedSection } from "./painted";
import type { CellPosition, Painting } from "./painted-row";

const HINT = "Click a layer to color the text above by its row; click a word to pin the pair.";

interface Rows {
  readonly head: HeadIndex;
  readonly layers: readonly number[];
  /** `[layers, n]`. */
  readonly weights: Float32Array;
  /** True if they are decoded from a saved page, and off by as much as it says. */
  readonly encoded: boolean;
  readonly words: Words;
}

/** The rows that the first token gives, by words or tokens, as they are painted. */
function createRows(context: TaskContext) {
  const { source, state, report, selection, signal: until } = context;
  const { tokens, model } = source.meta;
  const n = tokens.text.length;
  const { answer, failure, busy, ask } = asking<Rows>(until, report);

  const head = computed(() => selection.value.head);
  const special = computed(() => selection.value.special);
  const byWords = signal(true);
  const merged = computed(() => byWords.value && answer.value?.words !== null);
  state.on(
    ["words"],
    ({ words }) => {
      byWords.value = words;
    },
    until,
  );
  watch(() => {
    const wanted = head.value;
    if (model.n_layers === 0) return;
    void ask(async (signal) => {
      const [{ data, arrays }, words] = await Promise.all([
        source.ask(firstTokenRequest(wanted), { signal }),
        context.words(),
      ]);
      return {
        head: wanted,
        layers: data.layers as readonly number[],
        weights: arrays.get("weights")?.data as Float32Array,
        encoded: data.coded === true,
        words,
      };
    });
  }, until);

  /** Largest error of a sum of weights. */
  function errorOf(value: number, terms = 1): number {
    const rows = answer.value;
    if (rows?.encoded !== true) return 0;
    return source.precision?.weight(value, terms, rows.head === "mean") ?? 0;
  }

  const painting = computed((): Painting | null => {
    if (answer.value === null) return null;
    const { layers, weights, words } = answer.value;
    const units = merged.value
      ? wordUnits(tokens, words)
      : unitsOf(tokens, { special: special.value });
    const outside = tokens.special.map(
      (special, i) => special || (merged.value && words?.[i] == null),
    );
    const rows = layers.map((layer, i) => {
      const row = weights.subarray(i * n, (i + 1) * n);
      const value = row.reduce((sum, weight, token) => sum + (outside[token] ? weight : 0), 0);
      return {
        key: layer,
        label: `L${layer}`,
        spoken: `layer ${layer}`,
        values: sumsOf(row, units),
        special:
          merged.value || !special.value
            ? { value, error: errorOf(value, outside.filter(Boolean).length) }
            : null,
      };
    });
    const top = rows.reduce((most, { values }) => Math.max(most, maximum(values)), 0);
    const pieces = units.reduce((most, { token, end }) => Math.max(most, end - token), 1);
    const unit = merged.value ? "word" : "token";
    return {
      units,
      rows,
      top,
      error: errorOf(top),
      signed: false,
      label: `Layers by ${unit}s: Enter on a layer selects it, on a ${unit} pins the pair`,
      part: "first-layers",
      keyName: "data-layer",
      ends: true,
      format: (value) => formatNumber({ value, error: errorOf(value, pieces) }),
      exact: (value) => exact({ value, error: errorOf(value, pieces) }),
    };
  });
  return { answer, failure, busy, head, byWords, merged, errorOf, painting };
}

export function createFirstToken(context: TaskContext) {
  const { source, state, announce, selection, scheme, first } = context;
  const n = source.meta.tokens.text.length;
  const { answer, failure, busy, head, byWords, merged, errorOf, painting } = createRows(context);
  const selected = computed(() => answer.value?.layers.indexOf(selection.value.layer) ?? -1);
  const pinned = computed((): CellPosition | null => {
    const { pair } = selection.value;
    if (pair?.[0] !== 0) return null;
    const unit = painting.value?.units.findIndex(
      ({ token, end }) => pair[1] >= token && pair[1] < end,
    );
    return { row: selected.value, unit: unit ?? -1 };
  });

  const { Rows, Readout, Legend } = createPainted(context, {
    painting,
    selected,
    pinned,
    choose(row) {
      const layer = itemAt(answer.value?.layers ?? [], row);
      state.set({ layer, head: head.value, token: 0, quantity: "weights" });
      announce(`All views now show layer ${layer}.`);
    },
    /** Pin the token of a word to which the row gives most. */
    pick(row, unit) {
      if (answer.value === null) return;
      const { layers, weights } = answer.value;
      const layer = itemAt(layers, row);
      const pieces = weights.subarray(row * n + unit.token, row * n + unit.end);
      const token = unit.token + itemAt(largest(pieces, 1), 0);
      state.set({ layer, head: head.value, token: 0, pair: [0, token], quantity: "weights" });
      announce(`Pinned ${first} to ${unitLabel(unit, scheme)} in layer ${layer}.`);
    },
    idle() {
      const why = failure.value;
      if (painting.value === null) return why === null ? "" : messageOf(why);
      return painting.value.units.length === 0 ? "" : HINT;
    },
    number({ key }, { token, end }, value) {
      const pieces = end - token;
      return {
        name: <strong>{headName(key, answer.value?.head ?? "mean")}</strong>,
        error: errorOf(value, pieces),
        rest: pieces > 1 ? `  the sum of its ${pieces} tokens` : "",
      };
    },
  });

  showSettings(context, {
    View() {
      const unknown = answer.value?.words === null;
      const reason = { disabled: true, title: "The words of this text are not known." };
      return (
        <div class="aw-display-row aw-cluster">
          {`what ${first} looks at`}
          <Segmented
            label="Words or tokens"
            part="first-unit"
            name="first-unit"
            options={[
              ["words", "Words", unknown ? reason : {}],
              ["tokens", "Tokens"],
            ]}
            value={merged.value ? "words" : "tokens"}
            choose={(to) => {
              byWords.value = to === "words";
            }}
          />
        </div>
      );
    },
    changed: () => (byWords.value ? [] : ["words or tokens"]),
  });

  return memo(function FirstToken() {
    return (
      <PaintedSection
        label="Attention of the first token"
        part="first"
        busy={busy.value}
        head={
          <>
            <h3 class="aw-title">
              <bdi dir="ltr">{first}</bdi> looks at
            </h3>
            <span class="aw-muted">
              {`${head.value === "mean" ? "mean of heads" : `H${head.value}`}, over ${merged.value ? "words" : "tokens"}`}
            </span>
            <Legend />
          </>
        }
        rows={
          painting.value?.units.length === 0 ? (
            <p class="aw-hint">The text has only special tokens, which are hidden.</p>
          ) : (
            <Rows />
          )
        }
        readout={<Readout />}
      />
    );
  });
}
