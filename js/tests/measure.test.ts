/** Widths of what a tree writes. */

// @vitest-environment jsdom
import { afterEach, expect, test, vi } from "vitest";
import { createRuler } from "../src/draw/measure";

afterEach(() => vi.restoreAllMocks());

test("are of the font that the element has once it stands in the page", () => {
  // A canvas as browsers have it: a font that it cannot read leaves the one before.
  const pen = {
    of: "10px sans-serif",
    get font() {
      return this.of;
    },
    set font(text: string) {
      if (/px \S/.test(text)) this.of = text;
    },
    measureText(text: string) {
      return { width: text.length * Number(/(\d+)px/.exec(this.of)?.[1]) };
    },
  };
  vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockReturnValue(pen as never);
  const computed = window.getComputedStyle.bind(window);
  vi.spyOn(window, "getComputedStyle").mockImplementation((element) =>
    element.isConnected
      ? Object.assign(computed(element), { fontFamily: "Test" })
      : ({ color: "", fontFamily: "" } as CSSStyleDeclaration),
  );
  const element = document.createElement("div");
  const ruler = createRuler(element);
  document.body.append(element);
  expect(ruler.width("trophy", 13, 600)).toBe(6 * 13);
  expect(pen.of).toBe("600 13px Test");
});
