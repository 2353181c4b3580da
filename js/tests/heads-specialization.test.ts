// @vitest-environment jsdom
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { CATEGORIES } from "../src/draw/color/category";
import { luminance } from "../src/draw/color/ramp";
import { SPECIALIZATIONS } from "../src/figures/catalog/cards";
import { exact, formatNumber } from "../src/figures/format";
import { explainedByAxis } from "../src/figures/head-figures";
import type { Table } from "../src/figures/table";
import * as lazy from "../src/lazy";
import { lazyCode, type ViewHandle } from "../src/views/contract";
import {
  axisPoint,
  nearestOutline,
  outline,
  radarScale,
  roundUp,
  shareOf,
} from "../src/views/heads/radar-geometry";
import { places, towards } from "../src/views/heads/roles-geometry";
import { heads } from "../src/views/heads/view";
import { settled } from "./fake";
import { type Run, run } from "./figures-run";
import {
  CHANCE,
  NO_ENTITY,
  PATTERN,
  profileArrays,
  RAW,
  ROLE_NAMES,
  scaledOf,
  standardOf,
} from "./head-figures";
import { HEADS, LAYERS } from "./tiny-text";
import { unfold } from "./unfold";

/** jsdom lays nothing out: every element is told that it is 400 px wide. */
class Laid implements ResizeObserver {
  constructor(private readonly call: ResizeObserverCallback) {}
  observe(): void {
    this.call([{ contentRect: { width: 400 } } as ResizeObserverEntry], this);
  }
  unobserve(): void {}
  disconnect(): void {}
}
vi.stubGlobal("ResizeObserver", Laid);

let drawn: ViewHandle | null = null;
let element: HTMLElement;

async function draw(options: Parameters<typeof run>[0] = {}): Promise<Run> {
  const made = run(options);
  element = document.createElement("div");
  document.body.append(element);
  drawn = heads(element, made.context as Parameters<typeof heads>[1]);
  await settled();
  unfold(element);
  await settled();
  return made;
}
beforeAll(() => {
  lazyCode.value = lazy;
});
afterEach(() => {
  drawn?.dispose();
  element?.remove();
});

const all = (selector: string): HTMLElement[] => [
  ...element.querySelectorAll<HTMLElement>(selector),
];
const one = (selector: string): HTMLElement => element.querySelector(selector) as HTMLElement;
const press = (target: Element, key: string): void => {
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
};
const cell = (key: string, column: string): number =>
  Number(one(`.aw-specializations tr[data-key=${key}] [data-column=${column}]`).dataset.awValue);

