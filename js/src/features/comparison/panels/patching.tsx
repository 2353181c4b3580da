/** Share of a target that each part of A recovers in B; a click on a cell patches that part into B. */

import { signal } from "@preact/signals-core";
import { formatNumber } from "../../../figures/format";
import { headName } from "../../../figures/names";
import type { Table } from "../../../figures/table";
import { type Described, nameOf } from "../../../figures/targets";
import { type Cells, createSaidCells } from "../../../marks/cells";
import { asking } from "../../../protocol/asking";
import { messageOf } from "../../../protocol/failure";
import { itemAt } from "../../../protocol/required";
import { largestAbsolute } from "../../../protocol/ties";
import type { Source } from "../../../protocol/types";
import { Answered } from "../../../ui/answered";
import { Button, Segmented, Select } from "../../../ui/controls";
import { modeSignal, mount } from "../../../ui/mount";
import { signed } from "../../../ui/signs";
import type { Recovery, RecoveryOf, Site } from "../data";
import { ChangeLegend } from "../figures";
import { finite, labelOf, type Panel, type PanelContext } from "./contract";

const SHAPE = { rowHeight: 28, cellMost: 44, heightMost: 560 } as const;
const PARTS: readonly (readonly [RecoveryOf, string, { readonly title: string }])[] = [
  ["heads", "Heads", { title: "a head's output, at every matched token" }],
  ["states", "States", { title: "the hidden state that enters a layer, at one token" }],
  ["attention", "Attention", { title: "what a layer's attention adds, at one token" }],
  ["mlp", "Feed-forward", { title: "what a layer's feed-forward network adds, at one token" }],
];
const KINDS: Readonly<Record<RecoveryOf, string>> = {
  heads: "head",
  states: "state",
  attention: "attention",
  mlp: "mlp",
};
const NEEDS_KERNEL =
  "Patching reruns the model, which needs a kernel; this page has only the grids that were recorded.";
const HOW =
  "Click a cell to put that part of A into B: all views of B then show the patched run. Click it again to undo this.";

/** A grid without the columns of tokens that have no partner. */
interface Grid {
  readonly found: Recovery;
  /** Heads, or positions of B. */
  readonly places: readonly number[];
  readonly names: readonly string[];
  readonly values: Float32Array;
}

export const patching: Panel = (element, context) => {
  const { compared, give, sources, signal: until, memory, patching: kernel } = context;
  const recorded = compared.recoveries ?? [];
  const targets =
    kernel === null ? unique(recorded.map(({ target }) => target)) : (compared.targets ?? []);
  if (targets.length === 0) {
    const why =
      compared.reasons.patching ??
      "This page holds no grid of recovery: call c.recovery(target) before c is saved.";
    mount(element, () => <p class="aw-muted">{why}</p>, until);
    give("nothing");
    return;
  }
  const sites = compared.patched?.sites ?? [];
  const chosen = signal({ target: Math.min(memory.target, targets.length - 1), of: memory.of });
  const passes = signal<readonly [done: number, all: number] | null>(null);
  const failure = signal("");
  const mode = modeSignal(element, until);
  const asked = asking<Grid>(until);
  let grid: Grid | null = null;
  const cells = createSaidCells(
    {
      shape: SHAPE,
      part: "patching-map",
      pick({ row, column }) {
        const { found, places, values } = grid as Grid;
        if (!Number.isNaN(itemAt(values, row * places.length + column)))
          toggle([KINDS[found.of], row, itemAt(places, column)]);
      },
    },
    (row, column, value) =>
      grid === null
        ? { text: "" }
        : { text: `layer ${row}, ${placeName(grid, column)}: recovery ${signed(value, 3)}`, value },
    until,
  );

  const busy = signal(false);
  function put(next: readonly Site[]): void {
    if (kernel === null) return;
    busy.value = true;
    kernel.put(next, itemAt(targets, chosen.peek().target).target).catch((error: unknown) => {
      busy.value = false;
      failure.value = messageOf(error);
    });
  }
  function toggle(site: Site): void {
    const same = (other: Site) => other.every((part, i) => part === site[i]);
    put(sites.some(same) ? sites.filter((other) => !same(other)) : [...sites, site]);
  }
  function choose(change: Partial<{ target: number; of: RecoveryOf }>): void {
    Object.assign(memory, change);
    chosen.value = { ...chosen.peek(), ...change };
    void load();
  }

  async function load(): Promise<void> {
    const { target, of } = chosen.peek();
    const wanted = itemAt(targets, target);
    grid = null;
    failure.value = "";
    passes.value = null;
    give("nothing"); // until this grid is here; that of another choice is gone
    await asked.ask(async (signal) => {
      const at = recorded.findIndex((other) => other.of === of && sameTarget(other.target, wanted));
      const values = compared.arrays.get(`recovery:${at}`);
      if (values !== undefined) return gridOf({ ...itemAt(recorded, at), values }, context);
      if (kernel === null) throw new Error("This grid was not recorded; it needs a kernel.");
      const progress = (done: number, all: number): void => {
        passes.value = [done, all || 1];
      };
      return gridOf(await kernel.recovery(wanted.target, of, { signal, progress }), context);
    });
    const answer = asked.answer.peek();
    if (answer === null || asked.failure.peek() !== null) return;
    if (answer.found.of !== of || !sameTarget(answer.found.target, wanted)) return;
    show(answer);
  }

  function show(answer: Grid): void {
    grid = answer;
    give(() => tableOf(answer));
    cells.show(cellsOf(answer));
    const last = sites.at(-1);
    if (last !== undefined && last[0] === KINDS[answer.found.of])
      cells.mark({ row: last[1], column: answer.places.indexOf(last[2]) });
  }

  mount(
    element,
    () => {
      const { target, of } = chosen.value;
      const answer = asked.failure.value === null ? asked.answer.value : null;
      const current =
        answer?.found.of === of && sameTarget(answer.found.target, itemAt(targets, target));
      return (
        <>
          <div class="aw-panel-head">
            <h3 class="aw-title">Parts of A put into B: how much of</h3>
            <Select
              label="Target"
              part="patching-target"
              options={targets.map((each, i) => [i, describe(each, sources.b)] as const)}
              value={target}
              choose={(next) => choose({ target: next })}
            />
            <span>comes back</span>
            <Segmented
              label="Parts"
              name="of"
              options={PARTS}
              value={of}
              choose={(next) => choose({ of: next })}
            />
          </div>
          <p class="aw-compare-reading aw-muted" role="status" data-aw-part="patched">
            {failure.value || (answer && current ? summary(answer, context) : "")}
            {current && kernel !== null && sites.length > 0 && (
              <>
                {" "}
                <Button class="aw-link" part="unpatch" onClick={() => put([])}>
                  Undo all
                </Button>
              </>
            )}
          </p>
          <div data-aw-part="patching-grid" aria-busy={busy.value || undefined}>
            <Answered
              asked={asked}
              class=""
              waiting="Running B with each part of A in turn …"
              again={load}
            >
              {answer && (
                <div hidden={!current}>
                  <div>
                    <ChangeLegend
                      top={largestAbsolute(answer.values)}
                      mode={mode.value}
                      less="away from A"
                      more="towards A (1: all the way)"
                    />
                  </div>
                  {cells.Reading({ part: "recovery" })}
                  {cells.Map()}
                </div>
              )}
            </Answered>
            {asked.busy.value && passes.value && (
              <progress
                aria-label="Passes of the model"
                value={passes.value[0]}
                max={passes.value[1]}
              />
            )}
          </div>
          <p class="aw-muted">{kernel === null ? NEEDS_KERNEL : HOW}</p>
        </>
      );
    },
    until,
  );
  void load();
};

