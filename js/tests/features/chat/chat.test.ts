// @vitest-environment jsdom
import { h, render } from "preact";
import { afterEach, describe, expect, it } from "vitest";
import { buildLine, firstUnits } from "../../../src/draw/text-line";
import { belowWhy } from "../../../src/features/chat/below-why";
import { contributionsOf, turnTable } from "../../../src/features/chat/data";
import { turnNames, turnsOf } from "../../../src/features/chat/index";
import { TurnsSentence } from "../../../src/features/chat/sentence";
import type { SentenceMatrix } from "../../../src/features/sentences/data";
import { chanceOf } from "../../../src/features/sentences/section-sentence";
import { openingRow, SentencesSentence } from "../../../src/features/sentences/sentence";
import { type Sections, sectionAt } from "../../../src/figures/sections";
import { required } from "../../../src/protocol/required";
import type { Meta, NdArray, Slice } from "../../../src/protocol/types";
import { labelOf } from "../../../src/views";
import { fakeRun, settled } from "../../fake";
import { metaOf } from "../../runs";

const HOSTILE = "<img src=x onerror=alert(1)>\u202e";
const TEXTS = ["[CLS]", "be", "brief", "[SEP]", "which", "river", "[SEP]", "the", "seine"];
const chatOf = (roles: readonly string[], more: Partial<Meta> = {}): Meta =>
  metaOf(TEXTS, {
    chat: { roles, start: [0, 3, 6], stop: [3, 6, 9] },
    written: 7,
    ...more,
  });
const CHAT = chatOf(["system", "user", "assistant"]);
const sectionsOf = (meta: Meta): Sections => required(turnsOf(meta), "The turns");

function lineOf(meta: Meta, special = true): HTMLElement {
  const line = document.createElement("div");
  line.append(...buildLine(firstUnits(meta, special), meta, null, sectionsOf(meta)).nodes);
  return line;
}
const groups = (line: HTMLElement) =>
  [...line.querySelectorAll('[role="group"]')].map((group) => [
    group.getAttribute("aria-label"),
    [...group.querySelectorAll<HTMLElement>("[data-token]")].map(({ dataset }) =>
      Number(dataset.token),
    ),
  ]);
const drawn = (...nodes: Parameters<typeof render>[0][]): string => {
  const place = document.createElement("div");
  render(nodes, place);
  return place.textContent;
};

describe("the turns of a chat", () => {
  it("are called by their roles, with a number where one speaks twice", () => {
    expect(turnNames(["system", "user", "assistant", "user"])).toEqual([
      ...["system", "user 1", "assistant", "user 2"],
    ]);
    expect(turnNames([" tool\nresult ", "x".repeat(40), ""])).toEqual([
      ...["tool result", `${"x".repeat(23)}…`, "∅"],
    ]);
    expect(turnsOf(metaOf(TEXTS))).toBeNull();
  });

  it("give the tab of Sentences its label", () => {
    expect(labelOf("sentences", CHAT)).toBe("Turns");
    expect(labelOf("why", CHAT)).toBe("Why");
    expect(labelOf("sentences", metaOf(TEXTS))).toBe("Sentences");
  });

  it("have texts without control tokens and role", () => {
    const { text } = sectionsOf(
      metaOf(["[CLS]", "user", "\n", "Hi", "there", "[SEP]", "\n"], {
        chat: { roles: ["user"], start: [0], stop: [7] },
      }),
    );
    expect(text(0)).toBe("Hi there");
    expect([0, 1, 2].map(sectionsOf(CHAT).text)).toEqual(["be brief", "which river", "the seine"]);
  });

  it("hold every token", () => {
    const at = TEXTS.map((_, token) => sectionAt(sectionsOf(CHAT), token));
    expect(at).toEqual([0, 0, 0, 1, 1, 1, 2, 2, 2]);
  });
});