describe("where the selected head looks", () => {
  it("has its figures raw, scaled and as z-scores, with the chance level", async () => {
    await draw();
    const index = HEADS + 2;
    for (const { key } of SPECIALIZATIONS) {
      if (key === "entities") continue;
      const raw = RAW[key] as number[];
      expect(cell(key, "raw")).toBe(raw[index]);
      expect(cell(key, "chance")).toBe(CHANCE);
      expect(cell(key, "scaled")).toBeCloseTo(scaledOf(raw)[index] as number, 6);
      expect(cell(key, "z")).toBeCloseTo(standardOf(raw)[index] as number, 6);
    }
    for (const key of Object.keys(PATTERN)) expect(cell(key, "raw")).toBe(PATTERN[key]?.[index]);
  });

  it("says why a figure is N/A, and shows no zero", async () => {
    await draw();
    const row = one(".aw-specializations tr[data-key=entities]");
    expect(row.textContent).toContain(NO_ENTITY);
    expect(row.textContent).toContain("–");
    expect(row.textContent).not.toMatch(/\d/);
    expect(one("[data-aw-part=specialization-notes]").textContent).toBe(
      "The tagger speaks English only.",
    );
  });

  it("follows the selection, and gives means for the mean head", async () => {
    const { state } = await draw();
    state.set({ layer: 2, head: 0 });
    expect(cell("self", "raw")).toBe(RAW.self?.[2 * HEADS]);
    state.set({ head: "mean" });
    const own = RAW.self?.slice(2 * HEADS) as number[];
    expect(cell("self", "raw")).toBeCloseTo(own.reduce((a, b) => a + b) / HEADS, 12);
  });

  it("explains a figure with formula and source, shades the heads and sorts the table by it", async () => {
    const { state } = await draw();
    for (const key of [...Object.keys(RAW), ...Object.keys(PATTERN)]) {
      one(`.aw-specializations button[data-key=${key}]`).click();
      const dialog = one("[role=dialog]");
      expect(dialog.querySelector("math")).not.toBeNull();
      expect(dialog.textContent).toMatch(/doi:10\.\d{4,}\//);
      expect(dialog.querySelector("a")).toBeNull();
      expect(state.get().metric).toBe(key);
      one(".aw-popover-close").click();
    }
    one(".aw-specializations button[data-key=punctuation]").click();
    const raw = RAW.punctuation as number[];
    const first = one(".aw-heads-all tbody tr");
    expect(Number(first.dataset.index)).toBe(raw.indexOf(Math.max(...raw)));
    expect(first.querySelector("[data-metric=punctuation]")?.textContent).toBe(
      formatNumber(Math.max(...raw)),
    );
  });

  it("is a radar with one outline a head, a dashed axis for what is N/A, chance on raw", async () => {
    await draw();
    expect(all(".aw-radar-head")).toHaveLength(HEADS);
    expect(all(".aw-radar-axis.is-absent")).toHaveLength(1);
    const label = one(".aw-radar-label[data-key=entities]");
    expect(label.querySelector("title")?.textContent).toBe(`Entities is N/A: ${NO_ENTITY}`);
    expect(one(".aw-radar-chosen").querySelectorAll("circle")).toHaveLength(
      SPECIALIZATIONS.length - 1,
    );
    expect(all(".aw-radar-chance")).toHaveLength(0);
    one("[data-form=raw]").click();
    expect(all(".aw-radar-chance")).toHaveLength(SPECIALIZATIONS.length - 1);
    one("[data-aw-part=radar-all]").click();
    expect(all(".aw-radar-head")).toHaveLength(0);
    expect(one("[data-aw-part=radar]").getAttribute("aria-label")).toContain(
      "Entities not available",
    );
  });

  it("explains an axis whose name is clicked, also while the numbers are folded", async () => {
    const { state } = await draw();
    const numbers = one("[data-aw-part=fold-numbers]") as HTMLDetailsElement;
    numbers.open = false;
    numbers.dispatchEvent(new Event("toggle"));
    expect(one(".aw-specializations")).toBeNull();
    one(".aw-radar-label[data-key=self] text").dispatchEvent(
      new MouseEvent("click", { bubbles: true }),
    );
    expect(one("[role=dialog]").getAttribute("aria-label")).toBe("Self");
    expect(state.get().metric).toBe("self");
  });

  it("walks through the heads of the layer with arrow keys, one stop for Tab", async () => {
    const { state } = await draw();
    const chips = all("[data-aw-part=radar-heads] [role=radio]");
    expect(chips).toHaveLength(HEADS);
    expect(chips.map((chip) => chip.tabIndex)).toEqual([-1, -1, 0, -1]);
    press(chips[2] as Element, "ArrowRight");
    expect(state.get()).toMatchObject({ layer: 1, head: 3 });
    expect(document.activeElement).toBe(chips[3]);
    expect(chips.map((chip) => chip.getAttribute("aria-checked"))).toEqual([
      "false",
      "false",
      "false",
      "true",
    ]);
  });

  it("says in its place what cannot be had, keeps positions, and asks again on request", async () => {
    const { asked, reports } = await draw({ refused: ["specialization", "roles"] });
    const absent = all(".aw-heads-absent");
    expect(absent.map((part) => part.firstChild?.textContent)).toEqual([
      "No specialization here.",
      "No roles here.",
    ]);
    expect(reports).toEqual([]);
    one("[data-group=All]").click();
    expect(all("thead th[data-key=previous]")).toHaveLength(1);
    const before = asked.length;
    absent[1]?.querySelector("button")?.click();
    await settled();
    expect(asked.slice(before)).toEqual([{ kind: "roles" }]);
  });
});

describe("the map of roles", () => {
  const dots = (): HTMLElement[] => all("[data-aw-part=roles-map] button");

  it("has a button for every head that names its role, text as text", async () => {
    await draw();
    expect(dots()).toHaveLength(LAYERS * HEADS);
    expect(dots()[5]?.getAttribute("aria-label")).toBe("layer 1, head 1: diffuse");
    expect(dots()[4]?.title).toBe("L1 · H0: <b>punctuation</b>");
    const names = all(".aw-role-name").map((name) => name.textContent);
    expect(names).toEqual(["cls + long range", ROLE_NAMES[1], "diffuse"]);
    expect(one("[data-aw-part=roles] b")).toBeNull();
    expect(one("[data-aw-part=roles]").textContent).toMatch(
      /k = 3 by silhouette \(0\.50\), seed 0/,
    );
  });

  it("says that it is a reading of one text", async () => {
    await draw();
    expect(one("[data-aw-part=roles-scope]").textContent).toBe(
      "Roles from this one text; another text may give others.",
    );
  });

  it("selects the head of a dot and marks it", async () => {
    const { state } = await draw();
    dots()[9]?.click();
    expect(state.get()).toMatchObject({ layer: 2, head: 1 });
    expect(dots().filter((dot) => dot.getAttribute("aria-pressed") === "true")).toEqual([
      dots()[9],
    ]);
    expect(dots().filter((dot) => dot.tabIndex === 0)).toEqual([dots()[9]]);
  });

  it("lights the heads of one role, and lets go of it", async () => {
    await draw();
    const key = one(".aw-role-key[data-role='1']");
    key.click();
    expect(key.getAttribute("aria-pressed")).toBe("true");
    expect(all(".aw-role-shape.is-faint")).toHaveLength((2 * LAYERS * HEADS) / 3);
    key.click();
    expect(key.getAttribute("aria-pressed")).toBe("false");
    expect(all(".aw-role-shape.is-faint")).toHaveLength(0);
  });

  it("moves to the nearest dot with arrows, and Enter is left to the button", async () => {
    const { state } = await draw();
    dots()[6]?.focus();
    press(dots()[6] as Element, "ArrowRight");
    expect(document.activeElement).toBe(dots()[7]);
    press(dots()[7] as Element, "ArrowUp");
    expect(document.activeElement).toBe(dots()[11]);
    expect(state.get()).toMatchObject({ layer: 1, head: 2 });
    expect(dots().filter((dot) => dot.tabIndex === 0)).toEqual([dots()[11]]);
    expect(one(".aw-roles-readout").textContent).toBe("L2 · H3: diffuse");
  });

  it("gives the table a column of roles that filters", async () => {
    await draw();
    const input = one(".aw-heads-all input") as HTMLInputElement;
    input.value = "role: diffuse and L1";
    input.dispatchEvent(new Event("input"));
    const rows = all(".aw-heads-all tbody tr").map((row) => Number(row.dataset.index));
    expect(rows).toEqual([5]);
  });
});

describe("figures of a profile", () => {
  const values = (name: string): number[] => [...(profileArrays().get(name)?.data ?? [])];

  it("stand on the cards with interval and spread, and no uniform attention", async () => {
    await draw({ profile: true });
    const card = one(".aw-card[data-metric=sparsity]");
    const mean = values("metric:sparsity")[HEADS + 2] as number;
    const [low, high] = ["low", "high"].map(
      (end) => values(`${end}:sparsity`)[HEADS + 2] as number,
    );
    expect(one(".aw-card[data-metric=sparsity] .aw-card-value").dataset.awValue).toBe(exact(mean));
    expect(card.querySelector(".aw-card-sub")?.textContent).toBe(
      `95%: ${formatNumber(low as number)} – ${formatNumber(high as number)}, sd 0.250`,
    );
    expect(card.querySelector<HTMLElement>(".aw-strip-uniform")?.hidden).toBe(true);
    expect(card.querySelector<HTMLElement>(".aw-strip-interval")?.hidden).toBe(false);
    expect(all("[data-tau]")).toHaveLength(0);
    expect(one("[data-aw-part=roles-scope]").textContent).toBe("Roles over 5 texts.");
    expect(one(".aw-view-note").textContent).toContain("Means over 5 texts");
  });

  it("have their interval in the table and beside the radar", async () => {
    await draw({ profile: true });
    const [low, high] = ["low", "high"].map((end) => values(`${end}:self`)[0] as number);
    const text = `${formatNumber(low as number, 2)} – ${formatNumber(high as number, 2)}`;
    one("[data-group='Where it looks']").click();
    expect(one(".aw-heads-all tr[data-index='0'] [data-metric=self] small").textContent).toBe(text);
    expect(all("[data-column=chance]")).toHaveLength(0);
    expect(all("[data-column=interval]")).toHaveLength(
      SPECIALIZATIONS.length - 1 + Object.keys(PATTERN).length,
    );
  });

  it("are all given away", async () => {
    const { source } = await draw({ profile: true });
    const table = (await drawn?.table()) as Table;
    const keys = source.meta.profile?.keys ?? [];
    expect(table.columns.slice(0, 7)).toEqual([
      "layer",
      "head",
      ...[keys[0], `${keys[0]}_low`, `${keys[0]}_high`, `${keys[0]}_sd`, `${keys[0]}_count`],
    ]);
    expect(table.columns).toHaveLength(2 + 5 * keys.length);
    expect(table.rows).toHaveLength(LAYERS * HEADS);
    expect(table.rows[5]?.[6]).toBe(5);
  });
});

it("gives away every head's metrics and raw specializations, N/A as null", async () => {
  const { source } = await draw();
  const table = (await drawn?.table()) as Table;
  expect(table.columns).toEqual([
    "layer",
    "head",
    ...source.meta.metrics.keys,
    ...SPECIALIZATIONS.map(({ key }) => key),
  ]);
  const row = table.rows[7] as (number | null)[];
  expect(row.slice(0, 2)).toEqual([1, 3]);
  expect(row[2]).toBe(source.arrays.get(`metric:${source.meta.metrics.keys[0]}`)?.data[7]);
  expect(row[table.columns.indexOf("cls")]).toBe(RAW.cls?.[7]);
  expect(row[table.columns.indexOf("entities")]).toBeNull();
});

it("sums layers and the model up: mean, smallest, largest", async () => {
  await draw();
  const rows = all(".aw-layers-table tbody tr");
  expect(rows.map((row) => row.querySelector("th")?.textContent)).toEqual([
    "L0",
    "L1",
    "L2",
    "Model",
  ]);
  const raw = RAW.cls as number[];
  const model = rows[3]?.querySelector<HTMLElement>("[data-metric=cls]");
  expect(Number(model?.dataset.awValue)).toBeCloseTo(raw.reduce((a, b) => a + b) / raw.length, 12);
  expect(model?.querySelector("small")?.textContent).toBe(
    `${formatNumber(Math.min(...raw), 2)} – ${formatNumber(Math.max(...raw), 2)}`,
  );
});

it("keeps open what a reader has opened, over other tabs, and draws nothing that is folded", async () => {
  const made = run();
  element = document.createElement("div");
  document.body.append(element);
  const open = (): (string | undefined)[] =>
    all(".aw-fold[open]").map(({ dataset }) => dataset.awPart);
  drawn = heads(element, made.context);
  await settled();
  expect(open()).toEqual([]);
  expect(all(".aw-cards, .aw-heads-table, .aw-specializations, .aw-roles")).toEqual([]);
  expect(all(".aw-cards-first .aw-card").length).toBeGreaterThan(1);
  const roles = one("[data-aw-part=fold-roles]") as HTMLDetailsElement;
  roles.open = true;
  roles.dispatchEvent(new Event("toggle"));
  drawn.dispose();
  drawn = heads(element, made.context);
  await settled();
  expect(open()).toEqual(["fold-roles"]);
  expect(one("[data-aw-part=roles]")).not.toBeNull();
  const again = one("[data-aw-part=fold-roles]") as HTMLDetailsElement;
  again.open = false;
  again.dispatchEvent(new Event("toggle"));
  expect(one("[data-aw-part=roles]")).toBeNull();
});

it("has a card of the figure that shades the heads, where the head has it", async () => {
  const { state } = await draw();
  const cards = () => all(".aw-cards-first .aw-card").map(({ dataset }) => dataset.first);
  const before = cards();
  for (const key of [...Object.keys(RAW), ...Object.keys(PATTERN)]) {
    if (key === "entities") continue;
    state.set({ metric: key });
    expect(cards(), key).toEqual(before.includes(key) ? before : [...before, key]);
  }
  state.set({ metric: "roles" });
  expect(cards(), "no figure").toEqual(before);
});

describe("the radar's geometry", () => {
  it("puts the first axis up and the rest clockwise", () => {
    expect(axisPoint(0, 4, 10)[1]).toBeCloseTo(-10);
    expect(axisPoint(1, 4, 10)[0]).toBeCloseTo(10);
  });
  it("closes an outline of figures and leaves a gap at what is N/A", () => {
    expect(outline([1, 1, 1, 1], 10).line.match(/M/g)).toHaveLength(4);
    const open = outline([1, Number.NaN, 1, 1], 10);
    expect(open.line.match(/M/g)).toHaveLength(2);
    expect(open.area.match(/Z/g)).toHaveLength(2);
    expect(open.points[1]).toBeNull();
  });
  it("draws raw figures by their square root", () => {
    const raw = radarScale("raw", [0.03, 0.37]);
    expect(raw.high).toBe(0.5);
    expect(raw.rings.map((ring) => shareOf(ring, raw))).toEqual([0.25, 0.5, 0.75, 1]);
    expect(radarScale("scaled", []).rings.at(-1)).toBe(1);
  });
  it("rounds up to a number that reads well", () => {
    expect([0.37, 0.011, 1, 2.4, 0.2, 7].map(roundUp)).toEqual([0.5, 0.02, 1, 2.5, 0.2, 10]);
    expect(roundUp(0)).toBe(1);
  });
  it("finds the outline under the pointer", () => {
    const near = outline([0.5, 0.5, 0.5, 0.5], 100);
    const far = outline([1, 1, 1, 1], 100);
    expect(nearestOutline([near, far], [0, -52], 14)).toBe(0);
    expect(nearestOutline([near, far], [0, -97], 14)).toBe(1);
    expect(nearestOutline([near, far], [0, 0], 14)).toBeNull();
  });
});

describe("the map's geometry", () => {
  const { dots, zero } = places([0, 0, 2, 0, 2, 1, -1, -1], 300, 100, 10);
  it("keeps proportions and stays inside of its margin", () => {
    const [a, b, c] = dots as [(typeof dots)[0], (typeof dots)[0], (typeof dots)[0]];
    expect(b.x - a.x).toBeCloseTo(2 * (b.y - c.y), 9);
    for (const { x, y } of dots) {
      expect(x).toBeGreaterThanOrEqual(10);
      expect(x).toBeLessThanOrEqual(290);
      expect(y).toBeGreaterThanOrEqual(10);
      expect(y).toBeLessThanOrEqual(90);
    }
    expect(zero).toEqual(a);
  });
  it("leads to the nearest dot in the arrow's direction, and nowhere at the edge", () => {
    expect(towards(dots, 0, "ArrowRight")).toBe(1);
    expect(towards(dots, 1, "ArrowUp")).toBe(2);
    expect(towards(dots, 0, "ArrowLeft")).toBe(3);
    expect(towards(dots, 2, "ArrowRight")).toBeNull();
    expect(towards(dots, 0, "Enter")).toBeNull();
  });
  it("splits the explained variance between its axes", () => {
    const [first, second] = explainedByAxis([2, 0, -2, 0, 0, 1, 0, -1], 0.5);
    expect(first).toBeCloseTo(0.4, 12);
    expect(second).toBeCloseTo(0.1, 12);
    expect(explainedByAxis([0, 0], 1)).toEqual([Number.NaN, Number.NaN]);
  });
});

it("has categories of different letters and shapes, 3:1 from either ground", () => {
  expect(new Set(CATEGORIES.map(({ letter }) => letter)).size).toBe(8);
  expect(new Set(CATEGORIES.map(({ path }) => path)).size).toBe(8);
  const ground = { light: luminance([255, 255, 255]), dark: luminance([17, 19, 23]) };
  for (const { rgb } of CATEGORIES) {
    expect((ground.light + 0.05) / (luminance(rgb.light) + 0.05)).toBeGreaterThanOrEqual(3);
    expect((luminance(rgb.dark) + 0.05) / (ground.dark + 0.05)).toBeGreaterThanOrEqual(3);
  }
});
