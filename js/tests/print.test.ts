// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { measureNow, onResize } from "../src/draw/resize";
import { pointByTouch, tapTwice } from "../src/draw/touch";
import { showUnseen, whenSeen } from "../src/draw/wait";
import { breakTable } from "../src/export/print";

/** A table with a heading over groups of columns: 1 + 2 + 3 columns. */
function wide(): HTMLTableElement {
  const table = document.createElement("table");
  const row = (...cells: readonly (readonly [string, number])[]): HTMLTableRowElement => {
    const made = document.createElement("tr");
    for (const [text, span] of cells) {
      const cell = document.createElement("td");
      cell.textContent = text;
      cell.colSpan = span;
      made.append(cell);
    }
    return made;
  };
  table.append(
    row(["", 1], ["first", 2], ["second", 3]),
    row(["head", 1], ["a", 1], ["b", 1], ["c", 1], ["d", 1], ["e", 1]),
    row(["L0", 1], ["1", 1], ["2", 1], ["3", 1], ["4", 1], ["5", 1]),
  );
  document.body.append(table);
  return table;
}

const rowsOf = (table: HTMLTableElement): string[] =>
  [...table.rows].map(({ cells }) =>
    [...cells].map((cell) => `${cell.textContent}:${cell.colSpan}`).join(" "),
  );

beforeEach(() => document.body.replaceChildren());

describe("a table that is too wide for paper", () => {
  test("is broken into parts with the first column each, and put back", () => {
    const table = wide();
    const restore = breakTable(table);
    expect(table.hidden).toBe(true);
    const parts = [...document.querySelectorAll("table")].slice(1);
    expect(parts.map(rowsOf)).toEqual([
      [":1 first:2 second:1", "head:1 a:1 b:1 c:1", "L0:1 1:1 2:1 3:1"],
      [":1 second:2", "head:1 d:1 e:1", "L0:1 4:1 5:1"],
    ]);
    restore();
    expect(table.hidden).toBe(false);
    expect(document.querySelectorAll("table")).toHaveLength(1);
  });
});

describe("drawing without a frame", () => {
  beforeEach(() => {
    vi.stubGlobal(
      "ResizeObserver",
      class {
        observe(): void {}
        disconnect(): void {}
      },
    );
  });
  afterEach(() => vi.unstubAllGlobals());

  test("what has another width is drawn at once, and only within the widget that prints", () => {
    const [mine, other] = [document.createElement("div"), document.createElement("div")];
    const inner = document.createElement("p");
    mine.append(inner);
    document.body.append(mine, other);
    for (const element of [inner, other]) {
      Object.defineProperty(element, "clientWidth", { value: 700, configurable: true });
      element.style.padding = "0 10px";
    }
    const life = new AbortController();
    const [draw, drawOther] = [vi.fn(), vi.fn()];
    onResize(inner, draw, life.signal);
    onResize(other, drawOther, life.signal);
    measureNow(mine);
    expect(draw.mock.calls).toEqual([[680]]);
    measureNow(mine);
    expect(draw).toHaveBeenCalledTimes(1);
    expect(drawOther).not.toHaveBeenCalled();
    life.abort();
    Object.defineProperty(inner, "clientWidth", { value: 400, configurable: true });
    measureNow(mine);
    expect(draw).toHaveBeenCalledTimes(1);
  });

  test("what waits to be seen is drawn for paper, once", () => {
    vi.stubGlobal(
      "IntersectionObserver",
      class {
        observe(): void {}
        disconnect(): void {}
      },
    );
    const life = new AbortController();
    const draw = vi.fn();
    whenSeen(document.body, draw, life.signal);
    showUnseen(document.createElement("div"));
    expect(draw).not.toHaveBeenCalled();
    showUnseen(document.documentElement);
    showUnseen(document.documentElement);
    expect(draw).toHaveBeenCalledTimes(1);
  });
});

describe("a finger", () => {
  const pointer = (type: string, pointerType: string, more: object = {}): Event =>
    Object.assign(new MouseEvent(type, { bubbles: type !== "pointerleave", ...more }), {
      pointerType,
    });

  beforeEach(() => {
    // jsdom has none.
    vi.stubGlobal("PointerEvent", MouseEvent);
  });
  afterEach(() => vi.unstubAllGlobals());

  test("points where it touches, and what it points at stays until the next touch", () => {
    const life = new AbortController();
    const [root, cell, other] = ["div", "i", "b"].map((tag) => document.createElement(tag));
    root!.append(cell!, other!);
    document.body.append(root!);
    pointByTouch(root!, life.signal);
    const heard: string[] = [];
    for (const type of ["pointermove", "pointerleave"]) {
      cell!.addEventListener(type, () => heard.push(type));
    }
    cell!.dispatchEvent(pointer("pointerdown", "touch"));
    cell!.dispatchEvent(pointer("pointerleave", "touch"));
    expect(heard).toEqual(["pointermove"]);
    other!.dispatchEvent(pointer("pointerdown", "touch"));
    expect(heard).toEqual(["pointermove", "pointerleave"]);
    // A mouse is left alone.
    cell!.dispatchEvent(pointer("pointerdown", "mouse"));
    cell!.dispatchEvent(pointer("pointerleave", "mouse"));
    expect(heard).toEqual(["pointermove", "pointerleave", "pointerleave"]);
    life.abort();
  });

  test("that rests clicks, with Ctrl where a tap would click at once", () => {
    vi.useFakeTimers();
    const life = new AbortController();
    const [cell, word] = [document.createElement("i"), document.createElement("b")];
    const clicks: boolean[] = [];
    for (const element of [cell, word]) {
      element.addEventListener("click", ({ ctrlKey }) => clicks.push(ctrlKey));
      document.body.append(element);
    }
    tapTwice(cell, () => "3 4", life.signal);
    tapTwice(word, () => null, life.signal);
    cell.dispatchEvent(pointer("pointerdown", "touch"));
    vi.advanceTimersByTime(600);
    expect(clicks).toEqual([false]);
    word.dispatchEvent(pointer("pointerdown", "touch"));
    vi.advanceTimersByTime(600);
    expect(clicks).toEqual([false, true]);
    // One that moves scrolls.
    word.dispatchEvent(pointer("pointerdown", "touch"));
    word.dispatchEvent(pointer("pointermove", "touch", { clientX: 40 }));
    vi.advanceTimersByTime(600);
    expect(clicks).toHaveLength(2);
    life.abort();
    vi.useRealTimers();
  });
});
