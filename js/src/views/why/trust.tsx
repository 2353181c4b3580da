/** Do the methods agree, and are they right: rank correlations, and the deletion curve with its random band. */

import { inkOn, type Mode, ramp } from "../../draw/color/ramp";
import { signedIndex } from "../../draw/color/scale";
import { h } from "../../draw/dom";
import { svg } from "../../draw/strip";
import { ABSENT, exact, formatNumber } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import { METHODS, type Method, type OrderTest, type Trust } from "./data";

const methodOf = (key: string): Method | undefined => METHODS.find((method) => method.key === key);
const nameOf = (key: string): string => methodOf(key)?.name ?? key;
const shortOf = (key: string): string => methodOf(key)?.short ?? key;

/** Methods whose order is better than random, those whose order is not, and those without an order. */
export function verdict(trust: Trust): Record<"better" | "others" | "untested", string[]> {
  const found: Record<"better" | "others" | "untested", string[]> = {
    better: [],
    others: [],
    untested: [],
  };
  trust.methods.forEach((key, i) => {
    const test = trust.tests[i] ?? null;
    found[test === null ? "untested" : test.better ? "better" : "others"].push(key);
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

/** Mean rank correlation of every two of these methods; null where none is known. */
export function meanRho({ rho, methods }: Trust, keys: readonly string[]): number | null {
  if (rho === null) return null;
  const places = keys.map((key) => methods.indexOf(key));
  const known = places
    .flatMap((i, k) => places.slice(k + 1).map((j) => itemAt(rho.data, i * methods.length + j)))
    .filter((value) => !Number.isNaN(value));
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}

/** How far methods that beat random orders agree, as the end of a clause. */
function agreed(trust: Trust, right: readonly string[]): string {
  const mean = meanRho(trust, right);
  if (mean === null) return "";
  const rho = `mean ρ ${hundredths(mean)}`;
  if (mean >= AGREES.well) return ` They agree on these words (${rho}).`;
  if (mean > AGREES.hardly) return ` They agree in part on these words (${rho}).`;
  return ` They hardly agree on these words (${rho}).`;
}

/** `all 5,040 orders of the 7 words`, `400 random orders`. */
function compared({ orders, drawn, words }: Trust["random"]): string {
  const count = orders.toLocaleString("en-US");
  return drawn ? `${count} random orders` : `all ${count} orders of the ${words} words`;
}

/** `92%`; never 100% or 0% of what is not all or none. */
function percent(value: number): string {
  if (value > 99 && value < 100) return `${(Math.floor(value * 10) / 10).toFixed(1)}%`;
  if (value > 0 && value < 1) return `${(Math.ceil(value * 10) / 10).toFixed(1)}%`;
  return `${value.toFixed(0)}%`;
}

/** A method's percentile with its interval: `92% (88 to 95%)`. */
function ranked(test: OrderTest, random: Trust["random"]): string {
  const between = random.drawn ? ` (${percent(test.low)} to ${percent(test.high)})` : "";
  return `${percent(test.percentile)}${between}`;
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
  const verdict = test.better ? "Better than random" : "No better than random";
  const corrected = `p = ${test.adjusted < 0.001 ? test.adjusted.toExponential(0) : test.adjusted.toFixed(3)}, corrected for ${trust.methods.length} methods`;
  return `${fall} Lower than ${ranked(test, trust.random)} of ${compared(trust.random)}. ${verdict} (${corrected}).`;
}

/** The sentence that says what to make of both tests. */
export function sentence(trust: Trust): string {
  const { better, others, untested } = verdict(trust);
  if (trust.untestable !== null) return `The methods cannot be tested: ${trust.untestable}.`;
  const all = trust.methods.length;
  const orders = compared(trust.random);
  const same =
    untested.length === 0
      ? ""
      : ` ${capital(listed(untested))} ${untested.length === 1 ? "gives" : "give"} all words the same.`;
  const [first] = [...better, ...others].sort((a, b) => figureOf(trust, b) - figureOf(trust, a));
  const test = first === undefined ? null : trust.tests[trust.methods.indexOf(first)];
  if (first === undefined || test === null || test === undefined) return same.trim();
  const rank = `lowers the probability more than ${ranked(test, trust.random)} of ${orders}`;
  if (better.length === 0) {
    const corrected = all === 1 ? "" : `, which is not enough for the best of ${all} methods`;
    return (
      `The order of ${shortOf(first)} ${rank}${corrected}: ` +
      `${all === 1 ? "it is" : "their order is"} no better than random here.${same}`
    );
  }
  const order = [...better].sort((a, b) => figureOf(trust, b) - figureOf(trust, a));
  const named = better.length === all ? `all ${all} methods` : `${better.length} of ${all} methods`;
  const head =
    all === 1
      ? `The order of ${shortOf(first)} is better than random`
      : better.length === 1
        ? `The order of 1 of ${all} methods (${shortOf(first)}) is better than random`
        : `The orders of ${named}${better.length === all ? "" : ` (${listed(order)})`} are better than random`;
  const subject = better.length === 1 ? "it" : `that of ${shortOf(first)}`;
  const rest =
    others.length === 0
      ? ""
      : ` ${capital(listed(others))}: ${others.length === 1 ? "its" : "their"} order is no better than random here.`;
  return `${head}; ${subject} ${rank}.${agreed(trust, better)}${rest}${same}`;
}

/** Said below the test, because it favors two of the methods. */
export const CIRCULAR =
  "The test masks words. Occlusion and integrated gradients also start from masked words, so it favors them.";

const capital = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

const figureOf = (trust: Trust, key: string): number =>
  trust.comprehensiveness[trust.methods.indexOf(key)] ?? Number.NaN;

const WIDTH = 340;
const HEIGHT = 190;
const PAD = { left: 34, right: 8, top: 10, bottom: 34 } as const;

/** The probability as words are masked: the chosen method, the others thin, random orders as a band. */
export function curve(trust: Trust, chosen: string): SVGElement {
  const { shares, deleted } = trust;
  const steps = shares.length;
  const x = (share: number): number => PAD.left + share * (WIDTH - PAD.left - PAD.right);
  const y = (p: number): number => HEIGHT - PAD.bottom - p * (HEIGHT - PAD.top - PAD.bottom);
  const points = (values: ArrayLike<number>): string =>
    Array.from(values, (p, i) => `${x(itemAt(shares, i)).toFixed(1)},${y(p).toFixed(1)}`).join(" ");
  const made = svg("svg", {
    class: "aw-why-curve",
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    role: "img",
    "aria-label": `Probability of the target as words are masked in the order of ${nameOf(chosen)}; a band for random orders`,
  });
  const text = (words: string, at: Record<string, string | number>): void => {
    const node = svg("text", at);
    node.textContent = words;
    made.append(node);
  };
  for (const p of [0, 0.5, 1]) {
    made.append(svg("line", { class: "aw-why-grid", x1: x(0), x2: x(1), y1: y(p), y2: y(p) }));
    text(String(p), { x: PAD.left - 6, y: y(p) + 4, "text-anchor": "end" });
  }
  const [mean, low, high] = [0, 1, 2].map((row) =>
    (trust.band.data as Float32Array).subarray(row * steps, (row + 1) * steps),
  ) as [Float32Array, Float32Array, Float32Array];
  const back = Array.from({ length: steps }, (_, i) => steps - 1 - i)
    .map((i) => `${x(itemAt(shares, i)).toFixed(1)},${y(itemAt(low, i)).toFixed(1)}`)
    .join(" ");
  made.append(
    svg("polygon", { class: "aw-why-random", points: `${points(high)} ${back}` }),
    svg("polyline", { class: "aw-why-mean", points: points(mean) }),
  );
  const line = (i: number): Float32Array =>
    (deleted.data as Float32Array).subarray(i * steps, (i + 1) * steps);
  trust.methods.forEach((key, i) => {
    if (key !== chosen)
      made.append(svg("polyline", { class: "aw-why-other", points: points(line(i)) }));
  });
  const own = trust.methods.indexOf(chosen);
  if (own >= 0) made.append(svg("polyline", { class: "aw-why-own", points: points(line(own)) }));
  text("0", { x: x(0), y: HEIGHT - PAD.bottom + 14, "text-anchor": "middle" });
  text("all words masked", { x: x(1), y: HEIGHT - PAD.bottom + 14, "text-anchor": "end" });
  text("share of words masked, in the method's order", {
    x: x(0.5),
    y: HEIGHT - 4,
    "text-anchor": "middle",
  });
  return made;
}

export function curveLegend(chosen: string): HTMLElement {
  const entry = (mark: string, words: string): HTMLElement =>
    h("span", {}, h("i", { class: mark, "aria-hidden": "true" }), words);
  return h(
    "p",
    { class: "aw-hint aw-why-legend" },
    entry("is-own", nameOf(chosen)),
    entry("is-other", "other methods"),
    entry("is-random", "95% of random orders"),
    entry("is-mean", "their mean: chance"),
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
export function agreement(trust: Trust, mode: Mode): HTMLElement | null {
  const { rho, methods } = trust;
  if (rho === null) return null;
  const { css, rgb } = ramp("signed", mode);
  const size = methods.length;
  const rows = methods.map((key, i) => {
    const cells = methods.map((other, j) => {
      const value = itemAt(rho.data, i * size + j);
      const known = !Number.isNaN(value);
      const cell = h(
        "td",
        {
          "data-aw-value": exact(value),
          title: `${nameOf(key)}, ${nameOf(other)}: ${known ? formatNumber(value) : "N/A"}`,
        },
        i === j ? "" : known ? hundredths(value) : ABSENT,
      );
      if (known && i !== j) {
        const index = signedIndex(value, 1);
        cell.style.background = itemAt(css, index);
        cell.style.color = inkOn(itemAt(rgb, index));
      }
      return cell;
    });
    return h(
      "tr",
      {},
      h(
        "th",
        { scope: "row", title: nameOf(key) },
        shortOf(key),
        h("span", { class: "aw-index" }, ` ${i + 1}`),
      ),
      ...cells,
    );
  });
  const heads = methods.map((key, i) =>
    h("th", { scope: "col", title: nameOf(key) }, String(i + 1)),
  );
  return h(
    "table",
    { class: "aw-why-rho aw-number", "data-aw-part": "why-agreement" },
    h("caption", {}, "Rank correlation (Spearman's ρ) of every two methods over the words"),
    h("thead", {}, h("tr", {}, h("td", {}), ...heads)),
    h("tbody", {}, ...rows),
  );
}

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
    <svg class="aw-why-dot" width={80} height={20} aria-hidden="true">
      <rect
        class="aw-why-random"
        x={at(low)}
        width={Math.max(1, at(high) - at(low))}
        y={4}
        height={12}
      />
      <line class="aw-why-chance" x1={at(mean)} x2={at(mean)} y1={2} y2={18} />
      <circle class={better ? "is-right" : "is-idle"} cx={at(value)} cy={10} r={4} />
    </svg>
  );
}
