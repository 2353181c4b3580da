// @vitest-environment jsdom
import { afterEach, describe, expect, it } from "vitest";
import type { Table } from "../src/figures/table";
import { SliceFailure } from "../src/protocol/failure";
import type { Meta, NdArray, SliceRequest } from "../src/protocol/types";
import type { Selection } from "../src/state/selection";
import type { ViewHandle } from "../src/views/contract";
import { TOKENS_UNASKED } from "../src/views/predictions/data";
import { predictions } from "../src/views/predictions/view";
import { fakeRun, opened, settled } from "./fake";
import { fieldsOf, metaOf } from "./runs";

const N = 20;
const TOP_K = 5;
const TEXTS = ["[CLS]", ...Array.from({ length: N - 2 }, (_, i) => `w${i}`), "[SEP]"];
/** Rows of a request, after the first one, which asks for the focus token alone. */
const PIECE = 4;

/** Numbers that say where they belong: position and rank. */
const idAt = (position: number, rank: number): number => 1000 * rank + position;
const probabilityAt = (position: number, rank: number): number =>
  Math.fround(0.5 ** (rank + 1) - position / 1e4);

function answer([start, stop]: readonly [number, number]): Map<string, NdArray> {
  const positions = Array.from({ length: stop - start }, (_, i) => start + i);
  const guesses = (of: (position: number, rank: number) => number): number[] =>
    positions.flatMap((position) => Array.from({ length: TOP_K }, (_, k) => of(position, k)));
  const wide = [positions.length, TOP_K];
  const floats = (values: number[], shape: number[]): NdArray => ({
    data: Float32Array.from(values),
    shape,
  });
  const long = [positions.length];
  return new Map<string, NdArray>([
    ["prediction_ids", { data: Int32Array.from(guesses(idAt)), shape: wide }],
    ["prediction_probabilities", floats(guesses(probabilityAt), wide)],
    [
      "prediction_logits",
      floats(
        guesses((_, k) => -k),
        wide,
      ),
    ],
    [
      "logit_max",
      floats(
        positions.map(() => 0),
        long,
      ),
    ],
    ["log_sum_exp", { data: Float64Array.from(positions, () => 1), shape: long }],
    ["original_rank", { data: Int32Array.from(positions, (p) => p + 1), shape: long }],
    [
      "original_probability",
      floats(
        positions.map((p) => p / 100),
        long,
      ),
    ],
  ]);
}
const vocabularyOf = ([start, stop]: readonly [number, number]): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: stop - start }, (_, i) => start + i).flatMap((position) =>
      Array.from({ length: TOP_K }, (_, k) => [idAt(position, k), `t${idAt(position, k)}`]),
    ),
  );

let element: HTMLElement;
let drawn: ViewHandle;
afterEach(() => {
  drawn.dispose();
  element.remove();
});

function draw(
  options: {
    meta?: Partial<Meta>;
    nsp?: boolean;
    selection?: Partial<Selection>;
    /** Hold replies to masked questions back until `release` is called. */
    held?: boolean;
    fails?: (request: SliceRequest) => boolean;
    acts?: boolean;
  } = {},
) {
  const waiting: (() => void)[] = [];
  const whole = [0, N] as const;
  const base = metaOf(TEXTS, {
    predictions: { mode: "as_is", top_k: TOP_K, vocabulary: vocabularyOf(whole) },
    ...options.meta,
  });
  const model = { ...base.model, has: { ...base.model.has, nsp: options.nsp ?? false } };
  const run = fakeRun(
    { ...base, model },
    async (request, { signal }) => {
      if (options.fails?.(request)) throw new SliceFailure("The kernel is gone.");
      if (request.kind === "next_sentence") {
        const row = (values: number[]): NdArray => ({
          data: Float32Array.from(values),
          shape: [1, 2],
        });
        return {
          data: { labels: ["is next", "is not next"] },
          arrays: new Map<string, NdArray>([
            ["logits", row([2, 1])],
            ["exp", row([1, Math.exp(-1)])],
            ["probabilities", row([1 / (1 + Math.exp(-1)), 1 / (1 + Math.E)])],
            ["sum", { data: Float64Array.from([1 + Math.exp(-1)]), shape: [1] }],
          ]),
        };
      }
      if (options.held) {
        await new Promise<void>((resolve, reject) => {
          waiting.push(resolve);
          signal?.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
        });
      }
      const rows = fieldsOf(request).rows as readonly [number, number];
      return {
        data: { mode: "masked", top_k: TOP_K, vocabulary: vocabularyOf(rows) },
        arrays: answer(rows),
      };
    },
    {
      arrays: answer(whole),
      selection: options.selection ?? {},
      acts: options.acts !== false,
    },
  );
  element = document.createElement("div");
  document.body.append(element);
  drawn = opened(predictions, element, run, run.context);
  const release = async (): Promise<void> => {
    waiting.shift()!();
    await settled();
  };
  return { ...run, release };
}

