/** Do the methods agree, and are they right: rank correlations, and the deletion curve with its random band. */

import { inkOn, type Mode, ramp } from "../../draw/color/ramp";
import { signedIndex } from "../../draw/color/scale";
import { h } from "../../draw/dom";
import { svg } from "../../draw/strip";
import { ABSENT, exact, formatNumber } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import { bandOf, METHODS, type Method, type Trust } from "./data";

const methodOf = (key: string): Method | undefined => METHODS.find((method) => method.key === key);
const nameOf = (key: string): string => methodOf(key)?.name ?? key;
const shortOf = (key: string): string => methodOf(key)?.short ?? key;

/** Methods above the random band, and those inside or below it. */
export function verdict(trust: Trust): { readonly right: string[]; readonly idle: string[] } {
  const right: string[] = [];
  const idle: string[] = [];
  trust.methods.forEach((key, i) => {
    (itemAt(trust.comprehensiveness, i) > trust.random.high ? right : idle).push(key);
  });
  return { right, idle };
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
  if (mean >= AGREES.well) return ` and agree on these words (${rho})`;
  if (mean > AGREES.hardly) return ` and agree in part on these words (${rho})`;
  return ` but hardly agree on these words (${rho})`;
}

/** The sentence that says what to make of both tests. */
export function sentence(trust: Trust): string {
  const { right, idle } = verdict(trust);
  const all = trust.methods.length;
  if (right.length === 0) {
    return `No method finds the words that matter better than ${trust.random.orders} random orders do: trust none of them for this target, even where they agree.`;
  }
  const find = right.length === 1 ? "finds" : "find";
  const finding = `${find} words whose masking beats random orders${agreed(trust, right)}.`;
  if (idle.length === 0) return `All ${all} methods ${finding}`;
  const order = [...right].sort((a, b) => figureOf(trust, b) - figureOf(trust, a));
  return (
    `${right.length} of ${all} methods (${listed(order)}) ${finding} ` +
    `${capital(listed(idle))} ${idle.length === 1 ? "does" : "do"} not: for this target ` +
    `${idle.length === 1 ? "it tells" : "they tell"} nothing.`
  );
}

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
  const { mean, low, high } = bandOf(trust);
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

/** A dot for the area over the deletion curve, on the band of random orders. */
export function FallDot({ trust, method }: { readonly trust: Trust; readonly method: string }) {
  const value = figureOf(trust, method);
  if (Number.isNaN(value)) return null;
  const { low, high } = trust.random;
  const ends = [...trust.comprehensiveness, low, high, 0];
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  const at = (v: number): number => 4 + (72 * (v - least)) / (most - least || 1);
  return (
    <svg class="aw-why-dot" width={80} height={20} aria-hidden="true">
      <rect
        class="aw-why-random"
        x={at(low)}
        width={Math.max(1, at(high) - at(low))}
        y={4}
        height={12}
      />
      <circle class={value > high ? "is-right" : "is-idle"} cx={at(value)} cy={10} r={4} />
    </svg>
  );
}
