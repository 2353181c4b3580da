// @vitest-environment jsdom
import type { ComponentChild } from "preact";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { listenForKeys } from "../src/frame/keys";
import { History } from "../src/frame/lazy/history";
import { createMessages, createProgress } from "../src/frame/messages";
import { createRunBox } from "../src/frame/run-box";
import { explain, SliceFailure } from "../src/protocol/failure";
import type { Action, Activity, PastRun } from "../src/protocol/types";
import { mount } from "../src/ui/mount";
import { type LazyCode, lazyCode } from "../src/views/contract";
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
let stop: AbortController;
/** A part of the frame, drawn as the frame draws it. */
const draw = <P extends { View(): ComponentChild }>(made: P): P => {
  mount(root, () => made.View(), stop.signal);
  return made;
};
beforeEach(() => {
  stop = new AbortController();
  root = document.createElement("div");
  document.body.append(root);
});
afterEach(() => {
  lazyCode.value = null;
  stop.abort();
  root.remove();
});

describe("the run box", () => {
  let box: ReturnType<typeof createRunBox>;
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
    const report = (error: unknown): unknown => reported.push(explain(error).message);
    box = draw(createRunBox(root, report, () => undefined));
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
    const remedy = document.createElement("div");
    const offer = box.remedy("Shorten it, or pass truncation=True to read its beginning.")!;
    root.append(remedy);
    mount(remedy, offer, stop.signal);
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
    expect(part(root, "history-button").hidden).toBe(true);
    lazyCode.value = { History } as LazyCode;
    expect(part(root, "history-button").hidden).toBe(false);
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
    expect(part(root, "run").hidden).toBe(true);
  });
});

describe("the progress of a run", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("is not shown when the run is over soon", () => {
    const visible = vi.fn();
    const bar = createProgress(visible);
    draw(bar);
    bar.show(activity({ status: "running" }), null);
    vi.advanceTimersByTime(100);
    bar.show(activity(), null);
    vi.advanceTimersByTime(1000);
    expect(visible).not.toHaveBeenCalled();
    expect(part(root, "progress").hidden).toBe(true);
  });

  test("says what is done of what, to the eye and to a screen reader, and can be canceled", () => {
    const cancel = vi.fn();
    const bar = draw(createProgress(() => undefined));
    const progress = { label: "Layers", done: 3, total: 6 };
    bar.show(activity({ status: "running", progress }), cancel);
    vi.advanceTimersByTime(200);
    expect(part(root, "progress").hidden).toBe(false);
    expect(root.textContent).toContain("Layers3 / 6");
    const meter = root.querySelector('[role="progressbar"]')!;
    expect(meter.getAttribute("aria-valuenow")).toBe("3");
    expect(meter.getAttribute("aria-valuemax")).toBe("6");
    part(root, "cancel").click();
    expect(cancel).toHaveBeenCalledTimes(1);
    bar.show(activity(), null);
    expect(part(root, "progress").hidden).toBe(true);
  });

  test("claims no number that nobody counted", () => {
    const bar = draw(createProgress(() => undefined));
    bar.show(activity({ status: "loading" }), null);
    vi.advanceTimersByTime(200);
    const meter = root.querySelector('[role="progressbar"]')!;
    expect(meter.hasAttribute("aria-valuenow")).toBe(false);
    expect(part(root, "cancel").hidden).toBe(true);
  });
});

describe("messages", () => {
  test("say once that the kernel is gone, until it answers again", () => {
    const messages = draw(createMessages());
    const gone = new SliceFailure("The kernel is gone.", "Run the cell again.");
    messages.kernel.value = gone;
    messages.report(gone.message, gone.hint);
    expect(part(root, "kernel").textContent).toBe("The kernel is gone. Run the cell again.");
    expect(part(root, "error").hidden).toBe(true);
    messages.report("text is empty.");
    expect(part(root, "error").hidden).toBe(false);
    messages.kernel.value = null;
    expect(part(root, "kernel").hidden).toBe(true);
  });

  test("are text, whatever they hold", () => {
    const messages = draw(createMessages());
    messages.report("<b>no</b>", "<img src=x>");
    expect(root.querySelector("b, img")).toBeNull();
    expect(root.textContent).toContain("<b>no</b> <img src=x>");
  });
});

describe("keys that work everywhere", () => {
  test("open views by number and the list by ?, but are letters in a field", () => {
    const openView = vi.fn();
    const toggleKeys = vi.fn();
    const closeKeys = vi.fn(() => true);
    const nextPart = vi.fn(() => true);
    listenForKeys(root, { openView, toggleKeys, closeKeys, nextPart }, stop.signal);
    const button = root.appendChild(document.createElement("button"));
    const input = root.appendChild(document.createElement("textarea"));
    press(button, "3");
    press(button, "?");
    press(input, "4");
    press(input, "?");
    press(button, "5", { ctrlKey: true });
    press(button, "c");
    press(input, "c");
    expect(nextPart).toHaveBeenCalledTimes(1);
    expect(openView.mock.calls).toEqual([[2]]);
    expect(toggleKeys).toHaveBeenCalledTimes(1);
    press(input, "Escape");
    expect(closeKeys).not.toHaveBeenCalled();
    stop.abort();
    press(button, "1");
    expect(openView).toHaveBeenCalledTimes(1);
  });

  test("close the open list by Escape before any other use of it", () => {
    let open = true;
    const closeKeys = () => {
      const was = open;
      open = false;
      return was;
    };
    const others = { openView: vi.fn(), toggleKeys: vi.fn(), nextPart: () => false };
    listenForKeys(root, { ...others, closeKeys }, stop.signal);
    const button = root.appendChild(document.createElement("button"));
    const other = vi.fn();
    button.addEventListener("keydown", other);
    press(button, "Escape");
    expect(open).toBe(false);
    expect(other).not.toHaveBeenCalled();
    press(button, "Escape");
    expect(other).toHaveBeenCalledTimes(1);
  });
});