const one = (selector: string): HTMLElement => element.querySelector(selector) as HTMLElement;
const row = (position: number): HTMLElement => one(`.aw-position[data-position='${position}']`);
const guess = (position: number, rank: number): HTMLElement =>
  row(position).querySelector(`[data-column='${rank}']`) as HTMLElement;
const progress = (): HTMLElement => one("[data-aw-part=masked-progress]");
const button = (): HTMLElement => progress().querySelector("button") as HTMLElement;
const start = (): void => one("[data-mode=masked]").click();

const rowsOf = (asked: readonly SliceRequest[]): string[] =>
  asked.map((request) => (fieldsOf(request).rows as number[]).join(" "));
const as_is = (): void => one("[data-mode=as_is]").click();
const answered = async (): Promise<void> => {
  for (let i = 0; i < 2 * N; i++) await settled();
};

describe("masked predictions", () => {
  it("are what the view opens on, row by row from the focus token on", async () => {
    const { asked, release } = draw({ held: true, selection: { token: 9 } });
    expect(one("[data-mode=masked]").getAttribute("aria-pressed")).toBe("true");
    expect(progress().textContent).toContain("0 / 20 tokens");
    expect(row(0)).toBeNull();
    await release();
    expect(progress().textContent).toContain("1 / 20 tokens");
    expect(guess(9, 2).dataset.tokenId).toBe(String(idAt(9, 1)));
    expect(row(8).querySelector(".aw-row-waiting")!.textContent).toBe("–");
    await release();
    expect(progress().textContent).toContain(`${PIECE} / 20 tokens`);
    expect(one("[role=progressbar]").getAttribute("aria-valuenow")).toBe(String(PIECE));
    expect(guess(11, 1)).not.toBeNull();
    expect(guess(12, 1)).toBeNull();
    for (let i = 0; i < 4; i++) await release();
    expect(progress().hidden).toBe(true);
    expect(rowsOf(asked)).toEqual(["9 10", "8 12", "12 16", "16 20", "0 4", "4 8"]);
    for (const position of [0, 9, 15, 19]) {
      for (const rank of [1, 5]) {
        const cell = guess(position, rank);
        expect(cell.dataset.tokenId).toBe(String(idAt(position, rank - 1)));
        expect(Number(cell.dataset.awValue)).toBe(probabilityAt(position, rank - 1));
        expect(cell.textContent).toContain(`t${idAt(position, rank - 1)}`);
      }
    }
    expect(drawn.options!()).toEqual({ mode: "masked" });
  });

  it("stay as far as they came when the reader cancels, and go on from there", async () => {
    const { asked, reports, release } = draw({ held: true });
    await release();
    await release();
    button().click();
    await settled();
    expect(progress().textContent).toContain(`Stopped: ${PIECE} / 20 tokens`);
    expect(guess(3, 1)).not.toBeNull();
    expect(reports).toEqual([]);
    expect(((await drawn.table()) as Table).rows).toHaveLength(PIECE * TOP_K);
    button().click();
    await settled();
    expect(rowsOf(asked).at(-1)).toBe("4 8");
  });

  it("leave the other mode as it was when nothing had come before the reader cancels", async () => {
    draw({ held: true });
    button().click();
    await settled();
    expect(one("[data-mode=as_is]").getAttribute("aria-pressed")).toBe("true");
    expect(guess(19, 1)).not.toBeNull();
    expect(progress().hidden).toBe(true);
  });

  it("stay as far as they came when the kernel is lost", async () => {
    const { reports } = draw({
      fails: (request) => (fieldsOf(request).rows as number[])[0] === 8,
    });
    await answered();
    expect(reports).toEqual(["The kernel is gone."]);
    expect(one("[data-mode=masked]").getAttribute("aria-pressed")).toBe("true");
    expect(progress().textContent).toContain("Stopped: 8 / 20 tokens");
  });

  it("give way to the others when none of them comes", async () => {
    draw({ fails: () => true });
    await answered();
    expect(one("[data-mode=as_is]").getAttribute("aria-pressed")).toBe("true");
    expect(guess(19, 1)).not.toBeNull();
  });

  it("are not asked for twice when the reader looks at the other mode in between", async () => {
    const { asked } = draw();
    await answered();
    const before = asked.length;
    as_is();
    await settled();
    start();
    await settled();
    expect(asked).toHaveLength(before);
    expect(guess(19, 1)).not.toBeNull();
  });

  it("of a text of hundreds of tokens come as far as a few seconds allow, and all when asked for", async () => {
    const n = TOKENS_UNASKED / 64;
    const texts = Array.from({ length: n }, (_, i) => `w${i}`);
    const { asked } = draw({ meta: { tokens: metaOf(texts).tokens } });
    await answered();
    expect(progress().textContent).toContain(`Stopped: 64 / ${n} tokens`);
    const before = asked.length;
    button().click();
    await answered();
    expect(rowsOf(asked.slice(before))[0]).toBe("64 68");
    expect(progress().hidden).toBe(true);
  });

  it("are not shown first where tokens are masked already", () => {
    draw({ meta: { masked: [{ token: 3, text: "cat", id: 9 }] } });
    expect(one("[data-mode=as_is]").getAttribute("aria-pressed")).toBe("true");
  });

  it("say which word surprises the model most, once they have come, and open at its row", async () => {
    const { release } = draw({ held: true, selection: { token: 9 } });
    const sentence = () => one("[data-aw-part=sentence]");
    await release();
    expect(sentence().hidden).toBe(true);
    for (let i = 0; i < 5; i++) await release();
    // The probability of the text's own token grows with its position.
    expect(sentence().textContent).toBe(
      "With each word hidden in turn, w0 surprises the model most: 1.0%, 2nd, where it expects t1: 50%.",
    );
    expect(
      one("[data-position='1'] [tabindex='0'], [data-position='1'][tabindex='0']"),
    ).not.toBeNull();
  });
});

