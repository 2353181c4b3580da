// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { listenForKeys } from "../src/frame/keys";
import { createMessages } from "../src/frame/messages";
import { createProgress } from "../src/frame/progress";
import { createRunBox, type RunBox } from "../src/frame/run-box";
import { SliceFailure } from "../src/protocol/failure";
import type { Action, Activity, PastRun } from "../src/protocol/types";
import { metaOf } from "./runs";

const press = (target: Element, key: string, more: KeyboardEventInit = {}): boolean =>
  target.dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }),
  );
const activity = (change: Partial<Activity> = {}): Activity => ({
  status: "ready",
  progress: null,
  history: [],
  error: null,
  ...change,
});
const part = (root: ParentNode, name: string): HTMLElement =>
  root.querySelector<HTMLElement>(`[data-aw-part="${name}"]`)!;

let root: HTMLElement;
beforeEach(() => {
  root = document.createElement("div");
  document.body.append(root);
});
afterEach(() => root.remove());

describe("the run box", () => {
  let box: RunBox;
  let asked: Action[];
  let reported: string[];
  const TEXTS = ["[CLS]", "the", "cat", "[SEP]"];
  const act = async (action: Action): Promise<void> => {
    asked.push(action);
  };
  const field = (): HTMLTextAreaElement => part(root, "run-text") as HTMLTextAreaElement;
  function type(text: string): void {
    field().value = text;
    field().dispatchEvent(new Event("input"));
  }

  beforeEach(() => {
    asked = [];
    reported = [];
    box = createRunBox({
      root,
      report: (message) => reported.push(message),
      clearReport: () => undefined,
    });
    root.append(box.element);
    box.show(metaOf(TEXTS), act);
  });
  afterEach(() => box.dispose());

  test("holds the text that is shown", () => {
    expect(field().value).toBe("the cat");
    expect(part(root, "run-pair").closest<HTMLElement>(".aw-run-row")!.hidden).toBe(true);
  });

  test("runs one line on Enter, and several on Ctrl + Enter only", () => {
    type("a dog");
    press(field(), "Enter");
    type("a dog\nand a cat");
    press(field(), "Enter");
    press(field(), "Enter", { ctrlKey: true });
    expect(asked).toEqual([
      { kind: "run", text: "a dog", text_pair: null },
      { kind: "run", text: "a dog\nand a cat", text_pair: null },
    ]);
  });

  test("leaves Shift + Enter and the Enter of an input method to the field", () => {
    type("a dog");
    expect(press(field(), "Enter", { shiftKey: true })).toBe(true);
    expect(press(field(), "Enter", { isComposing: true })).toBe(true);
    expect(asked).toEqual([]);
  });

  test("gives back the text that is shown on Escape", () => {
    type("a dog");
    press(field(), "Escape");
    expect(field().value).toBe("the cat");
  });

  test("runs a pair, and one text again when the second is taken away", () => {
    part(root, "pair-button").click();
    (part(root, "run-pair") as HTMLTextAreaElement).value = "it purrs";
    part(root, "run-button").click();
    part(root, "unpair-button").click();
    part(root, "run-button").click();
    expect(asked.map((action) => "text_pair" in action && action.text_pair)).toEqual([
      "it purrs",
      null,
    ]);
  });

  test("keeps what was typed while the run was on its way, and shows what ran otherwise", () => {
    type("a dog");
    press(field(), "Enter");
    box.show(metaOf(["[CLS]", "a", "dog", "[SEP]"]), act);
    expect(field().value).toBe("a dog");
    type("a bird");
    box.show(metaOf(TEXTS), act);
    expect(field().value).toBe("a bird");
  });

  test("keeps the typed text when the kernel refuses it, and says why", async () => {
    box.show(metaOf(TEXTS), () => Promise.reject(new SliceFailure("text is empty.")));
    type("  ");
    press(field(), "Enter");
    await Promise.resolve();
    await Promise.resolve();
    expect(reported).toEqual(["text is empty."]);
    expect(field().value).toBe("  ");
  });

  test("offers to cut a text only where that helps, and asks for it only then", () => {
    expect(box.remedy("Type at least one word.")).toBeNull();
    const remedy = box.remedy("Shorten it, or pass truncation=True to read its beginning.")!;
    root.append(remedy);
    part(remedy, "run-cut").click();
    remedy.querySelector("input")!.click();
    part(remedy, "run-cut").click();
    expect(asked).toEqual([
      { kind: "run", text: "the cat", text_pair: null },
      { kind: "run", text: "the cat", text_pair: null, truncation: true },
    ]);
  });

  test("runs an earlier text again, chosen by arrow keys", () => {
    const history: PastRun[] = [
      { text: "the cat", text_pair: null },
      { text: "one", text_pair: "two" },
    ];
    box.activity(activity({ history }));
    part(root, "history-button").click();
    const [shown, earlier] = part(root, "history").querySelectorAll("button");
    expect(shown!.hasAttribute("aria-current")).toBe(true);
    press(shown!, "ArrowDown");
    expect(document.activeElement).toBe(earlier);
    earlier!.click();
    expect(asked).toEqual([{ kind: "run", text: "one", text_pair: "two" }]);
    expect(field().value).toBe("one");
  });

  test("is not there where nothing can run", () => {
    box.show(metaOf(TEXTS), null);
    expect(box.element.hidden).toBe(true);
  });
});