describe("the ribbon of a chat", () => {
  it("has a group for each turn, under its name", () => {
    const line = lineOf(CHAT);
    expect(groups(line)).toEqual([
      ["system", [0, 1, 2]],
      ["user", [3, 4, 5]],
      ["assistant", [6, 7, 8]],
    ]);
    const names = [...line.querySelectorAll(".aw-section-name")];
    expect(names.map(({ textContent }) => textContent)).toEqual(["system", "user", "assistant"]);
  });

  it("has the same turns where special tokens are hidden, and goes on in the middle of one", () => {
    expect(groups(lineOf(CHAT, false))).toEqual([
      ["system", [1, 2]],
      ["user", [4, 5]],
      ["assistant", [7, 8]],
    ]);
    const place = document.createElement("div");
    const some = firstUnits(CHAT, true).slice(4, 7);
    place.append(...buildLine(some, CHAT, null, sectionsOf(CHAT)).nodes);
    expect(groups(place)).toEqual([
      ["user", [4, 5]],
      ["assistant", [6]],
    ]);
  });

  it("shows a role as text, whatever it is", () => {
    const line = lineOf(chatOf([HOSTILE, HOSTILE, "user"]));
    expect(line.querySelector("img")).toBeNull();
    expect(groups(line)[1]?.[0]).toMatch(/^<img src=x onerror=aler.*… 2$/);
    expect(line.textContent).not.toContain("\u202e");
  });
});

describe("the sentence of a turn", () => {
  const causal = Uint8Array.from({ length: 81 }, (_, i) => Number(i % 9 <= Math.floor(i / 9)));
  const matrix: SentenceMatrix = {
    asked: { aggregation: "mass", layer: null, head: null, quantity: null },
    ...{ size: 3, width: 3, texts: ["be brief", "which river", "the seine"], keyTexts: [] },
    ...{
      tokens: [
        [1, 2],
        [4, 5],
        [7, 8],
      ],
      keyTokens: [
        [1, 2],
        [4, 5],
        [7, 8],
      ],
      segments: [0, 0, 0],
    },
    values: Float32Array.of(0.5, Number.NaN, Number.NaN, 0.25, 0.25, Number.NaN, 0.1, 0.2, 0.1),
    raw: new Float32Array(9),
    ...{ max: 0.5, error: () => 0, allowed: causal, outside: "special tokens", note: null },
    elsewhere: Float32Array.of(0.5, 0.5, 0.6),
    sections: sectionsOf(CHAT),
    witness: () => null,
  };
  const of = { ...matrix, keyTexts: matrix.texts };
  const say = (row: number, change: Partial<SentenceMatrix> = {}, chosen = true): string =>
    drawn(
      h(SentencesSentence, {
        ...{ row, tokens: CHAT.tokens, chosen, choose: () => undefined },
        matrix: { ...of, ...change },
      }),
    );

  it("compares what a turn gets with its share of the tokens in sight", () => {
    // Token 7 sees five of the six, token 8 all of them.
    expect(chanceOf(of, 2, 1)).toBeCloseTo((2 / 5 + 2 / 6) / 2, 12);
    // A long text has no mask here, yet forbids turns.
    expect(chanceOf({ ...of, allowed: null }, 2, 1)).toBeCloseTo((2 / 5 + 2 / 6) / 2, 12);
    expect(say(2)).toBe(
      "Without special tokens, assistant gives 50% of its attention to user, 1.4 times its share of the tokens; " +
        "25% stays in assistant. Special tokens take 60% of the whole.",
    );
    // 50% to system, whose share is (2 / 3 + 2 / 4) / 2: no claim below chance.
    expect(say(1)).toMatch(
      /^Without special tokens, user looks at no other turn much beyond its share of the tokens; 50% stays in user\./,
    );
    // Unasked it says nothing of that.
    expect(say(1, {}, false)).toBe("");
    expect(say(2, {}, false)).toMatch(/^Without special tokens, assistant gives 50%/);
    expect(say(0)).toBe(
      "The model’s mask lets system look at no other turn; 50% of its attention stays in system, 50% lands on special tokens.",
    );
  });

  it("speaks of turns in every aggregation, and opens at the last", () => {
    const { asked } = matrix;
    expect(say(2, { asked: { ...asked, aggregation: "max" } })).toMatch(
      /^The strongest link from assistant to another turn is to user, 0.2/,
    );
    expect(say(2, { asked: { ...asked, layer: 0, quantity: "alti" } })).toMatch(
      /^Of what assistant takes from other turns, user gives most/,
    );
    expect(openingRow(of)).toBe(2);
  });
});

