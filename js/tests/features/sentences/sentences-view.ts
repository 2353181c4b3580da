/** The view Sentences over made-up attention. */

import { afterEach, expect } from "vitest";
import { sentences } from "../../../src/features/sentences/view";
import { formatNumber } from "../../../src/figures/format";
import { SliceFailure } from "../../../src/protocol/failure";
import { itemAt } from "../../../src/protocol/required";
import type { NdArray, Slice, SliceRequest } from "../../../src/protocol/types";
import type { Selection, State } from "../../../src/state/selection";
import type { ViewHandle } from "../../../src/views/contract";
import { fakeRun, opened, settled } from "../../fake";
import { metaOf } from "../../runs";

// jsdom lays nothing out.
globalThis.ResizeObserver ??= class {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
};

const TOKENS = ["[CLS]", "the", "cat", ".", "it", "##s", "!", "yes", "[SEP]"];
export const GROUPS = [[1, 2, 3], [4, 5, 6], [7]];
export const TEXTS = ["the cat.", "<img src=x onerror=alert(1)>", "yes"];
export const [LAYERS, HEADS, N] = [2, 3, TOKENS.length];

/** Rows that sum to 1, different for every head. */
export function attention(layer: number, head: number): number[][] {
  return TOKENS.map((_, i) => {
    const raw = TOKENS.map((_, j) => 1 + ((i * 7 + j * (3 + head) + layer * 5) % 11));
    const total = raw.reduce((a, b) => a + b);
    return raw.map((value) => value / total);
  });
}
const ALL = Array.from({ length: LAYERS }, (_, l) =>
  Array.from({ length: HEADS }, (_, k) => attention(l, k)),
);

/** Lengths: rows of different sums. */
export const CARRIED = TOKENS.map((_, i) =>
  TOKENS.map((_, j) => (1 + ((i * 5 + j * 7) % 11)) * (i + 1)),
);

interface Of {
  layer?: number | null;
  head?: number | null;
}
export const chosen = ({ layer, head }: Of): { l: number; k: number; matrix: number[][] }[] =>
  ALL.flatMap((heads, l) =>
    heads.flatMap((matrix, k) =>
      (layer == null || layer === l) && (head == null || head === k) ? [{ l, k, matrix }] : [],
    ),
  );
export const mean = (of: Of, i: number, j: number): number => {
  const found = chosen(of);
  return found.reduce((sum, { matrix }) => sum + itemAt(itemAt(matrix, i), j), 0) / found.length;
};
const largest = (of: Of, i: number, j: number) =>
  chosen(of).reduce((best, one) =>
    itemAt(itemAt(one.matrix, i), j) > itemAt(itemAt(best.matrix, i), j) ? one : best,
  );
export const mass = (of: Of, a: number, b: number): number =>
  itemAt(GROUPS, a).reduce(
    (sum, i) => sum + itemAt(GROUPS, b).reduce((part, j) => part + mean(of, i, j), 0),
    0,
  ) / itemAt(GROUPS, a).length;

const array = (values: number[], ...shape: number[]): NdArray => ({
  data: Float32Array.from(values),
  shape,
});
const integers = (values: number[], ...shape: number[]): NdArray => ({
  data: Int32Array.from(values),
  shape,
});

