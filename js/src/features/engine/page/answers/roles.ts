/** Heads clustered by where they look: attn_widget/figures/roles.py. */

import { SliceFailure } from "../../../../protocol/failure";
import { itemAt } from "../../../../protocol/required";
import { largestFirst } from "../../../../protocol/ties";
import type { Slice } from "../../../../protocol/types";

const MAX_ROLES = 8;
const STANDS_OUT = 0.3;
const RESTARTS = 40;
const STEPS = 300;

type Point = readonly number[];

const apart = (a: Point, b: Point): number =>
  a.reduce((sum, value, d) => sum + (value - itemAt(b, d)) ** 2, 0);

/** Numbers in [0, 1) that a seed gives (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Fit {
  readonly labels: number[];
  readonly centers: Point[];
  readonly inertia: number;
}

/** Centers far from each other (Arthur & Vassilvitskii 2007). */
function seeded(points: readonly Point[], k: number, random: () => number): Point[] {
  const centers = [itemAt(points, Math.floor(random() * points.length))];
  while (centers.length < k) {
    const near = points.map((point) => Math.min(...centers.map((center) => apart(point, center))));
    let left = random() * near.reduce((sum, distance) => sum + distance, 0);
    let chosen = near.lastIndexOf(Math.max(...near));
    for (const [i, distance] of near.entries()) {
      left -= distance;
      if (left < 0) {
        chosen = i;
        break;
      }
    }
    centers.push(itemAt(points, chosen));
  }
  return centers;
}

/** Lloyd's iterations from one beginning. */
function lloyd(points: readonly Point[], first: Point[]): Fit {
  let centers = first;
  let labels: number[] = [];
  for (let step = 0; step < STEPS; step++) {
    const next = points.map((point) => {
      const far = centers.map((center) => apart(point, center));
      return far.indexOf(Math.min(...far));
    });
    const same = next.every((label, i) => label === labels[i]);
    labels = next;
    if (same) break;
    centers = centers.map((center, label) => {
      const own = points.filter((_, i) => labels[i] === label);
      return own.length === 0
        ? center
        : center.map((_, d) => own.reduce((sum, point) => sum + itemAt(point, d), 0) / own.length);
    });
  }
  const inertia = points.reduce((sum, point, i) => {
    return sum + apart(point, itemAt(centers, itemAt(labels, i)));
  }, 0);
  return { labels, centers, inertia };
}

function kMeans(points: readonly Point[], k: number, seed: number): Fit {
  const random = randomOf(seed);
  const fits = Array.from({ length: RESTARTS }, () => lloyd(points, seeded(points, k, random)));
  return fits.reduce((best, fit) => (fit.inertia < best.inertia ? fit : best));
}

/** Mean silhouette (Rousseeuw 1987); 0 for a point that is alone. */
function silhouette(points: readonly Point[], labels: readonly number[], k: number): number {
  const sizes = Array.from(
    { length: k },
    (_, label) => labels.filter((other) => other === label).length,
  );
  const each = points.map((point, i) => {
    const sums = new Array<number>(k).fill(0);
    points.forEach((other, j) => {
      const label = itemAt(labels, j);
      sums[label] = itemAt(sums, label) + Math.sqrt(apart(point, other));
    });
    const own = itemAt(labels, i);
    if (itemAt(sizes, own) < 2) return 0;
    const inside = itemAt(sums, own) / (itemAt(sizes, own) - 1);
    const others = sums.flatMap((sum, label) =>
      label === own || sizes[label] === 0 ? [] : [sum / itemAt(sizes, label)],
    );
    const outside = Math.min(...others);
    return Math.max(inside, outside) === 0 ? 0 : (outside - inside) / Math.max(inside, outside);
  });
  return each.reduce((sum, value) => sum + value, 0) / each.length;
}

/** Eigenvectors of a symmetric matrix by Jacobi's rotations, largest eigenvalue first. */
function eigen(matrix: readonly Point[]): { value: number; vector: number[] }[] {
  const size = matrix.length;
  const a = matrix.map((row) => [...row]);
  const v = a.map((_, i) => a.map((_row, j) => (i === j ? 1 : 0)));
  const get = (m: number[][], i: number, j: number): number => itemAt(itemAt(m, i), j);
  const put = (m: number[][], i: number, j: number, value: number): void => {
    itemAt(m, i)[j] = value;
  };
  for (let sweep = 0; sweep < 60; sweep++) {
    for (let p = 0; p < size; p++) {
      for (let q = p + 1; q < size; q++) {
        if (Math.abs(get(a, p, q)) < 1e-300) continue;
        const theta = (get(a, q, q) - get(a, p, p)) / (2 * get(a, p, q));
        const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1));
        const c = 1 / Math.hypot(t, 1);
        const s = t * c;
        for (const m of [a, v])
          for (let i = 0; i < size; i++) {
            const [x, y] = [get(m, i, p), get(m, i, q)];
            put(m, i, p, c * x - s * y);
            put(m, i, q, s * x + c * y);
          }
        for (let i = 0; i < size; i++) {
          const [x, y] = [get(a, p, i), get(a, q, i)];
          put(a, p, i, c * x - s * y);
          put(a, q, i, s * x + c * y);
        }
      }
    }
  }
  const pairs = a.map((_, j) => ({ value: get(a, j, j), vector: v.map((row) => itemAt(row, j)) }));
  return pairs.sort((pair, other) => other.value - pair.value);
}

