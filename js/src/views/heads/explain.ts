/** Popover of a card or an axis: formula, reading, range or chance, source. */

import { h } from "../../draw/dom";
import { mathElement } from "../../draw/math";
import type { Aim, Metric, Reference, Tau } from "../../figures/catalog/types";
import { formatNumber } from "../../figures/format";
import { VASWANI } from "../../figures/formulas";
import {
  EFRON,
  SCALED,
  SCALED_SPOKEN,
  STANDARD,
  STANDARD_SPOKEN,
} from "../../figures/formulas-heads";
import { frac, type MathNode, mi, mn, mo, row } from "../../figures/math";

const WEIGHTS =
  "weights of the head, softmax(QKᵀ / √d); rows i are queries, columns j keys, n tokens.";
const SHOWN = "The head grid is shaded, and the table sorted, by this figure.";

type Item = readonly [term: string, content: string | Node];

function explanation(
  name: string,
  formula: Element,
  warning: string | null,
  items: readonly Item[],
  references: readonly Reference[],
): HTMLElement {
  return h(
    "div",
    { class: "aw-explanation" },
    h("h4", {}, name),
    formula,
    warning === null ? null : h("p", { class: "aw-card-warning" }, warning),
    h("dl", {}, ...items.flatMap(([term, content]) => [h("dt", {}, term), h("dd", {}, content)])),
    h("ul", { class: "aw-references" }, ...references.map(reference)),
  );
}

export interface MetricContext {
  readonly tau: Tau;
  /** Least, most, and uniform attention's figure; null for a profile, whose texts have many lengths. */
  readonly scale: readonly [number, number, number] | null;
  readonly n: number;
  /** Whether the model's mask leaves cells out. */
  readonly masked: boolean;
}

export function metricExplanation(
  metric: Metric,
  { tau, scale, n, masked }: MetricContext,
): HTMLElement {
  const unit = metric.unit === "" ? "" : ` ${metric.unit}`;
  const items: Item[] = [
    ["A", WEIGHTS],
    ["High", metric.high],
    ["Low", metric.low],
  ];
  if (scale === null) items.push(["Range", metric.range], OVER_TEXTS);
  else {
    const [least, most, uniform] = scale;
    const symbols = (text: string): string => (masked ? "" : ` (${text})`);
    items.push(
      [
        "Range",
        `${formatNumber(least)} to ${formatNumber(most)}${unit} for these ${n} tokens${symbols(metric.range)}`,
      ],
      ["Uniform attention", `${formatNumber(uniform)}${unit}${symbols(metric.chance)}`],
    );
  }
  if (masked) items.push(["Mask", "Cells that the model’s mask forbids are left out."]);
  items.push(["Shown", SHOWN]);
  const sources = [...metric.references, VASWANI, ...(scale === null ? [EFRON] : [])];
  const formula = mathElement(withTau(metric.formula, tau), metric.spoken);
  return explanation(metric.name, formula, metric.warning, items, sources);
}

const mentions = (node: MathNode, symbol: string): boolean =>
  "text" in node ? node.text === symbol : node.children.some((child) => mentions(child, symbol));

/** The formula, and the threshold in use where it has one. */
function withTau(formula: MathNode, tau: Tau): MathNode {
  if (!mentions(formula, "τ")) return formula;
  const value = tau === "uniform" ? frac(mn("1"), mi("n")) : mn(String(tau));
  return row(formula, mo(","), mi("τ"), mo("="), value);
}

const OVER_TEXTS: Item = [
  "Over texts",
  "mean of the texts’ figures, equally weighted; interval: percentile bootstrap of that mean, 95%.",
];

/** `chance`: what uniform attention has on this text; NaN where there is none. */
export function aimExplanation(
  aim: Aim,
  { chance, scaled, profile }: { chance: number; scaled: boolean; profile: boolean },
): HTMLElement {
  const items: Item[] = [
    ["A", WEIGHTS],
    ["Keys", aim.symbols],
    ["High", aim.high],
    [
      "Chance",
      `${Number.isNaN(chance) ? "" : `${formatNumber(chance)} here: `}${aim.chance}, the value of a head that attends everywhere equally.`,
    ],
  ];
  if (scaled) {
    items.push(
      ["Per layer", inline(SCALED, SCALED_SPOKEN)],
      ["z-score", inline(STANDARD, STANDARD_SPOKEN)],
    );
  }
  if (profile) items.push(OVER_TEXTS);
  items.push(["Shown", SHOWN]);
  const sources = [...aim.references, VASWANI, ...(profile ? [EFRON] : [])];
  return explanation(aim.name, mathElement(aim.formula, aim.spoken), null, items, sources);
}

const inline = (node: MathNode, spoken: string): Element => mathElement(node, spoken, "inline");

function reference({ text, doi }: Reference): HTMLElement {
  return h("li", {}, text, doi === null ? ". No verified DOI." : `. doi:${doi}`);
}
