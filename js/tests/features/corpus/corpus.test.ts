// @vitest-environment jsdom

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { headExamples } from "../../../src/features/corpus/examples";
import { createNearWords } from "../../../src/features/inside/near-words";
import type { Slice, SliceRequest } from "../../../src/protocol/types";
import { mount } from "../../../src/ui/mount";
import { fakeRun } from "../../fake";
import { fieldsOf, metaOf } from "../../runs";

const TEXT = ["[CLS]", "<b>", "cat", "[SEP]"];
const EXAMPLE = {
  index: 7,
  value: 0.5,
  query: 1,
  key: 2,
  weight: 0.25,
  text: TEXT,
  before: ["", "", " ", ""],
  special: [true, false, false, true],
};
const NAMES = ["confidence_max", "link", "same word", "sample"];
const META = metaOf([], {
  profile: { n_texts: 9, n_tokens: 90, seed: 0, tagger: null, keys: [] },
});
const settled = (): Promise<unknown> => new Promise((done) => setTimeout(done, 0));

let host: HTMLElement;
beforeEach(() => {
  host = document.createElement("div");
  document.body.append(host);
});
afterEach(() => host.remove());

function slice(data: object, rows: readonly (readonly number[])[] = []): Slice {
  const arrays = rows.map((row, i) => {
    const array = { data: Float32Array.from(row), shape: [row.length] };
    return [`row:${i}`, array] as const;
  });
  return { data, arrays: new Map(arrays) } as unknown as Slice;
}

describe("examples of a head", () => {
  const answer = (request: SliceRequest): Slice => {
    expect(request.kind).toBe("examples");
    return slice({ examples: [EXAMPLE], names: NAMES }, [[0.5, 0.125, 0.25, 0.125]]);
  };

  test("are painted by the row of their link, as text and nothing else", async () => {
    const run = fakeRun(META, answer, { selection: { layer: 1, head: 2 } });
    headExamples(host, run.context);
    await settled();
    expect(host.querySelector("h4")?.textContent).toBe("Examples of L1 · H2");
    const tokens = [...host.querySelectorAll<HTMLElement>(".aw-example-token")];
    expect(tokens.map((one) => one.textContent)).toEqual(TEXT);
    expect(tokens.map((one) => Number(one.dataset.awValue))).toEqual([0.5, 0.125, 0.25, 0.125]);
    expect(tokens[1]?.classList.contains("is-query")).toBe(true);
    expect(tokens[2]?.classList.contains("is-key")).toBe(true);
    // The ramp ends at the largest weight between words, which [CLS] may pass.
    expect(tokens[0]?.style.backgroundColor).toBe(tokens[2]?.style.backgroundColor);
    expect(tokens[1]?.style.backgroundColor).not.toBe(tokens[2]?.style.backgroundColor);
    expect(host.querySelector("b")).toBe(null);
    expect(host.querySelector("[data-aw-part=open-example]")).toBe(null);
    run.stop();
  });

  test("follow the head and the figure, and open", async () => {
    const run = fakeRun(META, answer, { selection: { layer: 0, head: 0 }, acts: true });
    headExamples(host, run.context);
    await settled();
    run.state.set({ layer: 1, head: 1 });
    await settled();
    const by = host.querySelector("select") as HTMLSelectElement;
    expect([...by.options].map((one) => one.value).sort()).toEqual([...NAMES].sort());
    by.value = "same word";
    by.dispatchEvent(new Event("change"));
    (host.querySelector(".aw-toggle") as HTMLElement).click();
    await settled();
    expect(
      run.asked.map(fieldsOf).map(({ layer, head, by, lowest }) => [layer, head, by, lowest]),
    ).toEqual([
      [0, 0, "link", false],
      [1, 1, "link", false],
      [1, 1, "same word", false],
      [1, 1, "same word", true],
    ]);
    (host.querySelector("[data-aw-part=open-example]") as HTMLElement).click();
    expect(run.acts).toEqual([
      { kind: "open_example", index: 7, layer: 1, head: 1, query: 1, key: 2 },
    ]);
    run.state.set({ head: "mean" });
    expect(host.querySelectorAll("li")).toHaveLength(0);
    run.stop();
    run.state.set({ head: 2 });
    expect(run.asked).toHaveLength(4);
  });

  test("say why they are not there", async () => {
    const run = fakeRun(META, () => {
      throw Object.assign(new Error("The kernel is gone."), { hint: "" });
    });
    headExamples(host, run.context);
    await settled();
    expect(host.textContent).toContain("The kernel is gone.");
    run.stop();
  });
});

describe("words that are read alike", () => {
  const near = {
    layer: 3,
    texts: 40,
    tokens: 500,
    approximate: false,
    counted: 4,
    tags: [
      ["NOUN", 3],
      ["", 1],
    ],
    rows: [
      {
        similarity: 0.75,
        token: "cat",
        pos: "NOUN",
        text: "𝒜 <i>cat</i> sat",
        index: 2,
        start: 5,
        end: 8,
      },
    ],
  };

  test("stand in their sentences, with their tags, and run", async () => {
    const run = fakeRun(metaOf(TEXT), () => slice(near), { selection: { token: 2 }, acts: true });
    mount(
      host,
      createNearWords(run.context, () => run.state.get().token ?? 1),
      run.context.signal,
    );
    const words = host.firstElementChild as HTMLElement;
    await settled();
    expect(words.hidden).toBe(false);
    expect(host.querySelector("mark")?.textContent).toBe("cat");
    expect(host.querySelector("i:not([aria-hidden])")).toBe(null);
    const bars = [...host.querySelectorAll<HTMLElement>(".aw-near-bar i")];
    expect(bars.map((bar) => bar.style.inlineSize)).toEqual(["75%", "25%"]);
    (host.querySelector("ol button") as HTMLElement).click();
    expect(run.acts).toEqual([{ kind: "run", text: near.rows[0]?.text, truncation: true }]);
    run.state.set({ token: 1 });
    await settled();
    expect(run.asked.map(fieldsOf).map(({ token }) => token)).toEqual([2, 1]);
    run.stop();
  });

  test("are absent without an index, and in saved pages", async () => {
    for (const live of [true, false]) {
      const run = fakeRun(
        metaOf(TEXT),
        () => {
          throw new Error("No index of words is open for this model.");
        },
        { live },
      );
      mount(
        host,
        createNearWords(run.context, () => 1),
        run.context.signal,
      );
      const words = host.firstElementChild as HTMLElement;
      await settled();
      expect(words.hidden).toBe(true);
      expect(run.asked).toHaveLength(live ? 1 : 0);
      expect(run.reports).toEqual([]);
      run.stop();
    }
  });
});
