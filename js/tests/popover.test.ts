// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it } from "vitest";
import { createPopover, type Popover } from "../src/draw/popover";

let host: HTMLElement;
let first: HTMLButtonElement;
let second: HTMLButtonElement;
let popover: Popover;

const panel = (): HTMLElement | null => host.querySelector("[role=dialog]");
const content = (): HTMLElement => {
  const link = document.createElement("button");
  link.textContent = "inside";
  return link;
};
const press = (target: Element, key: string): KeyboardEvent => {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
  target.dispatchEvent(event);
  return event;
};

beforeEach(() => {
  host = document.createElement("div");
  first = document.createElement("button");
  second = document.createElement("button");
  host.append(first, second);
  document.body.append(host);
  popover = createPopover(host);
});
afterEach(() => {
  popover.dispose();
  host.remove();
});

it("opens inside its host, takes the focus and says so", () => {
  popover.toggle(first, "Entropy", content());
  expect(panel()?.getAttribute("aria-label")).toBe("Entropy");
  expect(document.activeElement).toBe(panel());
  expect(first.getAttribute("aria-expanded")).toBe("true");
  expect(first.getAttribute("aria-controls")).toBe(panel()?.id);
});

it("is placed again when its content grows", async () => {
  const inside = content();
  popover.toggle(first, "Entropy", inside);
  const box = panel() as HTMLElement;
  host.getBoundingClientRect = () => new DOMRect(0, 0, 400, 300);
  first.getBoundingClientRect = () => new DOMRect(300, 10, 80, 20);
  Object.defineProperty(box, "offsetWidth", { value: 250 });
  inside.append("more");
  await Promise.resolve();
  expect(box.style.left).toBe("142px");
  expect(box.style.top).toBe("36px");
});

it("gives the focus back on Escape and keeps the key from the notebook", () => {
  popover.toggle(first, "Entropy", content());
  let heard = false;
  const hear = (): void => {
    heard = true;
  };
  document.addEventListener("keydown", hear);
  const event = press(panel() as HTMLElement, "Escape");
  document.removeEventListener("keydown", hear);
  expect(panel()).toBeNull();
  expect(document.activeElement).toBe(first);
  expect(first.getAttribute("aria-expanded")).toBe("false");
  expect(event.defaultPrevented).toBe(true);
  expect(heard).toBe(false);
});

it("stays open at every other key, and is no stop for Tab itself", () => {
  popover.toggle(first, "Entropy", content());
  for (const key of ["a", "Enter", "Tab"]) {
    expect(press(panel() as HTMLElement, key).defaultPrevented).toBe(false);
  }
  expect(panel()?.tabIndex).toBe(-1);
});

it("closes on a click elsewhere, not on one inside", () => {
  popover.toggle(first, "Entropy", content());
  panel()
    ?.querySelector("button")
    ?.dispatchEvent(new Event("pointerdown", { bubbles: true, composed: true }));
  expect(panel()).not.toBeNull();
  document.body.dispatchEvent(new Event("pointerdown", { bubbles: true, composed: true }));
  expect(panel()).toBeNull();
});

it("closes when the focus moves on, and leaves it there", () => {
  popover.toggle(first, "Entropy", content());
  second.focus();
  expect(panel()).toBeNull();
  expect(document.activeElement).toBe(second);
});

it("is one at a time, and a second choice of its anchor closes it", () => {
  popover.toggle(first, "one", content());
  popover.toggle(second, "two", content());
  expect(host.querySelectorAll("[role=dialog]")).toHaveLength(1);
  expect(popover.anchor).toBe(second);
  popover.toggle(second, "two", content());
  expect(panel()).toBeNull();
  expect(document.activeElement).toBe(second);
});

it("stays inside its host, which grows where it is too low", () => {
  const box = (left: number, top: number, width: number, height: number): DOMRect =>
    new DOMRect(left, top, width, height);
  host.getBoundingClientRect = () => box(100, 100, 300, 120);
  first.getBoundingClientRect = () => box(380, 200, 20, 20);
  const sizes = { offsetWidth: 200, offsetHeight: 250 };
  for (const [name, value] of Object.entries(sizes)) {
    Object.defineProperty(HTMLElement.prototype, name, { configurable: true, get: () => value });
  }
  popover.toggle(first, "Entropy", content());
  for (const name of Object.keys(sizes)) Reflect.deleteProperty(HTMLElement.prototype, name);
  const { left, top } = (panel() as HTMLElement).style;
  expect(Number.parseInt(left, 10) + 200).toBeLessThanOrEqual(300);
  expect(Number.parseInt(top, 10)).toBeGreaterThanOrEqual(0);
  expect(Number.parseInt(host.style.minHeight, 10)).toBeGreaterThanOrEqual(
    Number.parseInt(top, 10) + 250,
  );
  popover.close();
  expect(host.style.minHeight).toBe("");
});
