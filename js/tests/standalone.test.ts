// @vitest-environment jsdom
import { Blob as NodeBlob } from "node:buffer";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SavedSource } from "../src/protocol/saved/source";

interface Page {
  readonly chunks: Readonly<Record<string, string>>;
}
const GOLDEN = join(import.meta.dirname, "../../tests/golden/page.json");
const [page] = JSON.parse(readFileSync(GOLDEN, "utf8")) as [Page];
const open = SavedSource.open;

/** One for each run that the page asks for: lets it open, or fail. */
let waiting: { resolve(): void; reject(error: Error): void }[];

const place = () => document.querySelector(".aw-page-run")!;
const settled = () => vi.waitFor(() => expect(waiting).toHaveLength(2));
const later = () => new Promise((done) => setTimeout(done, 50));

beforeEach(async () => {
  vi.resetModules();
  waiting = [];
  vi.stubGlobal("Blob", NodeBlob); // jsdom's has no stream
  // The real frame draws, which jsdom cannot.
  vi.doMock("../src/frame/frame", () => ({
    createFrame: () => {
      const element = document.createElement("article");
      const show = () => element.append("drawn");
      return { element, show, dispose: () => element.replaceChildren() };
    },
  }));
  const runs = ["first", "second"].map((title) => ({ title, tokens: 5 }));
  const main = document.createElement("main");
  const index = document.createElement("script");
  index.type = "application/json";
  index.id = "aw-index";
  index.textContent = JSON.stringify({ layout: "report", runs });
  document.body.replaceChildren(main, index);
  history.replaceState(null, "", "#run=0");
  const { SavedSource: fresh } = await import("../src/protocol/saved/source");
  vi.spyOn(fresh, "open").mockImplementation(async () => {
    await new Promise<void>((resolve, reject) => {
      waiting.push({ resolve, reject });
    });
    return open((name) => page.chunks[name] ?? null);
  });
  await import("../src/standalone");
  location.hash = "#run=1";
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.doUnmock("../src/frame/frame");
  vi.unstubAllGlobals();
});

test("a report shows the text that was picked last, though an earlier one opens after it", async () => {
  await settled();
  waiting[1]!.resolve();
  await vi.waitFor(() => expect(place().childElementCount).toBe(1));
  expect(place().textContent).toBe("drawn");
  waiting[0]!.resolve();
  await later();
  expect(place().textContent).toBe("drawn");
});

test("a text that fails to open after another was picked says nothing", async () => {
  await settled();
  waiting[1]!.resolve();
  await vi.waitFor(() => expect(place().childElementCount).toBe(1));
  waiting[0]!.reject(new Error("broken"));
  await later();
  expect(place().textContent).toBe("drawn");
});
