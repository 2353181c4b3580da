// @vitest-environment jsdom
import { h } from "preact";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { asking } from "../src/protocol/asking";
import { explain, SliceFailure } from "../src/protocol/failure";
import { Answered } from "../src/ui/answered";
import { mount } from "../src/ui/mount";

let element: HTMLElement;
let life: AbortController;
beforeEach(() => {
  vi.useFakeTimers();
  element = document.createElement("div");
  life = new AbortController();
});
afterEach(() => {
  life.abort();
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

/** A part whose content is the answer to a question, and the reports of failures. */
function draw(question: () => Promise<string>): string[] {
  const reports: string[] = [];
  const asked = asking<string>(life.signal, (error) => reports.push(explain(error).message));
  const again = (): void => void asked.ask(question);
  mount(
    element,
    () =>
      h(Answered, {
        ...{ asked, class: "part", waiting: "Wait", again },
        children: asked.answer.value,
      }),
    life.signal,
  );
  again();
  return reports;
}
const isBusy = (): boolean => element.querySelector("[aria-busy=true]") !== null;

it("says nothing about a short wait", async () => {
  draw(() => after(100, () => "there"));
  await vi.advanceTimersByTimeAsync(99);
  expect([isBusy(), element.textContent]).toEqual([false, ""]);
  await vi.advanceTimersByTimeAsync(200);
  expect([isBusy(), element.textContent]).toEqual([false, "there"]);
});

it("says that it waits, and takes it back with the answer", async () => {
  draw(() => after(3000, () => "there"));
  await vi.advanceTimersByTimeAsync(150);
  expect([isBusy(), element.textContent]).toEqual([true, "Wait"]);
  await vi.advanceTimersByTimeAsync(3000);
  expect([isBusy(), element.textContent]).toEqual([false, "there"]);
});

it("says why there is no answer and asks again on request", async () => {
  let tries = 0;
  const reports = draw(() =>
    after(10, () => {
      tries++;
      if (tries === 1) throw new SliceFailure("The kernel is gone.", "Run the cell again.");
      return "there";
    }),
  );
  await vi.advanceTimersByTimeAsync(20);
  expect(element.textContent).toBe("The kernel is gone.Run the cell again.Ask again");
  expect(reports).toEqual(["The kernel is gone."]);
  element.querySelector("button")?.click();
  await vi.advanceTimersByTimeAsync(20);
  expect(element.textContent).toBe("there");
  expect(element.querySelector(".is-absent")).toBeNull();
});

it("leaves a part alone that is gone before the answer", async () => {
  const reports = draw(() => after(50, () => "there"));
  life.abort();
  await vi.advanceTimersByTimeAsync(100);
  expect([element.textContent, reports]).toEqual(["", []]);
});

it("offers no second try of what would fail again", async () => {
  draw(() => Promise.reject(new SliceFailure("Not here.", "", true)));
  await vi.advanceTimersByTimeAsync(0);
  expect(element.textContent).toBe("Not here.");
  expect(element.querySelector("button")).toBeNull();
});
