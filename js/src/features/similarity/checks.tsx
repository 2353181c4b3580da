/** Checks of the score by running the model again: words masked in its own order, and heads switched off. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { formatNumber } from "../../figures/format";
import { headName } from "../../figures/names";
import { createSaidCells } from "../../marks/cells";
import { messageOf } from "../../protocol/failure";
import { headsOff } from "../../protocol/meta";
import { arrayOf } from "../../protocol/required";
import { shareOf, Task, type TaskState } from "../../protocol/task";
import type { State } from "../../state/selection";
import { Button } from "../../ui/controls";
import { onChange } from "../../ui/mount";
import { signed } from "../../ui/signs";
import type { ViewContext } from "../../views/contract";
import { beatenOrders, type OrderTests, verdictOf } from "../why/order-test";
import { type Asked, SIDES, type SideName, testRequest } from "./data";

const ORDINAL: Readonly<Record<SideName, string>> = { a: "first", b: "second" };

/** The result of a test, in a sentence. */
export function verdict({ tests: [test], untestable, random }: OrderTests, side: SideName): string {
  if (untestable !== null) return `The ${ORDINAL[side]} text cannot be tested: ${untestable}.`;
  if (test === null || test === undefined)
    return `All words of the ${ORDINAL[side]} text add the same.`;
  const p = test.adjusted < 0.001 ? "p < 0.001" : `p = ${test.adjusted.toFixed(3)}`;
  return (
    `Masking the words of the ${ORDINAL[side]} text, those that add most first, lowers the score more than ` +
    `${beatenOrders(test, random, "its")}: ${verdictOf(test)} (${p}).`
  );
}

/** The masking tests of both texts; a saved page has their results. */
export function maskingTests({ source, signal: until }: ViewContext, asked: ReadonlySignal<Asked>) {
  const tasks = new Map<string, Task<OrderTests>>();
  const taskOf = (side: SideName): Task<OrderTests> => {
    const request = testRequest(side, asked.value);
    const key = JSON.stringify(request);
    let task = tasks.get(key);
    if (task === undefined) {
      task = new Task(async (step) => {
        const { data } = await source.ask(request, step);
        return data as unknown as OrderTests;
      }, until);
      tasks.set(key, task);
      if (!source.live) void task.start();
    }
    return task;
  };
  return function Masking({
    testable = SIDES,
  }: {
    readonly testable?: readonly SideName[] | undefined;
  }) {
    // A saved page has those that take seconds, and those that were asked for before.
    const there = testable.filter(
      (side) => source.live || source.has?.(testRequest(side, asked.value)),
    );
    if (there.length === 0) return null;
    const tasks = there.map((side) => [side, taskOf(side)] as const);
    return (
      <section data-aw-part="masking">
        <h3 class="aw-title">Masking test</h3>
        {tasks.map(([side, task]) => (
          <p key={side} class="aw-cluster" role="status" data-side={side}>
            {state(task.state.value, side, task)}
          </p>
        ))}
        <p class="aw-hint aw-small">
          The sum says how this score is composed. Whether the words matter is another question:
          mask them, and see whether the score falls sooner than in random orders.
        </p>
      </section>
    );
  };
  function state(now: TaskState<OrderTests>, side: SideName, task: Task<OrderTests>) {
    if (now.value !== null) return verdict(now.value, side);
    if (now.failure !== null) return messageOf(now.failure);
    if (now.status !== "running")
      return (
        <Button class="aw-plain-button" part={`mask-${side}`} onClick={() => void task.start()}>
          {`Mask the words of the ${ORDINAL[side]} text`}
        </Button>
      );
    const share = shareOf(now);
    return (
      <>
        {`Masking words …${share === null ? "" : ` ${Math.round(100 * share)}%`}`}
        <Button class="aw-link" onClick={() => task.stop()}>
          cancel
        </Button>
      </>
    );
  }
}

const GRID = { rowHeight: null, cellMost: 22, heightMost: 360 };
/** States of widgets whose heads the reader has opened: another run redraws the view. */
const opened = new WeakSet<State>();

/** Effects of all heads on the score; a click switches one off, or on again. Needs a kernel. */
export function headSwitches({ source, state, act, signal: until, report }: ViewContext) {
  const { n_layers, n_heads } = source.meta.model;
  const off = headsOff(source.meta.heads_off);
  const open = signal(opened.has(state));
  const effects = new Task<Float32Array>(async (step) => {
    const slice = await source.ask({ kind: "similar_effects" }, step);
    return arrayOf(slice, "effects").data as Float32Array;
  }, until);
  const isOff = (layer: number, head: number) => off.some(([l, h]) => l === layer && h === head);
  const toggle = (layer: number, head: number): void => {
    const heads = isOff(layer, head)
      ? off.filter(([l, h]) => l !== layer || h !== head)
      : [...off, [layer, head] as const];
    switchOff(heads);
  };
  function switchOff(heads: readonly (readonly [number, number])[]): void {
    act?.({ kind: "switch_off", heads }).catch(report);
  }
  const cells = createSaidCells(
    { shape: GRID, part: "similarity-heads", pick: ({ row, column }) => toggle(row, column) },
    (layer, head, value) => ({
      text: `${headName(layer, head)}: ${isOff(layer, head) ? "off" : `off, the score changes by ${signed(-value, 3)}`}`,
      value,
    }),
    until,
  );
  const show = (values: Float32Array) =>
    cells.show({
      values,
      rowLabels: Array.from({ length: n_layers }, (_, i) => `L${i}`),
      columnLabels: Array.from({ length: n_heads }, (_, i) => `H${i}`),
      name: "Effect of each head on the score",
      signed: true,
    });
  function start(): void {
    opened.add(state);
    open.value = true;
    void effects.start();
  }
  onChange(effects.state, ({ value }) => value !== null && show(value), until);
  if (open.peek()) void effects.start();
  return function Heads({
    score,
    pictures,
  }: {
    readonly score: number;
    readonly pictures: boolean;
  }) {
    const inputs = pictures ? "picture" : "text";
    const { intact, ranking } = source.meta.similarity ?? { intact: null, ranking: null };
    if (ranking !== null || (act === null && off.length === 0)) return null;
    const { value, status, failure } = effects.state.value;
    return (
      <section data-aw-part="switches">
        <h3 class="aw-title">Heads</h3>
        {off.length > 0 && (
          <p class="aw-cluster" data-aw-part="switched">
            {`Without ${off.map(([l, h]) => headName(l, h)).join(", ")}: ${formatNumber(score)}`}
            {intact !== null && `, with all heads ${formatNumber(intact)}.`}
            {act !== null && (
              <Button class="aw-plain-button" part="all-on" onClick={() => switchOff([])}>
                All on
              </Button>
            )}
          </p>
        )}
        {act !== null && !open.value && (
          <Button class="aw-plain-button" part="open-heads" onClick={start}>
            Switch heads off
          </Button>
        )}
        {open.value && status === "running" && <p class="aw-muted">Switching every head off …</p>}
        {failure !== null && <p class="aw-muted">{failure.message}</p>}
        {open.value && value !== null && (
          <>
            <cells.Map />
            <cells.Reading part="head-effect" />
            <p class="aw-hint aw-small">
              {`What each head adds to the score while the first ${inputs} is read. Click a head to switch it off in both ${inputs}s.`}
            </p>
          </>
        )}
      </section>
    );
  };
}