describe("a run with masks", () => {
  const masked = [{ token: 3, text: "cat", id: idAt(3, 2) }];
  const text = TEXTS.map((other, i) => (i === 3 ? "[MASK]" : other));
  const meta = { masked, tokens: { ...metaOf(TEXTS).tokens, text } };

  it("says what stood there, where the model ranks it, and what it says instead", () => {
    draw({ meta });
    const strip = one("[data-aw-part=masked]").textContent!.replace(/\s+/g, " ");
    expect(strip).toContain("cat: rank 4, 3.00%");
    expect(strip).toContain(`t${idAt(3, 0)}`);
    expect(row(3).classList.contains("is-masked")).toBe(true);
    expect(row(3).querySelector(".aw-original")!.textContent).toContain("cat 4");
    expect(guess(3, 3).classList.contains("is-original")).toBe(true);
    expect(row(3).querySelector(".aw-position-token")!.textContent).toBe("[MASK]");
  });

  it("is started by the switch of a row, with the other masks kept", () => {
    const { acts } = draw({ meta });
    const box = (position: number): HTMLElement =>
      one(`[data-aw-part=mask-token][data-token='${position}']`);
    expect(box(3).getAttribute("aria-pressed")).toBe("true");
    box(7).click();
    box(5).click();
    box(3).click();
    expect(box(7).getAttribute("aria-pressed")).toBe("true");
    expect(acts).toEqual([
      { kind: "mask", tokens: [3, 7] },
      { kind: "mask", tokens: [3, 5, 7] },
      { kind: "mask", tokens: [5, 7] },
    ]);
    expect(box(0)).toBeNull();
  });

  it("cannot be started where there is no kernel", () => {
    draw({ acts: false });
    expect(one("[data-aw-part=mask-token]")).toBeNull();
  });
});

describe("a pair of texts", () => {
  it("has the next-sentence softmax beside its predictions", async () => {
    draw({ nsp: true, meta: { text_pair: "b" } });
    await settled();
    const verdict = one("[data-aw-part=next-sentence]");
    const isNext = Math.fround(1 / (1 + Math.exp(-1)));
    expect(Number(verdict.dataset.awValue)).toBe(isNext);
    expect(verdict.textContent).toBe("P(is next) = 73.1%");
    const sum = one("[data-aw-part=next-sentence-terms] .aw-sum").textContent!;
    expect(sum).toContain("1.368");
    expect(sum).toContain("100%");
  });

  it("has no such panel for one text, or without the head", () => {
    draw({ nsp: true });
    expect(one(".aw-pair")).toBeNull();
    drawn.dispose();
    draw({ nsp: false, meta: { text_pair: "b" } });
    expect(one(".aw-pair")).toBeNull();
  });
});

it("gives every guess away with all digits, special tokens as the switch has them", async () => {
  const { state } = draw();
  as_is();
  const table = (await drawn.table()) as Table;
  expect(table.columns.join()).toBe(
    "position,token,rank,prediction,probability,logit,original_rank,original_probability",
  );
  expect(table.rows).toHaveLength(N * TOP_K);
  expect(table.rows[TOP_K + 1]).toEqual([
    ...[1, "w0", 2, `t${idAt(1, 1)}`, probabilityAt(1, 1), -1, 2],
    Math.fround(0.01),
  ]);
  state.set({ special: false });
  expect(((await drawn.table()) as Table).rows).toHaveLength((N - 2) * TOP_K);
});
