/** Content of the popover of a card or an axis: formula, reading, range or chance, source. */

import type { ComponentChildren } from "preact";
import { FIRST_TOKEN } from "../../figures/catalog/cards";
import {
  FIRST_TOKEN_TEXTS,
  METRIC_TEXTS,
  SPECIALIZATION_TEXTS,
} from "../../figures/catalog/explanations";
import type {
  Metric,
  MetricTexts,
  Reference,
  SpecializationMetric,
  SpecializationTexts,
  Tau,
} from "../../figures/catalog/types";
import { ABSENT, formatNumber } from "../../figures/format";
import { VASWANI } from "../../figures/formulas";
import {
  EFRON,
  SCALED,
  SCALED_SPOKEN,
  STANDARD,
  STANDARD_SPOKEN,
} from "../../figures/formulas-heads";
import { frac, type MathNode, mi, mn, mo, row, sub } from "../../figures/math";
import { Formula, References } from "../../ui/math";

/** Settings and scale that a metric is drawn with. */
interface MetricContext {
  readonly tau: Tau;
  /** Least, most, and uniform attention's figure; null for a profile, whose texts have many lengths. */
  readonly scale: readonly [number, number, number] | null;
  readonly queries: number;
  /** Keys of another text; null where they are the queries. */
  readonly keys: number | null;
  /** True if the model's mask leaves cells out. */
  readonly masked: boolean;
}

interface SpecializationContext extends Record<"scaled" | "profile" | "masked", boolean> {
  /** Figure of uniform attention on this text; NaN where there is none. */
  readonly chance: number;
}

type Item = readonly [term: string, content: ComponentChildren] | false;

const weightsOf = (size: string): Item => [
  "A",
  `weights of the head, softmax(QKᵀ / √d); rows i are queries, columns j keys, ${size}.`,
];
const WEIGHTS = weightsOf("n tokens");
const SHOWN: Item = ["Shown", "The head grid is shaded, and the table sorted, by this figure."];
const WITH_CHOICE = "Queries that may look at one key alone have no choice, and do not count.";
const OVER_TEXTS: Item = [
  "Over texts",
  "mean of the texts’ figures, equally weighted; interval: corrected bootstrap of that mean, 95%.",
];

const Explanation = ({
  of: { name },
  texts: { spoken, references },
  formula,
  warning = null,
  weights = WEIGHTS,
  items,
  profile,
}: {
  readonly of: Metric | SpecializationMetric;
  readonly texts: Pick<MetricTexts | SpecializationTexts, "spoken" | "references">;
  readonly formula: MathNode;
  readonly warning?: string | null;
  readonly weights?: Item;
  readonly items: readonly Item[];
  readonly profile: boolean;
}) => {
  const sources: Reference[] = [...references, VASWANI, ...(profile ? [EFRON] : [])];
  return (
    <>
      <h4>{name}</h4>
      <Formula node={formula} spoken={spoken} />
      {warning !== null && <p class="aw-card-warning">{warning}</p>}
      <dl>
        {[weights, ...items, SHOWN].map(
          (item) =>
            item && [<dt key={`${item[0]} name`}>{item[0]}</dt>, <dd key={item[0]}>{item[1]}</dd>],
        )}
      </dl>
      <References references={sources} />
    </>
  );
};

export function metricExplanation(
  metric: Metric,
  { tau, scale, queries, keys, masked }: MetricContext,
) {
  const texts = METRIC_TEXTS[metric.key];
  if (texts === undefined) return null;
  const unit = metric.unit === "" ? "" : ` ${metric.unit}`;
  const byRow = masked || keys !== null;
  const { formula: general, spoken } = (byRow && texts.by_row) || texts;
  const formula = withTau(general, tau, byRow);
  const symbols = (text: string): string => (byRow ? "" : ` (${text})`);
  const those = keys === null ? `${queries} tokens` : `${queries} queries and ${keys} keys`;
  const [least, most, uniform] = (scale ?? []).map((value) => formatNumber(value));
  const items: Item[] = [
    ["High", texts.high],
    ["Low", texts.low],
    scale === null
      ? ["Range", texts.range]
      : ["Range", `${least} to ${most}${unit} for these ${those}${symbols(texts.range)}`],
    scale === null
      ? OVER_TEXTS
      : ["Uniform attention", `${uniform}${unit}${symbols(texts.chance)}`],
    mentions(formula, "m") && [
      "mᵢ",
      `keys that query i may look at${masked || keys === null ? "" : `, here all ${keys}`}`,
    ],
    masked && ["Mask", `Cells that the model’s mask forbids are left out. ${WITH_CHOICE}`],
  ];
  return (
    <Explanation
      of={metric}
      texts={{ spoken, references: texts.references }}
      formula={formula}
      warning={metric.warning}
      weights={keys === null ? WEIGHTS : weightsOf("n queries and m keys of another text")}
      items={items}
      profile={scale === null}
    />
  );
}

const mentions = (node: MathNode, symbol: string): boolean =>
  "text" in node ? node.text === symbol : node.children.some((child) => mentions(child, symbol));

/** The formula, and the threshold in use where it has one. */
function withTau(formula: MathNode, tau: Tau, byRow: boolean): MathNode {
  if (!mentions(formula, "τ")) return formula;
  const keys = byRow ? sub(mi("m"), mi("i")) : mi("n");
  const value = tau === "uniform" ? frac(mn("1"), keys) : mn(String(tau));
  return row(formula, mo(","), mi("τ"), mo("="), value);
}

export function specializationExplanation(
  of: SpecializationMetric,
  { chance, scaled, profile, masked }: SpecializationContext,
) {
  const texts = of === FIRST_TOKEN ? FIRST_TOKEN_TEXTS : SPECIALIZATION_TEXTS[of.key];
  if (texts === undefined) return null;
  const here = Number.isNaN(chance) ? "" : formatNumber(chance);
  const level = masked
    ? `${here || ABSENT} here, the value of a head that attends equally to all keys that the mask allows.`
    : `${here && `${here} here: `}${texts.chance}, the value of a head that attends everywhere equally.`;
  const items: Item[] = [
    ["Keys", texts.symbols],
    ["High", texts.high],
    ["Chance", level],
    masked && ["Queries", WITH_CHOICE],
    scaled && ["Per layer", <Formula node={SCALED} spoken={SCALED_SPOKEN} display="inline" />],
    scaled && ["z-score", <Formula node={STANDARD} spoken={STANDARD_SPOKEN} display="inline" />],
    profile && OVER_TEXTS,
  ];
  return (
    <Explanation of={of} texts={texts} formula={texts.formula} items={items} profile={profile} />
  );
}
