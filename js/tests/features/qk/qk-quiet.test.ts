// @vitest-environment jsdom
/** What is asked about a pinned cell in a quiet second, before the reader asks. */

import { describe, expect, test } from "vitest";
import { qk } from "../../../src/features/qk/view";
import { CachedSource } from "../../../src/protocol/cached-source";
import { SliceFailure } from "../../../src/protocol/failure";
import type { SliceRequest } from "../../../src/protocol/types";
import { fakeRun, settled } from "../../fake";
import { fieldsOf, metaOf } from "../../runs";
import { answerOf, byParts, CELL, cell, find, page, press, quiet, TOKENS, text } from "./qk-view";

describe("in a quiet second", () => {
  /** A source that keeps its answers, as a kernel's does. */
  class Kept extends CachedSource {
    readonly live = true;
    readonly meta;
    readonly arrays = new Map();
    readonly asked: SliceRequest[] = [];
    readonly signals: AbortSignal[] = [];
    constructor(tokens: readonly string[]) {
      super(1e6);
      this.meta = metaOf(tokens);
    }
    protected async answer(request: SliceRequest, { signal }: { signal: AbortSignal }) {
      this.asked.push(request);
      this.signals.push(signal);
      if (page.held !== null) await new Promise<void>((resolve) => page.held?.push(resolve));
      return answerOf(request);
    }
    get kinds(): string[] {
      return this.asked.map((each) => {
        const { kind, side, by } = fieldsOf(each);
        return [kind, side ?? by].filter(Boolean).join(" ");
      });
    }
  }
  const FURTHER = ["qk_effects key", "qk_effects query", "qk_trace tokens", "qk parts"];
  function drawKept(tokens: readonly string[] = TOKENS): Kept {
    page.fake = fakeRun(metaOf(tokens), answerOf);
    const source = new Kept(tokens);
    qk(page.place, { ...page.fake.context, source }, cell);
    return source;
  }

  test("everything of a short text is asked for, so that no click asks again", async () => {
    const source = drawKept();
    await quiet();
    expect(source.kinds, "nothing is open").toEqual([]);
    await press(find("why-here"));
    expect(source.kinds).toEqual(["qk"]);
    await quiet();
    expect(source.kinds).toEqual(["qk", ...FURTHER]);
    for (const name of ["qk-without", "qk-start-trace", "qk-show-pairs"]) await press(find(name));
    expect(text("qk-verdict")).toContain("because of");
    expect(find("qk-trace")).not.toBeNull();
    await byParts();
    expect(text("qk-key")).toContain("FFNs");
    expect(source.kinds.slice(0, 5)).toEqual(["qk", ...FURTHER]);
    expect(source.kinds.slice(5), "effects and trace of the parts").toHaveLength(3);
  });

  test("a long text is asked about by the reader alone", async () => {
    const source = drawKept(Array.from({ length: 65 }, (_, i) => `t${i}`));
    await press(find("why-here"));
    await quiet();
    expect(source.kinds).toEqual(["qk"]);
  });

  test("one question is under way at a time, and another choice or pair gives it up", async () => {
    const source = drawKept();
    await press(find("why-here"));
    page.held = [];
    for (const act of page.idle.splice(0)) act();
    await settled();
    expect(source.kinds, "no second before the first is answered").toEqual(["qk", FURTHER[0]]);
    expect(page.idle).toEqual([]);
    page.fake.state.set({ layer: 1 });
    expect(source.signals[1]!.aborted, "the reader chose").toBe(true);
    page.held = null;
    await quiet();
    expect(source.kinds).toEqual(["qk", FURTHER[0], ...FURTHER]);
    cell.value = null;
    cell.value = { ...CELL, key: 3 };
    await settled();
    page.held = [];
    for (const act of page.idle.splice(0)) act();
    const under = source.signals.length - 1;
    expect(source.kinds[under]).toBe(FURTHER[0]);
    cell.value = null;
    expect(source.signals[under]!.aborted, "the pair was cleared").toBe(true);
    page.held = null;
    await quiet();
    expect(source.signals).toHaveLength(under + 1);
  });

  test("what the reader wants of it goes on as the reader's, and what was canceled is left", async () => {
    const source = drawKept();
    await press(find("why-here"));
    page.held = [];
    for (const act of page.idle.splice(0)) act();
    await press(find("qk-without"));
    expect(source.kinds, "shared").toEqual(["qk", FURTHER[0]]);
    expect(source.signals[1]!.aborted).toBe(false);
    await press(find("qk-check-progress")?.querySelector("button") ?? null);
    expect(source.signals[1]!.aborted).toBe(true);
    await quiet();
    expect(source.kinds).toEqual(["qk", FURTHER[0]]);
  });

  test("a refusal keeps nothing from the others, and is asked for no second time", async () => {
    const source = drawKept();
    source.ask = async (request, options = {}) => {
      source.asked.push(request);
      if (request.kind === "qk_effects") throw new SliceFailure("No.");
      return page.fake.source.ask(request, options);
    };
    await press(find("why-here"));
    await quiet();
    expect(source.kinds).toEqual(["qk", ...FURTHER]);
    page.fake.state.set({ layer: 1 });
    await quiet();
    expect(source.kinds).toEqual(["qk", ...FURTHER]);
  });
});
