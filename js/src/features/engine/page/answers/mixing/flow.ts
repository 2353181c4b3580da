/** Attention flow, the maximum flow through the layers: attn_widget/figures/flow.py. */

import { f32 } from "../../../../../protocol/arrays";
import { SliceFailure } from "../../../../../protocol/failure";
import { rolloutStep } from "../../../../../protocol/slices/rollout";
import type { Slice, SliceOptions, SliceRequest } from "../../../../../protocol/types";
import { type EngineRun, within } from "../../engine-run";
import type { Answers } from "../contract";

/** Capacities are multiples of its inverse, as in Python: sums of integers are exact, and so is the flow. */
const UNIT = 2 ** 30;
/** Above it a kernel refuses as well (MAX_FLOW_EDGES of attn_widget/protocol/slices/attention.py). */
const MAX_EDGES = 120_000;
/** Time between two rests, in which the page draws and listens, ms. */
const WORK_MS = 30;

/**
 * Maximum flows by Dinic's algorithm in a graph of layers.
 *
 * Node `k * n + i` is token i after k layers. `capacities[k][i * n + j]` leads from (k + 1, i) to (k, j).
 */
class LayeredFlow {
  readonly #capacities: readonly Float64Array[];
  readonly #n: number;
  readonly #left: Float64Array[];
  readonly #level: Int32Array;
  /** The next arc of each node to be tried: n down to the layer before, then n back up. */
  readonly #arc: Int32Array;
  readonly #queue: Int32Array;

  constructor(capacities: readonly Float64Array[], n: number) {
    this.#capacities = capacities;
    this.#n = n;
    this.#left = capacities.map((layer) => new Float64Array(layer.length));
    const nodes = (capacities.length + 1) * n;
    this.#level = new Int32Array(nodes);
    this.#arc = new Int32Array(nodes);
    this.#queue = new Int32Array(nodes);
  }

  /** The flow from a token after the last layer to one of the input. */
  most(token: number, sink: number): number {
    this.#left.forEach((layer, k) => {
      layer.set(this.#capacities[k] as Float64Array);
    });
    const source = this.#capacities.length * this.#n + token;
    let total = 0;
    while (this.#reach(source, sink)) {
      this.#arc.fill(0);
      for (;;) {
        const pushed = this.#push(source, sink, Number.POSITIVE_INFINITY);
        if (pushed === 0) break;
        total += pushed;
      }
    }
    return total;
  }

  /** Room that arc `a` of a node has left. */
  #room(node: number, a: number): number {
    const n = this.#n;
    const [k, i] = [(node / n) | 0, node % n];
    if (a < n) return k === 0 ? 0 : ((this.#left[k - 1] as Float64Array)[i * n + a] as number);
    const above = this.#left[k];
    if (above === undefined) return 0;
    const at = (a - n) * n + i;
    return ((this.#capacities[k] as Float64Array)[at] as number) - (above[at] as number);
  }

  #target(node: number, a: number): number {
    const n = this.#n;
    return (((node / n) | 0) + (a < n ? -1 : 1)) * n + (a < n ? a : a - n);
  }

  /** Distances from the source; false where the sink is out of reach. */
  #reach(source: number, sink: number): boolean {
    const level = this.#level.fill(-1);
    const queue = this.#queue;
    level[source] = 0;
    queue[0] = source;
    for (let first = 0, end = 1; first < end; first++) {
      const node = queue[first] as number;
      for (let a = 0; a < 2 * this.#n; a++) {
        if (this.#room(node, a) === 0) continue;
        const to = this.#target(node, a);
        if (level[to] !== -1) continue;
        level[to] = (level[node] as number) + 1;
        if (to === sink) return true;
        queue[end++] = to;
      }
    }
    return false;
  }

  #push(node: number, sink: number, most: number): number {
    if (node === sink) return most;
    const [n, arc, level] = [this.#n, this.#arc, this.#level];
    for (; (arc[node] as number) < 2 * n; arc[node] = (arc[node] as number) + 1) {
      const a = arc[node] as number;
      const room = this.#room(node, a);
      if (room === 0) continue;
      const to = this.#target(node, a);
      if (level[to] !== (level[node] as number) + 1) continue;
      const pushed = this.#push(to, sink, Math.min(most, room));
      if (pushed === 0) continue;
      const [k, i] = [(node / n) | 0, node % n];
      const down = a < n;
      const layer = this.#left[down ? k - 1 : k] as Float64Array;
      const at = down ? i * n + a : (a - n) * n + i;
      layer[at] = (layer[at] as number) + (down ? -pushed : pushed);
      return pushed;
    }
    return 0;
  }
}

/** Capacities of each layer's edges, residual included, in units; of the last layer those of `token` alone. */
function capacitiesOf(means: readonly Float32Array[], token: number, n: number) {
  return means.map((mean, layer) => {
    const step = rolloutStep(mean, null, n).map((value) => Math.round(value * UNIT));
    const last = layer === means.length - 1;
    return last ? step.map((value, at) => (Math.floor(at / n) === token ? value : 0)) : step;
  });
}

async function flow(
  run: EngineRun,
  { token }: SliceRequest<"flow">,
  { signal, progress }: SliceOptions,
): Promise<Slice> {
  const { n } = run;
  const [layers] = run.shape;
  within("token", token, n);
  if (layers * n * n > MAX_EDGES)
    throw new SliceFailure(
      `Attention flow through ${layers} layers of ${n} tokens would take this page from many seconds to minutes.`,
      "Rollout answers the same question at once.",
    );
  const means = Array.from({ length: layers }, (_, layer) => run.weights(layer, "mean"));
  const graph = new LayeredFlow(capacitiesOf(means, token, n), n);
  const flows = new Float32Array(n);
  let rested = performance.now();
  for (let sink = 0; sink < n; sink++) {
    flows[sink] = Math.min(graph.most(token, sink) / UNIT, 1);
    if (performance.now() - rested < WORK_MS) continue;
    progress?.(sink + 1, n);
    await new Promise((resolve) => setTimeout(resolve));
    rested = performance.now();
    signal?.throwIfAborted();
  }
  return { data: {}, arrays: new Map([["flow", f32(flows, n)]]) };
}

export const FLOW: Answers = { flow };
