/** The test of the methods: its verdict in words, the deletion curve on its random band, and rank correlations. */

import { inkOn, type Mode, ramp } from "../../draw/color/ramp";
import { signedIndex } from "../../draw/color/scale";
import { ABSENT, capital, exact, formatCount, formatNumber } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import type { NdArray } from "../../protocol/types";
import { Disclosure } from "../../ui/disclosure";
import { memo } from "../../ui/memo";
import { Headings } from "../../ui/table";
import { methodOf, type Trust } from "./data";
import { beatenOrders, verdictOf } from "./order-test";

const nameOf = (key: string): string => methodOf(key).name;
const shortOf = (key: string): string => methodOf(key).short;

/** Methods whose order is better than random, those whose order is not, the undecided, and those without an order. */
export function verdict(trust: Trust) {
  const found = {
    better: [] as string[],
    others: [] as string[],
    undecided: [] as string[],
    untested: [] as string[],
  };
  trust.methods.forEach((key, i) => {
    const test = trust.tests[i] ?? null;
    const better = test === null ? "untested" : (test.better ?? "undecided");
    found[better === true ? "better" : better === false ? "others" : better].push(key);
  });
  return found;
}

const LISTED = 3;
function listed(keys: readonly string[]): string {
  const names = keys.slice(0, LISTED).map((key) => shortOf(key));
  const more = keys.length - names.length;
  if (more > 0) names.push(`${more} more`);
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** Rank correlations from here on, and up to here, are called agreement and none. */
const AGREES = { well: 0.7, hardly: 0.3 } as const;

/** Mean rank correlation of every two of these methods; null where none is defined. */
export function meanRho({ rho, methods }: Trust, keys: readonly string[]): number | null {
  if (rho === null) return null;
  const places = keys.map((key) => methods.indexOf(key));
  const defined = places
    .flatMap((i, k) => places.slice(k + 1).map((j) => itemAt(rho.data, i * methods.length + j)))
    .filter((value) => !Number.isNaN(value));
  return defined.length === 0
    ? null
    : defined.reduce((sum, value) => sum + value, 0) / defined.length;
}

/** Agreement of the methods that beat random orders, in a sentence. */
function agreed(trust: Trust, right: readonly string[]): string {
  const mean = meanRho(trust, right);
  if (mean === null) return "";
  const rho = `mean ρ ${hundredths(mean)}`;
  if (mean >= AGREES.well) return ` They agree on these words (${rho}).`;
  if (mean > AGREES.hardly) return ` They agree in part on these words (${rho}).`;
  return ` They hardly agree on these words (${rho}).`;
}

/** Result of the masking test of a method, for its dot. */
export function tested(trust: Trust, key: string): string | null {
  const i = trust.methods.indexOf(key);
  const [figure, test] = [trust.comprehensiveness[i], trust.tests[i]];
  if (figure === undefined || test === undefined) return null;
  const fall = `Mean fall of the probability: ${figure.toFixed(3)}; random orders: ${trust.random.mean.toFixed(3)}.`;
  if (test === null) {
    return `${fall} ${trust.untestable === null ? "It gives all words the same." : `Cannot be tested: ${trust.untestable}.`}`;
  }
  const verdict = capital(verdictOf(test));
  const corrected = `p = ${test.adjusted < 0.001 ? test.adjusted.toExponential(0) : test.adjusted.toFixed(3)}, corrected for ${trust.methods.length} methods`;
  return `${fall} Lower than ${beatenOrders(test, trust.random, "the")}. ${verdict} (${corrected}).`;
}

/** Words whose 720 orders are enough for a verdict on ten methods; five have 120. */
const ENOUGH_WORDS = 6;
const LONGER =
  "Try a longer sentence: six words are enough for ten methods, masked ones not counted.";

/** The sentence that says what to make of both tests. */
export function sentence(trust: Trust): string {
  const { better, others, undecided, untested } = verdict(trust);
  if (trust.untestable !== null) {
    const remedy = trust.random.words < ENOUGH_WORDS ? ` ${LONGER}` : "";
    return `The methods cannot be tested: ${trust.untestable}.${remedy}`;
  }
  const all = trust.methods.length;
  const open =
    undecided.length === 0
      ? ""
      : ` ${capital(listed(undecided))} ${undecided.length === 1 ? "is" : "are"} undecided after ${formatCount(trust.random.orders)} orders.`;
  const same =
    untested.length === 0
      ? open
      : `${open} ${capital(listed(untested))} ${untested.length === 1 ? "gives" : "give"} all words the same.`;
  const [first] = [...better, ...others].sort((a, b) => figureOf(trust, b) - figureOf(trust, a));
  const test = first === undefined ? null : trust.tests[trust.methods.indexOf(first)];
  if (first === undefined || test === null || test === undefined) return same.trim();
  const rank = `lowers the probability more than ${beatenOrders(test, trust.random, "the")}`;
  if (better.length === 0) {
    const corrected = all === 1 ? "" : `, which is not enough for the best of ${all} methods`;
    return (
      `The order of ${shortOf(first)} ${rank}${corrected}: ` +
      `${all === 1 ? "it is" : undecided.length === 0 ? "their order is" : `that of ${listed(others)} is`} no better than random here.${same}`
    );
  }
  const order = [...better].sort((a, b) => figureOf(trust, b) - figureOf(trust, a));
  const named =
    all === 1
      ? shortOf(first)
      : better.length === all
        ? `all ${all} methods`
        : `${better.length} of ${all} methods (${listed(order)})`;
  const head = `Masking the words that ${named} ${better.length === 1 ? "ranks" : "rank"} highest hurts more than masking at random`;
  const rest =
    others.length === 0
      ? ""
      : ` ${capital(listed(others))}: ${others.length === 1 ? "its" : "their"} order is no better than random here.`;
  return `${head}; the order of ${shortOf(first)} ${rank}.${agreed(trust, better)}${rest}${same}`;
}

const figureOf = (trust: Trust, key: string): number =>
  trust.comprehensiveness[trust.methods.indexOf(key)] ?? Number.NaN;

const WIDTH = 340;
const HEIGHT = 190;
const PAD = { left: 34, right: 8, top: 24, bottom: 34 } as const;

/** The probability as words are masked: the chosen method, the others thin, random orders as a band. */
function Curve({ trust, chosen }: { readonly trust: Trust; readonly chosen: string }) {
  const { shares, deleted, band, methods } = trust;
  const steps = shares.length;
  const x = (share: number): number => PAD.left + share * (WIDTH - PAD.left - PAD.right);
  const y = (p: number): number => HEIGHT - PAD.bottom - p * (HEIGHT - PAD.top - PAD.bottom);
  const row = ({ data }: NdArray, i: number): string[] =>
    Array.from(
      data.subarray(i * steps, (i + 1) * steps),
      (p, k) => `${x(itemAt(shares, k)).toFixed(1)},${y(p).toFixed(1)}`,
    );
  const line = (name: string, points: readonly string[], key = name) => (
    <polyline key={key} class={`aw-why-${name}`} points={points.join(" ")} />
  );
  const own = methods.indexOf(chosen);
  const below = HEIGHT - PAD.bottom + 14;
  return (
    <svg
      class="aw-why-curve"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={`Probability of the target as words are masked in the order of ${nameOf(chosen)}; a band for random orders`}
    >
      {[0, 0.5, 1].map((p) => [
        <line x1={x(0)} x2={x(1)} y1={y(p)} y2={y(p)} />,
        <text x={PAD.left - 6} y={y(p) + 4} text-anchor="end">
          {p}
        </text>,
      ])}
      <polygon
        class="aw-why-random"
        points={[...row(band, 2), ...row(band, 1).reverse()].join(" ")}
      />
      {line("mean", row(band, 0))}
      {methods.map((key, i) => i !== own && line("other", row(deleted, i), key))}
      {own >= 0 && line("own", row(deleted, own))}
      {/* Above the axis, clear of the lines. */}
      <text x={x(0)} y={PAD.top - 10}>
        probability
      </text>
      <text x={x(0)} y={below} text-anchor="middle">
        0
      </text>
      <text x={x(1)} y={below} text-anchor="end">
        all words masked
      </text>
      <text x={x(0.5)} y={HEIGHT - 4} text-anchor="middle">
        share of words masked, in the method's order
      </text>
    </svg>
  );
}

/** `.07`, `−.52`, `1.0`. */
const hundredths = (value: number): string =>
  Math.abs(value) > 0.995
    ? value.toFixed(1)
    : value
        .toFixed(2)
        .replace(/^(-?)0\./, "$1.")
        .replace("-", "−");

/** Spearman's rho of every two methods, as a table whose cells are shaded. */
export const Agreement = memo(function Agreement({
  trust: { rho, methods },
  mode,
}: {
  readonly trust: Trust;
  readonly mode: Mode;
}) {
  if (rho === null) return null;
  const { css, rgb } = ramp("signed", mode);
  const cell = (i: number, j: number) => {
    const value = itemAt(rho.data, i * methods.length + j);
    const absent = Number.isNaN(value);
    const index = signedIndex(value, 1);
    return (
      <td
        key={j}
        data-aw-value={exact(value)}
        title={`${nameOf(itemAt(methods, i))}, ${nameOf(itemAt(methods, j))}: ${absent ? "N/A" : formatNumber(value)}`}
        style={
          absent || i === j
            ? undefined
            : { background: itemAt(css, index), color: inkOn(itemAt(rgb, index)) }
        }
      >
        {i !== j && (absent ? ABSENT : hundredths(value))}
      </td>
    );
  };
  return (
    <Disclosure summary="Agreement of the methods" label="Agreement of the methods">
      {() => (
        <table class="aw-why-rho aw-number" data-aw-part="why-agreement">
          <caption>Rank correlation (Spearman's ρ) of every two methods over the words</caption>
          <Headings
            of={[null, ...methods.map((key, i) => [String(i + 1), nameOf(key)] as const)]}
          />
          <tbody>
            {methods.map((key, i) => (
              <tr key={key}>
                <th scope="row" title={nameOf(key)}>
                  {shortOf(key)}
                  <span class="aw-index">{` ${i + 1}`}</span>
                </th>
                {methods.map((_, j) => cell(i, j))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Disclosure>
  );
});

/** The masking test, with the curve of the chosen method in front. */
export const MaskingTest = memo(function MaskingTest({
  trust,
  method,
}: {
  readonly trust: Trust;
  readonly method: string;
}) {
  const legend = [
    ["is-own", nameOf(method)],
    ["is-other", "other methods"],
    ["is-random", "95% of random orders"],
    ["is-mean", "their mean: chance"],
  ];
  return (
    <div class="aw-why-panel">
      <h4>Masking test</h4>
      <figure data-aw-part="why-curve">
        <Curve trust={trust} chosen={method} />
        <p class="aw-hint aw-small aw-cluster aw-why-legend">
          {legend.map(([mark, words]) => (
            <span key={mark}>
              <i class={mark} aria-hidden="true" />
              {words}
            </span>
          ))}
        </p>
      </figure>
      <p class="aw-hint">
        The test masks words. Occlusion and integrated gradients also start from masked words, so it
        favors them.
      </p>
    </div>
  );
});

/** A dot for the area over the deletion curve, on the band of random orders and their mean; filled if better. */
export function FallDot({ trust, method }: { readonly trust: Trust; readonly method: string }) {
  const value = figureOf(trust, method);
  if (Number.isNaN(value)) return null;
  const { mean, low, high } = trust.random;
  const ends = [...trust.comprehensiveness, low, high, 0];
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  const at = (v: number): number => 4 + (72 * (v - least)) / (most - least || 1);
  const better = trust.tests[trust.methods.indexOf(method)]?.better === true;
  return (
    <svg class="aw-why-dot" viewBox="0 0 80 20" aria-hidden="true">
      <rect
        class="aw-why-random"
        x={at(low)}
        width={Math.max(1, at(high) - at(low))}
        y={4}
        height={12}
      />
      <line x1={at(mean)} x2={at(mean)} y1={2} y2={18} />
      <circle class={better ? "is-right" : "is-idle"} cx={at(value)} cy={10} r={4} />
    </svg>
  );
}
