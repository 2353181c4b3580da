// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { fillWhenAnswered } from "../src/draw/wait";
import { SliceFailure } from "../src/protocol/failure";

let element: HTMLElement;
beforeEach(() => {
  vi.useFakeTimers();
  element = document.createElement("div");
});
afterEach(() => {
  vi.useRealTimers();
});

const after = <T>(ms: number, answer: () => T): Promise<T> =>
  new Promise((resolve, reject) => {
    setTimeout(() => {
      try {
        resolve(answer());
      } catch (error) {
        reject(error);
      }
    }, ms);
  });
const fill = (answer: string): void => element.append(answer);
const { signal } = new AbortController();

it("says nothing about a short wait", async () => {
  const done = fillWhenAnswered(element, {
    waiting: "Wait",
    ask: () => after(100, () => "there"),
    fill,
    signal,
  });
  await vi.advanceTimersByTimeAsync(99);
  expect(element.hasAttribute("aria-busy")).toBe(false);
  await vi.advanceTimersByTimeAsync(200);
  await done;
  expect(element.textContent).toBe("there");
});

it("says that it waits, and takes it back with the answer", async () => {
  void fillWhenAnswered(element, {
    waiting: "Wait",
    ask: () => after(3000, () => "there"),
    fill,
    signal,
  });
  await vi.advanceTimersByTimeAsync(150);
  expect(element.getAttribute("aria-busy")).toBe("true");
  expect(element.textContent).toBe("Wait");
  await vi.advanceTimersByTimeAsync(3000);
  expect(element.hasAttribute("aria-busy")).toBe(false);
  expect(element.textContent).toBe("there");
});

it("says why there is no answer and asks again on request", async () => {
  let tries = 0;
  const ask = (): Promise<string> =>
    after(10, () => {
      tries++;
      if (tries === 1) throw new SliceFailure("The kernel is gone.", "Run the cell again.");
      return "there";
    });
  void fillWhenAnswered(element, { waiting: "Wait", ask, fill, signal });
  await vi.advanceTimersByTimeAsync(20);
  expect(element.textContent).toBe("The kernel is gone.Run the cell again.Ask again");
  element.querySelector("button")?.click();
  await vi.advanceTimersByTimeAsync(20);
  expect(element.textContent).toBe("there");
  expect(element.classList.contains("is-absent")).toBe(false);
});

it("leaves a part alone that is gone before the answer", async () => {
  const life = new AbortController();
  void fillWhenAnswered(element, {
    waiting: "Wait",
    ask: () => after(50, () => "there"),
    fill,
    signal: life.signal,
  });
  life.abort();
  await vi.advanceTimersByTimeAsync(100);
  expect(element.textContent).toBe("");
});

it("offers no second try of what would fail again", async () => {
  const ask = (): Promise<string> => Promise.reject(new SliceFailure("Not here.", "", true));
  await fillWhenAnswered(element, { waiting: "Wait", ask, fill, signal });
  expect(element.textContent).toBe("Not here.");
  expect(element.querySelector("button")).toBeNull();
});
