/** Gradient of each compared class's logit by the first token's attention scores, in one layer. */

import { computed, type ReadonlySignal } from "@preact/signals-core";
import type { Classification } from "../../figures/classes";
import { sumsOf } from "../../figures/derive/units";
import { exact, formatSigned, visible } from "../../figures/format";
import { unitLabel } from "../../figures/names";
import { asking } from "../../protocol/asking";
import { isAbort, messageOf } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import { inOrder, largestAbsolute } from "../../protocol/ties";
import type { HeadIndex } from "../../protocol/types";
import { memo } from "../../ui/memo";
import { watch } from "../../ui/mount";
import { type TaskContext, type Words, wordUnits } from "./context";
import { createPainted, PaintedSection } from "./painted";
import type { Painting } from "./painted-row";

/** Classes with a row of their own; more would be a page of rows. */
const MAX_CLASSES = 12;

const request = (label: number, head: HeadIndex) =>
  ({ kind: "class_gradient", label, head }) as const;

interface Gradients {
  readonly head: HeadIndex;
  readonly layers: readonly number[];
  /** By class, where available: `[layers, n]`. */
  readonly byLabel: ReadonlyMap<number, Float32Array>;
  /** Why others are not. */
  readonly missing: string;
  readonly words: Words;
}

/** Null where the source cannot differentiate the model. */
export function createGradients(
  context: TaskContext,
  { labels, logits, activation }: Classification,
  compared: ReadonlySignal<readonly number[]>,
) {
  const { source, state, announce, selection, scheme, first, signal: until } = context;
  if (source.live && source.has?.(request(0, "mean")) === false) return null;
  const { tokens } = source.meta;
  const n = tokens.text.length;
  const { answer, busy, ask } = asking<Gradients>(until);

  /** By logit, largest first. */
  const classes = computed(() => inOrder(logits, compared.value));
  const head = computed(() => selection.value.head);
  /** The selected layer, or the last one. */
  const layer = computed(() => {
    const layers = answer.value?.layers ?? [];
    return layers.includes(selection.value.layer) ? selection.value.layer : layers.at(-1);
  });
  const shown = computed(() => classes.value.filter((label) => answer.value?.byLabel.has(label)));

  watch(() => {
    const [wanted, of] = [classes.value, head.value];
    void ask(async (signal) => {
      const words = await context.words();
      const byLabel = new Map<number, Float32Array>();
      let layers = answer.peek()?.layers ?? [];
      let missing = "";
      for (const label of wanted.slice(0, MAX_CLASSES)) {
        try {
          const { data, arrays } = await source.ask(request(label, of), { signal });
          layers = data.layers as readonly number[];
          byLabel.set(label, arrays.get("gradient")?.data as Float32Array);
        } catch (error) {
          if (isAbort(error)) throw error;
          missing = messageOf(error);
        }
      }
      return { head: of, layers, byLabel, missing, words };
    });
  }, until);

  const painting = computed((): Painting | null => {
    if (answer.value === null || layer.value === undefined || shown.value.length === 0) return null;
    const { layers, byLabel, words } = answer.value;
    const row = layers.indexOf(layer.value);
    const units = wordUnits(tokens, words);
    if (units.length === 0) return null;
    const rows = shown.value.map((label) => {
      const gradient = byLabel.get(label) ?? new Float32Array(0);
      const text = itemAt(labels, label);
      const values = sumsOf(gradient.subarray(row * n, (row + 1) * n), units);
      return { key: label, label: text, spoken: visible(text), values };
    });
    const [a, b] = rows;
    if (a !== undefined && b !== undefined && rows.length === 2 && activation === "softmax") {
      const label = `${a.label} − ${b.label}`;
      const values = a.values.map((value, i) => value - itemAt(b.values, i));
      rows.push({ key: -1, label, spoken: visible(label), values });
    }
    return {
      units,
      rows,
      error: 0,
      ends: false,
      top: rows.reduce((most, { values }) => Math.max(most, largestAbsolute(values)), 0),
      signed: true,
      label: `Classes by words in layer ${layer.value}: Enter on a word pins the pair`,
      part: "gradient-rows",
      keyName: "data-class",
      format: formatSigned,
      exact,
    };
  });

  const { Rows, Readout, Legend } = createPainted(context, {
    painting,
    pick(_, unit) {
      if (layer.value === undefined) return;
      const pair = [0, unit.token] as const;
      state.set({ layer: layer.value, token: 0, pair, quantity: "weights" });
      announce(`Pinned ${first} to ${unitLabel(unit, scheme)} in layer ${layer.value}.`);
    },
    idle() {
      if (painting.value === null) return "";
      const rest = classes.value.length - shown.value.length;
      const more = `${rest} more ${rest === 1 ? "class is" : "classes are"} selected.`;
      if (rest > 0) return `${more} ${answer.value?.missing}`.trim();
      const also = labels.length > 1 ? "; select classes above to change these." : ".";
      return `Click a layer above to change the layer${also}`;
    },
    number: ({ spoken }, _, value) => ({
      name: (
        <bdi>
          <strong>{spoken}</strong>
        </bdi>
      ),
      text: formatSigned(value),
      rest: " per unit of score",
    }),
  });

  return memo(function Gradients() {
    const found = answer.value;
    const heads = found?.head === "mean" ? "all heads at once" : `H${found?.head}`;
    const numbers = activation === "identity" ? "a value" : "the logit of a class";
    return (
      <PaintedSection
        label="Class gradients"
        part="gradient"
        busy={busy.value}
        head={
          <>
            <h3 class="aw-title">Gradient by attention score</h3>
            <span class="aw-muted" data-aw-part="gradient-where">
              {layer.value !== undefined && `L${layer.value} · ${heads}`}
            </span>
            <Legend />
          </>
        }
        note={
          <p class="aw-view-note">
            {labels.length > 1 && "Attention is the same for every class; its effect is not. "}
            {`∂z/∂S: how fast ${numbers} z changes with the score S of `}
            <bdi dir="ltr">{first}</bdi>
            {" → word. Above 0, more attention raises it."}
          </p>
        }
        rows={
          found !== null && shown.value.length === 0 ? (
            <p class="aw-hint">
              {classes.value.length === 0 ? "Select a class above." : found.missing}
            </p>
          ) : (
            <Rows />
          )
        }
        readout={<Readout />}
      />
    );
  });
}