/** The first two principal components, the largest loading (or the first of equal ones) of each pointing up. */
function plane(points: readonly Point[]): { layout: Float32Array; explained: number } {
  const size = itemAt(points, 0).length;
  const means = Array.from({ length: size }, (_, d) => {
    return points.reduce((sum, point) => sum + itemAt(point, d), 0) / points.length;
  });
  const centered = points.map((point) => point.map((value, d) => value - itemAt(means, d)));
  const scatter = means.map((_, a) =>
    means.map((_mean, b) =>
      centered.reduce((sum, point) => sum + itemAt(point, a) * itemAt(point, b), 0),
    ),
  );
  const pairs = eigen(scatter);
  const layout = new Float32Array(2 * points.length);
  pairs.slice(0, 2).forEach(({ vector }, axis) => {
    const sizes = vector.map((value) => Math.round(Math.abs(value) * 1e3));
    const sign = Math.sign(itemAt(vector, sizes.indexOf(Math.max(...sizes))));
    centered.forEach((point, i) => {
      layout[2 * i + axis] =
        sign * point.reduce((sum, value, d) => sum + value * itemAt(vector, d), 0);
    });
  });
  const all = pairs.reduce((sum, { value }) => sum + value, 0);
  const shown = pairs.slice(0, 2).reduce((sum, { value }) => sum + value, 0);
  return { layout, explained: shown / all };
}

/** Up to two axes that stand out, strongest first; names that two roles share are numbered. */
function roleNames(centers: readonly Point[], axes: readonly string[]): string[] {
  const names = centers.map((center) => {
    const leading = largestFirst(center)
      .slice(0, 2)
      .filter((axis) => itemAt(center, axis) > STANDS_OUT);
    return leading.map((axis) => axes[axis]).join(" + ") || "diffuse";
  });
  return names.map((name, i) => {
    if (names.filter((other) => other === name).length === 1) return name;
    return `${name} ${names.slice(0, i + 1).filter((other) => other === name).length}`;
  });
}

/** Clusters of the heads; `scores` are standard scores by axis, `[L, H]` flat. */
export function rolesOf(
  scores: ReadonlyMap<string, Float32Array>,
  shape: readonly [number, number],
  seed: number,
): Slice {
  const axes = [...scores.keys()];
  if (axes.length === 0) {
    throw new SliceFailure(
      "Heads have no roles here: every specialization metric is N/A or the same for all heads.",
      "A longer text tells more.",
    );
  }
  const heads = shape[0] * shape[1];
  const points: Point[] = Array.from({ length: heads }, (_, head) =>
    axes.map((axis) => (scores.get(axis) as Float32Array)[head] as number),
  );
  const distinct = new Set(points.map((point) => point.map((value) => value.toFixed(4)).join()))
    .size;
  if (distinct < 2 || heads < 3) {
    throw new SliceFailure(
      `${heads} heads with ${distinct} different profiles cannot be clustered.`,
    );
  }
  const silhouettes: Record<string, number> = {};
  let best: { fit: Fit; k: number } | null = null;
  for (let k = 2; k <= Math.min(MAX_ROLES, distinct, heads - 1); k++) {
    const fit = kMeans(points, k, seed);
    const own = silhouette(points, fit.labels, k);
    silhouettes[k] = own;
    if (best === null || own > (silhouettes[best.k] as number)) best = { fit, k };
  }
  const { labels, centers } = (best as { fit: Fit }).fit;
  // Numbered by the first head that is in them.
  const order = [...new Set(labels)];
  const numbered = Int32Array.from(labels, (label) => order.indexOf(label));
  const ordered = order.map((label) => itemAt(centers, label));
  const { layout, explained } = plane(points);
  const data = { names: roleNames(ordered, axes), axes, explained, silhouettes, seed };
  return {
    data,
    arrays: new Map([
      ["labels", { data: numbered, shape }],
      ["layout", { data: layout, shape: [...shape, 2] }],
      [
        "centroids",
        { data: Float32Array.from(ordered.flat()), shape: [ordered.length, axes.length] },
      ],
    ]),
  };
}
