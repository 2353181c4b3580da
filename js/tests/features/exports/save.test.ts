// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import { captionLines, captionOf, cut, fileName } from "../../../src/features/exports/caption";
import { toCsv } from "../../../src/features/exports/csv";
import { toJson } from "../../../src/features/exports/json";
import { markup } from "../../../src/features/exports/markup";
import { vectorOf, wrap } from "../../../src/features/exports/vector";
import type { Table } from "../../../src/figures/table";
import type { Selection } from "../../../src/state/selection";
import { DEFAULT_SELECTION } from "../../../src/state/state";
import { VIEWS } from "../../../src/views";
import { metaOf } from "../../runs";

/** A view by its name; one of a hostile name is like any other. */
const viewOf = (name: string) => ({ ...(VIEWS[name] ?? VIEWS.predictions!), name });

const one = (cell: string | number | null): string =>
  toCsv({ columns: ["x"], rows: [[cell]] }).slice("x\r\n".length, -"\r\n".length);

describe("a table as CSV", () => {
  it("has a header, and rows that end with CR LF", () => {
    expect(
      toCsv({
        columns: ["token", "weight"],
        rows: [
          ["the", 0.5],
          ["a", 0],
        ],
      }),
    ).toBe("token,weight\r\nthe,0.5\r\na,0\r\n");
  });

  it.each([
    ["a comma", "a,b", '"a,b"'],
    ["a quote", 'say "hi"', '"say ""hi"""'],
    ["a line break", "a\nb", '"a\nb"'],
    ["a carriage return inside", "a\rb", '"a\rb"'],
    ["nothing but a quote", '"', '""""'],
    ["markup", "</script><b>", "</script><b>"],
    ["letters that run to the left", "שלום", "שלום"],
  ])("quotes %s where RFC 4180 wants it", (_, text, field) => {
    expect(one(text)).toBe(field);
  });

  it.each(["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "=cmd|' /C calc'!A0"])(
    "keeps a spreadsheet from running %j",
    (text) => {
      expect(one(text).replace(/^"/, "")).toMatch(/^'/);
    },
  );

  it("tells an empty text from a figure that is N/A", () => {
    expect(one("")).toBe('""');
    for (const absent of [null, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      expect(one(absent)).toBe("");
    }
  });

  it("gives back every float32 exactly", () => {
    for (const value of [0.1, 1 / 3, 1e-38, 3.4e38, 0.90104955, -0, 5e-45]) {
      const single = Math.fround(value);
      expect(Math.fround(Number(one(single)))).toBe(single + 0);
    }
  });
});

const meta = metaOf(["[CLS]", "=1+1", "[SEP]"], {
  text: '</script>"\n=1+1\u2028',
  masked: [{ token: 1, text: "=1+1", id: 11 }],
  versions: { attn_widget: "0.1.0" },
});
const select = (change: Partial<Selection> = {}): Selection => ({
  ...DEFAULT_SELECTION,
  layer: 1,
  head: 2,
  ...change,
});

describe("a table as JSON", () => {
  const table: Table = {
    columns: ["a", "b"],
    rows: [
      ['\u0007"', Number.NaN],
      ["x", 1e-7],
    ],
  };
  const caption = captionOf(meta, select(), viewOf("attention"));

  it("is read back with its caption, N/A as null", () => {
    const read = JSON.parse(toJson(caption, table));
    expect(read).toMatchObject({ view: "attention", model: "tiny", layer: 1, head: 2 });
    expect(read.text).toBe(meta.text);
    expect(read.masked).toEqual([{ token: 1, text: "=1+1" }]);
    expect(read.rows).toEqual([
      ['\u0007"', null],
      ["x", 1e-7],
    ]);
  });

  it("is valid without rows", () => {
    expect(JSON.parse(toJson(caption, { columns: ["a"], rows: [] })).rows).toEqual([]);
  });
});

describe("a caption", () => {
  it("says model, head, text, definition, options and versions, and has no link", () => {
    const lines = captionLines(
      captionOf(meta, select({ token: 1, pair: [1, 2] }), viewOf("attention")),
      meta,
    );
    expect(lines[0]).toBe("tiny · L1 H2");
    expect(lines[1]).toBe(meta.text);
    expect(lines[2]).toBe(VIEWS.attention!.definition);
    expect(lines[3]).toContain("focus token =1+1 1");
    expect(lines[3]).toContain("pair =1+1 1 → [SEP] 2");
    expect(lines[3]).toContain("masked 1 =1+1");
    expect(lines[4]).toBe("attn_widget 0.1.0");
    expect(lines.join()).not.toMatch(/https?:/);
  });

  it("names the tree's children and levels, and only the tree's", () => {
    const of = (view: string) =>
      captionOf(meta, select({ top_k: 4, depth: 2 }), viewOf(view)).options;
    expect(of("tree")).toMatchObject({ top_k: 4, depth: 2 });
    expect(of("attention")).not.toHaveProperty("top_k");
  });

  it("does not name a head where heads are mixed", () => {
    const rollout = captionOf(meta, select({ quantity: "rollout" }), viewOf("attention"));
    expect(rollout).toMatchObject({ layer: 1, head: null });
    expect(rollout.definition).toContain("rollout");
    expect(captionOf(meta, select(), viewOf("sentences")).layer).toBeNull();
  });

  it("says what is carried, with the head or without one", () => {
    const norms = captionOf(meta, select({ quantity: "norms" }), viewOf("attention"));
    expect(norms).toMatchObject({ layer: 1, head: 2 });
    expect(norms.definition).toMatch(/^Norms/);
    const alti = captionOf(meta, select({ quantity: "alti_rollout" }), viewOf("tree"));
    expect(alti.head).toBeNull();
    expect(alti.definition).toMatch(/^The layers up to this one multiplied.*ALTI/);
  });

  it("cuts a long text at whole characters", () => {
    expect(cut("👩".repeat(200))).toBe(`${"👩".repeat(119)}…`);
    expect(cut("short")).toBe("short");
  });

  it.each([
    ["tree", {}, "attn_widget-tree-L1H2.png"],
    ["tree", { head: "mean" }, "attn_widget-tree-L1mean.png"],
    ["attention", { quantity: "rollout" }, "attn_widget-attention-rollout-L1.png"],
    ["attention", { quantity: "norms" }, "attn_widget-attention-norms-L1H2.png"],
    ["tree", { quantity: "value_zeroing" }, "attn_widget-tree-value_zeroing-L1.png"],
    ["attention", { quantity: "alti_rollout" }, "attn_widget-attention-rollout-alti-L1.png"],
    ["predictions", {}, "attn_widget-predictions.png"],
    [`../${"x".repeat(200)}`, {}, /^[\w.-]{1,80}$/],
  ])("gives %s a safe file name", (view, change, expected) => {
    const name = fileName(
      captionOf(meta, select(change as Partial<Selection>), viewOf(view)),
      "png",
    );
    if (typeof expected === "string") expect(name).toBe(expected);
    else expect(name).toMatch(expected);
    expect(name.length).toBeLessThanOrEqual(80);
  });
});

describe("a saved drawing", () => {
  const drawing = (): SVGSVGElement => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 300 200");
    const text = document.createElementNS("http://www.w3.org/2000/svg", "text");
    text.textContent = '</text><script>alert(1)</script>&\u0000\u0007"\ud800';
    svg.append(text);
    return svg;
  };
  const colors = { ground: "#fff", ink: "#000", muted: "#555" };
  const parse = (svg: string): Document => new DOMParser().parseFromString(svg, "image/svg+xml");

  it("is well-formed XML whatever its texts hold, and runs nothing", () => {
    const svg = parse(vectorOf(drawing(), ["<b>&\u0000", "]]>"], colors));
    expect(svg.querySelector("parsererror")).toBeNull();
    expect(svg.querySelector("script")).toBeNull();
    const texts = [...svg.querySelectorAll("text")].map((text) => text.textContent);
    expect(texts).toContain('</text><script>alert(1)</script>&\ufffd\ufffd"\ufffd');
    expect(texts).toContain("<b>&\ufffd");
  });

  it("has room for the drawing and for every line of the caption", () => {
    const root = parse(vectorOf(drawing(), ["one", "two"], colors)).documentElement;
    expect(Number(root.getAttribute("width"))).toBeGreaterThanOrEqual(300);
    const lines = [...root.querySelectorAll("[data-aw-caption]")];
    expect(lines.map((line) => line.textContent)).toEqual(["one", "two"]);
    for (const line of lines) {
      expect(Number(line.getAttribute("y"))).toBeGreaterThan(200);
      expect(Number(line.getAttribute("y"))).toBeLessThan(Number(root.getAttribute("height")));
    }
  });

  it("breaks lines at spaces, and words that are too long", () => {
    const measure = (text: string): number => text.length;
    expect(wrap("aa bb cc", 5, measure)).toEqual(["aa bb", "cc"]);
    expect(wrap("abcdefgh x", 4, measure)).toEqual(["abcd", "efgh", "x"]);
  });

  it("loses no text when it is written as XML", () => {
    const span = document.createElement("span");
    span.textContent = "naïve 👩‍🚀 שלום \t\n]]>";
    const read = new DOMParser().parseFromString(markup(span), "application/xml");
    expect(read.documentElement.textContent).toBe(span.textContent);
  });
});
