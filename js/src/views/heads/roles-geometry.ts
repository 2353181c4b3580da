/** The plane of roles: where dots lie on it, and which one an arrow key leads to. */

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Coordinates `[heads, 2]` flat to px, both axes on one scale about their middle, `y` upwards. */
export function places(
  layout: ArrayLike<number>,
  width: number,
  height: number,
  margin: number,
): { readonly dots: readonly Point[]; readonly zero: Point } {
  const xs = Array.from({ length: layout.length / 2 }, (_, i) => layout[2 * i] as number);
  const ys = xs.map((_, i) => layout[2 * i + 1] as number);
  const [left, right] = [Math.min(...xs, 0), Math.max(...xs, 0)];
  const [low, high] = [Math.min(...ys, 0), Math.max(...ys, 0)];
  const room = (size: number, span: number): number =>
    span > 0 ? (size - 2 * margin) / span : Number.POSITIVE_INFINITY;
  const least = Math.min(room(width, right - left), room(height, high - low));
  const unit = Number.isFinite(least) ? least : 1;
  const place = (x: number, y: number): Point => ({
    x: width / 2 + unit * (x - (left + right) / 2),
    y: height / 2 - unit * (y - (low + high) / 2),
  });
  return { dots: xs.map((x, i) => place(x, ys[i] as number)), zero: place(0, 0) };
}

const DIRECTIONS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};
/** A sideways distance counts more than a forward one. */
const ASIDE = 2.5;

/** The nearest dot in the direction of an arrow key; null when there is none, or for another key. */
export function towards(dots: readonly Point[], from: number, key: string): number | null {
  const direction = DIRECTIONS[key];
  const here = dots[from];
  if (direction === undefined || here === undefined) return null;
  let best: number | null = null;
  let least = Number.POSITIVE_INFINITY;
  dots.forEach(({ x, y }, index) => {
    const [dx, dy] = [x - here.x, y - here.y];
    const ahead = dx * direction[0] + dy * direction[1];
    const offAxis = Math.abs(dx * direction[1]) + Math.abs(dy * direction[0]);
    if (index === from || ahead <= 0) return;
    const cost = ahead + ASIDE * offAxis;
    if (cost < least) {
      least = cost;
      best = index;
    }
  });
  return best;
}
