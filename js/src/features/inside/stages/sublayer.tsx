/** A half of a layer: what enters, what it adds, their sum and the norm; the lengths of all; the units of the FFN. */

import { formatCount } from "../../../figures/format";
import { itemAt } from "../../../protocol/required";
import { Button } from "../../../ui/controls";
import { Figure } from "../../../ui/figure";
import { Num } from "../../../ui/number";
import { Bar, Name } from "../bars";
import {
  at,
  type Content,
  ofDimensions,
  type Sized,
  type StageContext,
  type Strip,
  strip,
  type Term,
} from "../content";
import { firstWindow } from "../data";
import { countActive, length, topOf } from "../dimensions";

/** Float32 sums of two numbers agree to this share of the larger one. */
const CLOSES = 1e-4;
const TOP_UNITS = 8;

type Half = "attention" | "ffn";

/** True if `given + output = sum` in all numbers at hand. */
function closes(given: Sized, output: Sized, sum: Sized): boolean {
  const [a, b, c] = [given.values, output.values, sum.values];
  if (a === null || b === null || c === null) return true;
  if (given.size !== output.size) return false;
  return a.every(
    (value, i) =>
      Math.abs(value + itemAt(b, i) - itemAt(c, i)) <= CLOSES * Math.max(1, Math.abs(itemAt(c, i))),
  );
}

const beforeAdding = (name: Half, output: Sized, sum: Sized): Sized => ({
  ...output,
  tensor: `${name}_residual`,
  label: "sum − output",
  values: sum.values?.map((value, i) => value - (output.values?.[i] ?? 0)) ?? null,
});

/** Input of a sublayer, its output, their sum and the norm, in the order of computation. */
async function half(
  stage: StageContext,
  name: Half,
): Promise<{ strips: Sized[]; terms: Content["terms"] }> {
  const { arch, layer } = stage;
  const ask = (tensor: string, label: string, group: string): Promise<Sized> =>
    strip(stage, tensor, label, group, { layer });
  const before =
    name === "attention" ? "layer_input" : arch.preNorm ? "attention_sum" : "attention_norm";
  const sums = "in, output, sum";
  const [given, output, sum, norm] = await Promise.all([
    ask(before, "in", sums),
    ask(`${name}_output`, "output", sums),
    ask(`${name}_sum`, "sum", sums),
    ask(`${name}_norm`, arch.norm, arch.norm),
  ]);
  // In a bottleneck the residual starts from another place: it is what the output was added to.
  const entered = closes(given, output, sum) ? given : beforeAdding(name, output, sum);
  const terms = (i: number): Term[] => [
    { sign: "", label: entered.label, value: at(entered, i) },
    { sign: "+", label: "output", value: at(output, i) },
    { sign: "=", label: "sum", value: at(sum, i) },
    arch.preNorm
      ? { sign: "", label: `${arch.norm} of in`, value: at(norm, i) }
      : { sign: "→", label: arch.norm, value: at(norm, i) },
  ];
  return {
    strips: arch.preNorm ? [entered, norm, output, sum] : [entered, output, sum, norm],
    terms,
  };
}

/** Lengths in and out, and the residual bar. */
async function lengths(stage: StageContext, name: Half, strips: readonly Strip[]) {
  const { arch, view, layer, token, changes } = stage;
  const n = view.source.meta.tokens.text.length;
  const size = (found: Strip | undefined): number | null =>
    found?.values == null || !found.whole ? null : length(found.values);
  const by = (tensor: string): Strip | undefined => strips.find((strip) => strip.tensor === tensor);
  const all = await changes();
  const ratio = itemAt(all[name], layer * n + token);
  const most = Math.max(
    ...[all.attention, all.ffn].flatMap((values) =>
      Array.from({ length: values.length / n }, (_, l) => itemAt(values, l * n + token)),
    ),
  );
  const figures = [
    ["‖in‖", size(strips[0])],
    ["‖output‖", size(by(`${name}_output`))],
    ["‖out‖", size(by(arch.preNorm ? `${name}_sum` : `${name}_norm`))],
    ["change ‖out − in‖ / ‖in‖", ratio],
  ] as const;
  return (
    <div class="aw-inside-lengths aw-cluster">
      <dl class="aw-figures aw-chain" data-aw-part="residual">
        {figures.map(([label, value]) => (
          <Figure key={label} name={label} value={value} />
        ))}
      </dl>
      <div class="aw-stack aw-tiny">
        <span class="aw-inside-meter-track" aria-hidden="true">
          <span
            class={`aw-inside-bar aw-residual-${name}`}
            aria-hidden="true"
            style={{ inlineSize: `${(100 * ratio) / most}%` }}
          />
        </span>
        <span class="aw-muted">
          {"of its largest, "}
          <Num value={most} />
        </span>
      </div>
    </div>
  );
}

/** A half of a layer: `in + output = sum`, and its norm before or after. */
export const sublayer =
  (name: Half) =>
  async (stage: StageContext): Promise<Content> => {
    const { strips, terms } = await half(stage, name);
    const below = await lengths(stage, name, strips);
    return ofDimensions(strips, firstWindow("attention_sum"), terms, { below });
  };

/** The units of the FFN: how many are active, which are the largest, and what comes of it. */
export async function activation(stage: StageContext): Promise<Content> {
  const { layer, name, arch, goTo } = stage;
  const [units, halves] = await Promise.all([
    strip(stage, "ffn_activation", "activation", "activation", { layer }),
    half(stage, "ffn"),
  ]);
  const { values } = units;
  if (values === null) return ofDimensions([units], 1, () => [], { unit: "unit" });
  const top = topOf(values, TOP_UNITS);
  const most = Math.max(itemAt(values, itemAt(top, 0)), 0);
  const whole = units.size === values.length;
  const have = formatCount(values.length);
  const below = (
    <div class="aw-inside-columns">
      <section class="aw-inside-answer">
        <h4 class="aw-title">
          {"Effect of the FFN on "}
          <Name text={name} />
        </h4>
        <p class="aw-view-note">
          {`${formatCount(countActive(values))} of ${have} units are above zero` +
            (whole ? "" : ` (this page has the first ${have} of ${formatCount(units.size)})`) +
            `. ${arch.activation} comes before.`}
        </p>
        {await lengths(stage, "ffn", halves.strips)}
      </section>
      <section class="aw-inside-tops" data-aw-part="top-units">
        <h4 class="aw-title">Largest activations</h4>
        <ol class="aw-inside-bars aw-stack">
          {top.map((unit) => {
            const value = itemAt(values, unit);
            return (
              <li key={unit}>
                <Button
                  class="aw-item aw-small aw-inside-unit"
                  data-unit={unit}
                  onClick={() => goTo(unit)}
                >
                  <span class="aw-number">{formatCount(unit)}</span>
                  <Bar share={most > 0 ? Math.max(value, 0) / most : 0} />
                  <Num value={value} />
                </Button>
              </li>
            );
          })}
        </ol>
      </section>
    </div>
  );
  const terms = (i: number): Term[] => [{ sign: "", label: "activation", value: at(units, i) }];
  return ofDimensions([units], firstWindow("ffn_activation"), terms, { unit: "unit", below });
}
