// @vitest-environment jsdom
import { describe, expect, it, vi } from "vitest";
import { formatPercent } from "../../../src/figures/format";
import { itemAt } from "../../../src/protocol/required";
import { settled } from "../../fake";
import {
  asked,
  CARRIED,
  cell,
  choose,
  chooseScope,
  draw,
  drawn,
  element,
  expectMass,
  GROUPS,
  kernel,
  mass,
  N,
  part,
  press,
  reports,
  state,
  TEXTS,
  value,
} from "./sentences-view";

describe("matrix", () => {
  it("shows the share of each sentence on each, over all heads at first", async () => {
    await draw();
    expectMass({});
    expect(asked.filter(({ kind }) => kind !== "drill")).toHaveLength(1);
  });

  it("has rows that sum to 1 with what lands elsewhere", async () => {
    await draw();
    for (const row of element.querySelectorAll(".aw-isa-row[data-a]")) {
      const numbers = [...row.querySelectorAll<HTMLElement>("[data-aw-value]")].map((one) =>
        Number(one.dataset.awValue),
      );
      const sum = numbers.pop() as number;
      expect(numbers.reduce((a, b) => a + b)).toBeCloseTo(1, 6);
      expect(sum).toBeCloseTo(1, 6);
    }
  });

  it("follows the layer and the head where its scope is theirs", async () => {
    await draw({ layer: 1, head: 2 });
    await chooseScope("layer");
    expectMass({ layer: 1 });
    await chooseScope("head");
    expectMass({ layer: 1, head: 2 });
    state.set({ layer: 0, head: 1 });
    await settled();
    expectMass({ layer: 0, head: 1 });
    expect(part("scope").textContent).toContain("Head L0 H1");
    state.set({ head: "mean" });
    await settled();
    expectMass({ layer: 0 });
    expect((part("scope") as HTMLSelectElement).value).toBe("layer");
  });

  it("gathers another quantity from its own matrix, rows as shares of their sums", async () => {
    await draw({ layer: 1, head: 2, quantity: "norms" });
    const share = (i: number, j: number): number => {
      const row = itemAt(CARRIED, i);
      return itemAt(row, j) / row.reduce((a, b) => a + b);
    };
    for (let a = 0; a < 3; a++) {
      for (let b = 0; b < 3; b++) {
        const [queries, keys] = [itemAt(GROUPS, a), itemAt(GROUPS, b)];
        const expected =
          queries.reduce((sum, i) => sum + keys.reduce((part, j) => part + share(i, j), 0), 0) /
          queries.length;
        expect(value(a, b)).toBeCloseTo(expected, 6);
      }
    }
    expect(asked).toContainEqual({ kind: "mixing", quantity: "norms", layer: 1, head: 2 });
    expect(part("sentences-carried").textContent).toContain("norms · L1 · H2");
    expect(part("scope")).toBeNull();
    expect(part("meaning").textContent).toContain("Kobayashi");
    expect(part("sentence").textContent).toMatch(
      /^Of what S\d takes from other sentences, S\d gives most: \d+%, \d+% by its length; \d+% is its own, \d+% comes from special tokens\.$/,
    );
    expect(drawn?.options?.()).toEqual({ aggregation: "mass", over: "norms · L1 · H2" });
    cell(0, 1).click();
    await vi.waitFor(() => expect(part("drill-sum")?.textContent).toContain("takes from S1"));
    await choose("[data-aggregation='max']");
    const largestOf = (a: number, b: number): number =>
      Math.max(
        ...itemAt(GROUPS, a).flatMap((i) =>
          itemAt(GROUPS, b).map((j) => itemAt(itemAt(CARRIED, i), j)),
        ),
      );
    expect(value(1, 2)).toBe(largestOf(1, 2));
    await choose("[data-aw-part='to-weights']");
    expect(state.get().quantity).toBe("weights");
    expect(part("sentences-carried")).toBeNull();
  });

  it("names no head for what a layer carries", async () => {
    await draw({ layer: 1, head: 2, quantity: "rollout" });
    await choose("[data-aggregation='max']");
    cell(0, 1).click();
    await settled();
    expect(part("witness").hidden).toBe(true);
    expect(part("sentences-carried").textContent).toContain("rollout to L1");
  });

  it("keeps the last picture where another quantity cannot be had", async () => {
    await draw({ layer: 1 });
    kernel.broken = true;
    state.set({ quantity: "alti" });
    await settled();
    expectMass({});
    expect(reports).toHaveLength(1);
  });

  it("asks nothing when the head changes and the scope is all of them", async () => {
    await draw({ layer: 1, head: 2 });
    state.set({ layer: 0, head: 0 });
    await settled();
    expect(asked.filter(({ kind }) => kind !== "drill")).toHaveLength(1);
  });

  it("says in words which other sentence draws the row's attention", async () => {
    await draw();
    for (const a of [0, 1, 2]) {
      (element.querySelector(`.aw-isa-row[data-a='${a}'] .aw-isa-label`) as HTMLElement).click();
      const others = [0, 1, 2].filter((b) => b !== a);
      const best = itemAt(
        others.sort((x, y) => mass({}, a, y) - mass({}, a, x)),
        0,
      );
      const all = others.reduce((sum, b) => sum + mass({}, a, b), 0);
      const length = others.reduce((sum, b) => sum + itemAt(GROUPS, b).length, 0);
      const [share, byLength] = [mass({}, a, best) / all, itemAt(GROUPS, best).length / length];
      const yet = share > byLength ? "" : ", yet not beyond its length";
      expect(part("sentence").textContent).toContain(
        `Of what S${a} gives to other sentences, S${best} gets most${yet}: ${formatPercent(share, 2)}, ${formatPercent(byLength, 2)} by its length; `,
      );
      expect(cell(a, best).classList.contains("is-strongest")).toBe(true);
      expect(element.querySelectorAll(`.is-strongest[data-a='${a}']`)).toHaveLength(1);
    }
  });

  it("reads the row of the focus token's sentence", async () => {
    await draw({ token: 7 });
    state.set({ token: 5 });
    expect(part("sentence").textContent).toMatch(/^Of what S1 /);
    state.set({ token: 7 });
    expect(part("sentence").textContent).toMatch(/^Of what S2 /);
  });

  it("keeps hostile sentences text", async () => {
    await draw();
    expect(element.querySelector("img")).toBeNull();
    expect(element.textContent).toContain(TEXTS[1]);
  });

  it("hatches what the model's mask forbids, and never shows it as 0", async () => {
    kernel.mask = new Uint8Array(N * N).fill(1);
    for (const i of itemAt(GROUPS, 0))
      for (const j of itemAt(GROUPS, 2)) kernel.mask[i * N + j] = 0;
    kernel.mask[itemAt(itemAt(GROUPS, 1), 0) * N + itemAt(itemAt(GROUPS, 0), 0)] = 0;
    await draw();
    expect(cell(0, 2).classList.contains("is-impossible")).toBe(true);
    expect(cell(0, 2).hasAttribute("data-aw-value")).toBe(false);
    expect(cell(0, 2).textContent).toBe("–");
    (element.querySelector(".aw-isa-row[data-a='0'] .aw-isa-label") as HTMLElement).click();
    expect(part("sentence").textContent).toMatch(/^S0 gives S1 /);
    expect(value(1, 0)).toBe(Math.fround(mass({}, 1, 0)));
    cell(0, 2).click();
    await settled();
    expect(part("drill-sum").textContent).toBe(
      "The model's mask forbids every link between the two.",
    );
    cell(1, 0).click();
    await settled();
    expect(
      part("drill-links").querySelector(
        `[data-query='${itemAt(itemAt(GROUPS, 1), 0)}'][data-key='${itemAt(itemAt(GROUPS, 0), 0)}']`,
      ),
    ).toBeNull();
  });

  it("is one stop for Tab, and arrows move in it", async () => {
    await draw();
    cell(1, 1).click();
    expect(element.querySelectorAll(".aw-isa-cell[tabindex='0']")).toHaveLength(1);
    press(cell(1, 1), "ArrowRight");
    expect(document.activeElement).toBe(cell(1, 2));
    press(cell(1, 2), "ArrowUp");
    press(cell(0, 2), "ArrowUp");
    expect(document.activeElement).toBe(cell(0, 2));
    press(cell(0, 2), "Home");
    expect(document.activeElement).toBe(cell(0, 0));
    expect(element.querySelectorAll(".aw-isa-cell[tabindex='0']")).toHaveLength(1);
  });

  it("keeps the last picture when a slice fails, and says what it shows", async () => {
    await draw();
    kernel.broken = true;
    await choose("[data-aggregation='max']");
    expect(reports).toEqual(["The kernel cannot be reached."]);
    expectMass({});
    expect(element.querySelector("[data-aggregation='mass']")?.getAttribute("aria-pressed")).toBe(
      "true",
    );
  });

  it("keeps what was chosen when the view is opened again", async () => {
    await draw({ layer: 1, head: 2 });
    await choose("[data-aggregation='max']");
    await chooseScope("layer");
    drawn?.dispose();
    element.remove();
    await draw({}, GROUPS.slice(), state);
    expect(asked).toEqual([{ kind: "sentences", aggregation: "max", layer: 1, head: null }]);
    expect(drawn?.options?.()).toEqual({ aggregation: "max", over: "L1, all heads" });
  });
});