describe("the progress of a run", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("is not shown when the run is over soon", () => {
    const visible = vi.fn();
    const bar = createProgress(visible);
    bar.show(activity({ status: "running" }), null);
    vi.advanceTimersByTime(100);
    bar.show(activity(), null);
    vi.advanceTimersByTime(1000);
    expect(visible).not.toHaveBeenCalled();
    expect(bar.element.hidden).toBe(true);
  });

  test("says what is done of what, to the eye and to a screen reader, and can be canceled", () => {
    const cancel = vi.fn();
    const bar = createProgress(() => undefined);
    const progress = { label: "Layers", done: 3, total: 6 };
    bar.show(activity({ status: "running", progress }), cancel);
    vi.advanceTimersByTime(200);
    expect(bar.element.hidden).toBe(false);
    expect(bar.element.textContent).toContain("Layers3 / 6");
    const meter = bar.element.querySelector('[role="progressbar"]')!;
    expect(meter.getAttribute("aria-valuenow")).toBe("3");
    expect(meter.getAttribute("aria-valuemax")).toBe("6");
    part(bar.element, "cancel").click();
    expect(cancel).toHaveBeenCalledTimes(1);
    bar.show(activity(), null);
    expect(bar.element.hidden).toBe(true);
  });

  test("claims no number that nobody counted", () => {
    const bar = createProgress(() => undefined);
    bar.show(activity({ status: "loading" }), null);
    vi.advanceTimersByTime(200);
    const meter = bar.element.querySelector('[role="progressbar"]')!;
    expect(meter.hasAttribute("aria-valuenow")).toBe(false);
    expect(part(bar.element, "cancel").hidden).toBe(true);
  });
});

describe("messages", () => {
  test("say once that the kernel is gone, until it answers again", () => {
    const messages = createMessages();
    const gone = new SliceFailure("The kernel is gone.", "Run the cell again.");
    messages.kernel(gone);
    messages.report(gone.message, gone.hint);
    expect(part(messages.element, "kernel").textContent).toBe(
      "The kernel is gone. Run the cell again.",
    );
    expect(part(messages.element, "error").hidden).toBe(true);
    messages.report("text is empty.");
    expect(part(messages.element, "error").hidden).toBe(false);
    messages.kernel(null);
    expect(part(messages.element, "kernel").hidden).toBe(true);
  });

  test("are text, whatever they hold", () => {
    const messages = createMessages();
    messages.report("<b>no</b>", "<img src=x>");
    expect(messages.element.querySelector("b, img")).toBeNull();
    expect(messages.element.textContent).toContain("<b>no</b> <img src=x>");
  });
});

describe("keys that work everywhere", () => {
  test("open views by number and the list by ?, but are letters in a field", () => {
    const stop = new AbortController();
    const openView = vi.fn();
    const toggleKeys = vi.fn();
    listenForKeys(root, { openView, toggleKeys }, stop.signal);
    const button = root.appendChild(document.createElement("button"));
    const input = root.appendChild(document.createElement("textarea"));
    press(button, "3");
    press(button, "?");
    press(input, "4");
    press(input, "?");
    press(button, "5", { ctrlKey: true });
    expect(openView.mock.calls).toEqual([[2]]);
    expect(toggleKeys).toHaveBeenCalledTimes(1);
    stop.abort();
    press(button, "1");
    expect(openView).toHaveBeenCalledTimes(1);
  });
});