const sameTarget = (a: Described, b: Described): boolean =>
  JSON.stringify(a.target) === JSON.stringify(b.target);

const unique = (all: readonly Described[]): Described[] =>
  all.filter((target, i) => all.findIndex((other) => sameTarget(target, other)) === i);

function gridOf(found: Recovery, { compared, sources }: PanelContext): Grid {
  const [rows = 0, all = 0] = found.values.shape;
  const ofHeads = found.of === "heads";
  const places = Array.from({ length: all }, (_, i) => i).filter(
    (i) => ofHeads || compared.tokens.some(([, b]) => b === i),
  );
  const columns = places.length;
  const values = Float32Array.from({ length: rows * columns }, (_, k) =>
    itemAt(found.values.data, Math.floor(k / columns) * all + itemAt(places, k % columns)),
  );
  const names = places.map((i) => (ofHeads ? String(i) : labelOf(sources.b, i)));
  return { found, places, names, values };
}

const placeName = ({ found, places, names }: Grid, column: number): string =>
  found.of === "heads" ? `head ${places[column]}` : `at ${names[column]}`;

function tableOf({ found, places, names, values }: Grid): Table {
  const columns = places.length;
  const ofHeads = found.of === "heads";
  return {
    columns: ["layer", ...(ofHeads ? ["head"] : ["position_b", "token"]), "recovery"],
    rows: Array.from(values, (value, k) => {
      const column = k % columns;
      const token = ofHeads ? [] : [names[column] ?? ""];
      return [Math.floor(k / columns), itemAt(places, column), ...token, finite(value)];
    }),
  };
}

const cellsOf = ({ found, names, values }: Grid): Cells => ({
  values,
  rowLabels: Array.from({ length: found.values.shape[0] ?? 0 }, (_, i) => `layer ${i}`),
  columnLabels: names,
  name: `Recovery of ${nameOf(found.target)}`,
  signed: true,
});

/** The target in both runs, and with the parts that B holds. */
function summary({ found }: Grid, { compared, sources }: PanelContext): string {
  const { source, value, error, target } = found;
  const { patched } = compared;
  const sites = patched?.sites ?? [];
  const number = (value: number): string => formatNumber({ value, error });
  const both = `${nameOf(target)}: ${number(source)} in A, ${number(value)} in B.`;
  if (!patched || sites.length === 0) return both;
  const names = sites.map((each) => nameOfSite(each, sources.b)).join(", ");
  const same = JSON.stringify(patched.target) === JSON.stringify(target.target);
  if (!same || patched.value === null) return `${both} B holds ${names} of A.`;
  const share = signed((patched.value - value) / (source - value));
  return `${both} B with ${names} of A: ${number(patched.value)}, recovered ${share}.`;
}

const nameOfSite = ([kind, layer, place]: Site, b: Source): string =>
  kind === "head" ? headName(layer, place) : `L${layer} · ${kind} at ${labelOf(b, place)}`;

const describe = (target: Described, b: Source): string => {
  const { position } = target.target;
  const name = nameOf(target);
  return position === undefined ? name : `${name} at ${labelOf(b, position)}`;
};