function answer(request: SliceRequest, groups: number[][]): Slice {
  const of = request as unknown as Of & { aggregation: "mass" | "max"; a: number; b: number };
  const size = groups.length;
  if (request.kind === "drill") {
    const [queries, keys] = [itemAt(groups, of.a), itemAt(groups, of.b)];
    const weights = queries.flatMap((i) =>
      keys.map((j) =>
        of.aggregation === "mass" ? mean(of, i, j) : itemAt(itemAt(largest(of, i, j).matrix, i), j),
      ),
    );
    return {
      data: {},
      arrays: new Map([
        ["weights", array(weights, queries.length, keys.length)],
        ["queries", integers(queries, queries.length)],
        ["keys", integers(keys, keys.length)],
      ]),
    };
  }
  const pairs = groups.flatMap((_, a) => groups.map((_, b) => [a, b] as const));
  const note =
    size === 1 ? "The text is one sentence." : size === 0 ? "No sentence was found." : null;
  const data = { texts: TEXTS.slice(0, size), tokens: groups, note };
  if (of.aggregation === "mass") {
    const matrix = pairs.map(([a, b]) => mass(of, a, b));
    const elsewhere = groups.map(
      (queries) =>
        queries.reduce((sum, i) => sum + mean(of, i, 0) + mean(of, i, N - 1), 0) / queries.length,
    );
    return {
      data,
      arrays: new Map([
        ["matrix", array(matrix, size, size)],
        ["elsewhere", array(elsewhere, size)],
      ]),
    };
  }
  const best = pairs.map(([a, b]) => {
    let top = { value: -1, layer: 0, head: 0, query: 0, key: 0 };
    for (const query of itemAt(groups, a)) {
      for (const key of itemAt(groups, b)) {
        const { l, k, matrix } = largest(of, query, key);
        const value = itemAt(itemAt(matrix, query), key);
        if (value > top.value) top = { value, layer: l, head: k, query, key };
      }
    }
    return top;
  });
  return {
    data,
    arrays: new Map([
      [
        "matrix",
        array(
          best.map(({ value }) => value),
          size,
          size,
        ),
      ],
      ...(["layer", "head", "query", "key"] as const).map(
        (name) =>
          [
            `witness_${name}`,
            integers(
              best.map((one) => one[name]),
              size,
              size,
            ),
          ] as const,
      ),
    ]),
  };
}

export let drawn: ViewHandle | null = null;
export let element: HTMLElement;
export let state: State;
export let asked: SliceRequest[] = [];
export let reports: string[] = [];
/** Whether it fails, and the mask `[N, N]` of every layer, 0 = forbidden. */
export const kernel: { broken: boolean; mask: Uint8Array | null } = { broken: false, mask: null };

export async function draw(
  selection: Partial<Selection> = {},
  groups: number[][] = GROUPS.slice(),
  kept: State | null = null,
): Promise<void> {
  kernel.broken = false;
  const possible = integers(Array(LAYERS * N).fill(N - 1), LAYERS, N);
  const run = fakeRun(
    metaOf(TOKENS),
    (request) => {
      if (kernel.broken)
        throw new SliceFailure("The kernel cannot be reached.", "Run the cell again.");
      if (request.kind === "mixing" || request.kind === "rollout") {
        return { data: {}, arrays: new Map([["weights", array(CARRIED.flat(), N, N)]]) };
      }
      if (request.kind === "weights" && kernel.mask !== null) {
        return { data: {}, arrays: new Map([["allowed", { data: kernel.mask, shape: [N, N] }]]) };
      }
      return answer(request, groups);
    },
    {
      arrays: new Map(kernel.mask === null ? [] : [["possible", possible]]),
      selection,
      ...(kept === null ? {} : { state: kept }),
    },
  );
  ({ asked, reports, state } = run);
  element = document.createElement("div");
  document.body.append(element);
  drawn = opened(sentences, element, run, run.context);
  await settled();
}
afterEach(() => {
  kernel.mask = null;
  drawn?.dispose();
  element?.remove();
});

export const part = (name: string): HTMLElement =>
  element.querySelector(`[data-aw-part='${name}']`) as HTMLElement;
export const cell = (a: number, b: number): HTMLElement =>
  element.querySelector(`.aw-isa-cell[data-a='${a}'][data-b='${b}']`) as HTMLElement;
export const value = (a: number, b: number): number => Number(cell(a, b).dataset.awValue);
export const press = (target: Element, key: string): void => {
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
};
export async function choose(selector: string): Promise<void> {
  (element.querySelector(selector) as HTMLElement).click();
  await settled();
}

export async function chooseScope(scope: "all" | "layer" | "head"): Promise<void> {
  const select = part("scope") as HTMLSelectElement;
  select.value = scope;
  select.dispatchEvent(new Event("change"));
  await settled();
}

export function expectMass(of: Of): void {
  for (let a = 0; a < 3; a++) {
    for (let b = 0; b < 3; b++) {
      expect(value(a, b)).toBe(Math.fround(mass(of, a, b)));
      expect(cell(a, b).textContent).toBe(formatNumber(mass(of, a, b)));
    }
  }
}
