/** Figures of a target: each method's contributions, their test, effects of heads, and panels that some models lack. */

import { batch, computed, type Signal, signal } from "@preact/signals-core";
import { askLens, type Described, type Lens } from "../../figures/targets";
import { Task } from "../../protocol/task";
import type { Source, Target } from "../../protocol/types";
import { signalOf } from "../../ui/mount";
import type { ViewContext } from "../../views/contract";
import {
  askComponents,
  askContributions,
  askEffects,
  askTrust,
  type Components,
  type Contributions,
  type Effects,
  methodsOf,
  type Titled,
  type Trust,
} from "./data";
import { askShares, type WrittenShares } from "./shares";

/** Up to this many tokens everything is computed without a click. */
const SHORT = 48;

/** `ofTwo`: two texts are explained; `begun` is called once a target is shown. */
export function createExplanation(context: ViewContext, ofTwo: boolean, begun: () => void) {
  const { source, state, signal: until } = context;
  const { tokens, model } = source.meta;
  const methods = methodsOf(source.meta);
  const short = tokens.text.length <= SHORT || !source.live;

  const method = signalOf(
    () => state.get().method,
    (changed) => state.on(["method"], changed, until),
  );
  const shown = signal<Described | null>(null);
  /** The target and its value, once the first method has answered. */
  const titled = signal<Titled | null>(null);
  /** The methods' contributions, in the order of `methods`. */
  const stages = signal<readonly Task<Contributions>[]>([]);
  /** The test of all methods that have answered, and the effects of heads; null before their turn. */
  const test = signal<Task<Trust> | null>(null);
  const heads = signal<Task<Effects> | null>(null);
  const trust = computed(() => test.value?.state.value.value ?? null);
  /** True while the test waits for the reader: its column gives its width to the strips. */
  const untested = computed(() => {
    const status = test.value?.state.value.status ?? "done";
    return status !== "done" && (!short || status !== "running");
  });
  const lens = signal<Lens | null>(null);
  const components = signal<Components | null>(null);
  /** Shares of every written token; null for a run of one text. */
  const shares = signal<WrittenShares | null>(null);
  const foundAt = (index: number): Contributions | null =>
    stages.value[index]?.state.value.value ?? null;
  const found = (key: string): Contributions | null =>
    foundAt(methods.findIndex((method) => method.key === key));
  /** The chosen method if it has answered, else the first one that has. */
  const current = computed((): Contributions | null => {
    const chosen = methods.some(({ key }) => key === method.value) ? method.value : "decomposition";
    return (
      found(chosen) ?? methods.map((_, i) => foundAt(i)).find((other) => other !== null) ?? null
    );
  });

  /** Tests the methods that have answered by then. */
  const testOf = (target: Target, signal: AbortSignal) =>
    new Task<Trust>((step) => {
      const answered = methods.filter((_, i) => foundAt(i) !== null).map(({ key }) => key);
      return askTrust(source, target, answered, step);
    }, signal);

  /** Fill a panel that some models lack: their heads cannot be applied to a layer's state, or norms follow the sums. */
  async function load<T>(
    panel: Signal<T | null>,
    ask: (from: Source, target: Target, signal: AbortSignal) => Promise<T>,
    { target }: Described,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const answer = await ask(source, target, signal);
      if (!signal.aborted) panel.value = answer;
    } catch {
      // The other panels stay as they are.
    }
  }

  /** Explain a target: the first method at once, the others one after the other. */
  async function explain(of: Described, untilNext: AbortSignal): Promise<void> {
    const { target } = of;
    const tasks = methods.map(
      ({ key }) =>
        new Task<Contributions>((step) => askContributions(source, target, key, step), untilNext),
    );
    batch(() => {
      shown.value = of;
      test.value = null;
      stages.value = tasks;
      heads.value = null;
      lens.value = null;
      components.value = null;
    });
    begun();
    await tasks[0]?.start();
    if (untilNext.aborted) return;
    const first = current.value;
    if (first !== null) titled.value = { of, value: first.value, error: first.error };
    if (of.of === "token") {
      void load(lens, askLens, of, untilNext);
      if (model.predicts === "next") void load(components, askComponents, of, untilNext);
    }
    for (const [i, { quick }] of methods.entries()) {
      if (i === 0 || (!short && !quick)) continue;
      await tasks[i]?.start();
      if (untilNext.aborted) return;
    }
    if (methods.some((_, i) => foundAt(i) !== null)) test.value = testOf(target, untilNext);
    if (short) await test.peek()?.start();
    if (untilNext.aborted) return;
    heads.value = new Task((step) => askEffects(context.shown ?? source, target, step), untilNext);
    if (short) void heads.peek()?.start();
    if (ofTwo && shares.peek() === null)
      void load(shares, (from, _, signal) => askShares(from, signal), of, until);
  }

  return {
    ...{ shown, titled, methods, stages, trust, test, untested, heads, lens, components, shares },
    ...{ current, found, explain },
  };
}