const nd = (data: number[], ...shape: number[]): NdArray => ({
  data: Float32Array.from(data),
  shape,
});
/** Two written tokens, three turns; sums close. */
const VALUES = [1, -2, 5, 0.5, 2, 1.5];
const slice = (values = VALUES, bias = [0.5, -1]): Slice => {
  const sizes = [0, 1].map((w) =>
    values.slice(3 * w, 3 * w + 3).reduce((sum, value) => sum + Math.abs(value), 0),
  );
  const logit = [0, 1].map(
    (w) => values.slice(3 * w, 3 * w + 3).reduce((a, b) => a + b, 0) + (bias[w] ?? 0),
  );
  return {
    data: { positions: [7, 8] },
    arrays: new Map([
      ["values", nd(values, 2, 3)],
      [
        "shares",
        nd(
          values.map((value, i) => Math.abs(value) / (sizes[i < 3 ? 0 : 1] ?? 1)),
          2,
          3,
        ),
      ],
      ["bias", nd(bias, 2)],
      ["logit", nd(logit, 2)],
    ]),
  };
};
const foundOf = (given: Slice, meta = CHAT) =>
  required(contributionsOf(given, sectionsOf(meta), meta), "The contributions");

describe("contributions of turns", () => {
  it("name the turn that decides most, and the share of the system prompt", () => {
    const say = (given: Slice, meta = CHAT): string =>
      drawn(h(TurnsSentence, foundOf(given, meta)));
    expect(say(slice())).toBe(
      "The reply itself, assistant, has the largest part of what is written: 50%, with 20% of the tokens; " +
        "then user: 38%, with 40% of the tokens; the system prompt: 13%, with 40% of the tokens.",
    );
    expect(say(slice([1, 6, 1, 0, 1, 1]))).toBe(
      "user has the largest part of what is written: 63%, with 40% of the tokens; " +
        "the system prompt: 6.3%, with 40% of the tokens.",
    );
    expect(say(slice([7, 2, 1, 3, 1, 1]))).toBe(
      "system has the largest part of what is written: 65%, with 40% of the tokens.",
    );
    // Turns that are about equal: the one that has most for its length, 3 of 7 and 8 tokens being in each of the first two.
    expect(say(slice([3, 3, 3, 3, 3, 3]))).toBe(
      "No turn has a much larger part of what is written than another; assistant has most for its length: " +
        "33%, with 20% of the tokens; the system prompt: 33%, with 40% of the tokens.",
    );
    expect(say(slice([1, 6, 1, 0, 1, 1]), chatOf(["user", "tool", "assistant"]))).not.toMatch(
      "system prompt",
    );
  });

  it("tell what the first turn carries without the first token, where that is much less", () => {
    const given = slice([7, 2, 1, 3, 1, 1]);
    const say = (first: number[]): string => {
      const arrays = new Map([...given.arrays, ["first", nd(first, 2)] as const]);
      return drawn(h(TurnsSentence, foundOf({ ...given, arrays })));
    };
    const all = "system has the largest part of what is written: 65%, with 40% of the tokens.";
    expect(say([1, 0])).toBe(all);
    expect(say([6, 3])).toBe(
      "Without the first token, on which heads rest: user has the largest part of what is written: 50%, with 40% of the tokens; " +
        "the system prompt: 13%, with 40% of the tokens.",
    );
  });

  it("speak of what would come next where nothing is written", () => {
    const given = slice();
    const one = { ...given, data: { positions: [CHAT.tokens.text.length] } };
    expect(drawn(h(TurnsSentence, foundOf(one)))).toMatch(
      /has the largest part of what would come next: \d+%/,
    );
  });

  it("are a table whose rows sum to the logits", () => {
    const { columns, rows } = turnTable(foundOf(slice()));
    expect(columns).toEqual(["position", "token", "system", "user", "assistant", "bias", "logit"]);
    expect(rows).toEqual([
      [7, "the", 1, -2, 5, 0.5, 4.5],
      [8, "seine", 0.5, 2, 1.5, -1, 3],
    ]);
  });
});

