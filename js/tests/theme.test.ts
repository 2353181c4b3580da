// @vitest-environment jsdom
/** The colors of a widget, read once for all pictures of a frame. */

import { expect, test, vi } from "vitest";
import { followTheme, holdPalette, palette, ROOT_CLASS } from "../src/draw/color/theme";

const frame = (): Promise<void> =>
  new Promise((done) => requestAnimationFrame(() => setTimeout(() => setTimeout(done))));

test("held colors are those of every picture until the frame is over, or the theme another", async () => {
  const media = { matches: false, addEventListener: () => undefined };
  vi.stubGlobal("matchMedia", () => media);
  const root = document.createElement("div");
  const view = document.createElement("div");
  root.className = ROOT_CLASS;
  root.append(view);
  document.body.append(root);
  let theme: "light" | "dark" = "light";
  const apply = followTheme(root, () => theme, new AbortController().signal);
  expect(palette(view)).not.toBe(palette(view));
  holdPalette(root);
  expect(palette(view)).toBe(palette(root));
  expect(palette(view).mode).toBe("light");
  theme = "dark";
  apply();
  expect(palette(view).mode).toBe("dark");
  holdPalette(root);
  expect(palette(view)).toBe(palette(root));
  await frame();
  expect(palette(view)).not.toBe(palette(view));
});