describe("the turns below Why", () => {
  let place: HTMLElement;
  let stop: () => void;
  afterEach(() => {
    stop();
    place.remove();
  });

  async function draw(meta: Meta, given: Slice | null, change: Parameters<typeof fakeRun>[2] = {}) {
    const run = fakeRun(meta, () => required(given, "An answer"), change);
    stop = run.stop;
    place = document.createElement("div");
    document.body.append(place);
    const handle = belowWhy(place, { ...run.context, sections: turnsOf(meta) });
    await settled();
    return { ...run, handle };
  }
  const columns = () => [...place.querySelectorAll<HTMLElement>(".aw-turns-column")];
  const sum = () => place.querySelector('[data-aw-part="turns-sum"]')?.textContent;

  it("have a row of bars for each turn, and the closed sum of the token that is chosen", async () => {
    const { state, handle } = await draw(CHAT, slice());
    expect(columns().map((column) => column.getAttribute("aria-label"))).toEqual([
      "the, logit 4.50: system +1.00, user −2.00, assistant +5.00, biases +0.500",
      "seine, logit 3.00: system +0.500, user +2.00, assistant +1.50, biases −1.00",
    ]);
    const exact = [...place.querySelectorAll<HTMLElement>(".aw-turns-cell")];
    expect(exact.map(({ dataset }) => Number(dataset.awValue))).toEqual([
      ...[1, -2, 5, 0.5],
      ...[0.5, 2, 1.5, -1],
    ]);
    expect(sum()).toBe("thesystem +1.00user −2.00assistant +5.00biases +0.500= 4.50");
    columns()[1]?.click();
    expect(state.get().token).toBe(8);
    expect(columns().map((column) => column.getAttribute("aria-pressed"))).toEqual([
      ...["false", "true"],
    ]);
    expect(sum()).toBe("seinesystem +0.500user +2.00assistant +1.50biases −1.00= 3.00");
    const drawing = required(handle.svg?.(), "The drawing");
    expect(drawing.querySelectorAll("rect")).toHaveLength(1 + 2 * 4);
    expect(drawing.textContent).toContain("assistant");
  });

  it("leave the row of biases out where the model has none, and keep them in the sum", async () => {
    await draw(CHAT, slice(VALUES, [1e-9, 0]));
    expect(place.querySelectorAll(".aw-turns-names > li")).toHaveLength(3 + 1);
    expect(sum()).toBe("thesystem +1.00user −2.00assistant +5.00biases 0= 4.00");
  });

  it("show every role as text", async () => {
    await draw(chatOf([HOSTILE, "user", "assistant"]), slice());
    expect(place.querySelector("img")).toBeNull();
    expect(place.textContent).toContain("<img src=x");
  });

  it("are there for a chat alone, and in a saved page that has them", async () => {
    const plain = await draw(metaOf(TEXTS), null);
    expect([place.textContent, plain.asked]).toEqual(["", []]);
    stop();
    await draw(CHAT, null, { live: false, has: () => false });
    expect(place.textContent).toBe("");
    stop();
    await draw(CHAT, slice(), { live: false, has: () => true });
    expect(columns()).toHaveLength(2);
  });

  it("wait for a click where the chat is long", async () => {
    const texts = Array.from({ length: 400 }, (_, i) => `w${i}`);
    const chat = { roles: ["user", "assistant"], start: [0, 200], stop: [200, 400] };
    const { asked } = await draw(metaOf(texts, { chat, written: 380 }), slice());
    expect(asked).toEqual([]);
    expect(place.querySelector('[data-aw-part="turns-start"]')?.textContent).toBe(
      "What each turn adds to every written token",
    );
  });
});
