// @vitest-environment jsdom

import { h, render } from "preact";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createPlayer } from "../src/frame/ribbon/player";

const STEP_MS = 500;
const N = 4;
const ended = new AbortController();

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("matchMedia", () => ({ matches: false }));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A player of a text of `N` tokens, which begins at token 1, and the token that it is at. */
function player(token: number) {
  const at = { token };
  const Player = createPlayer(
    {
      step(by) {
        const next = at.token + by;
        if (next < 0 || next >= N) return false;
        at.token = next;
        return true;
      },
      begin() {
        if (at.token === N - 1) at.token = 1;
      },
    },
    ended.signal,
  );
  const host = document.createElement("div");
  render(h(Player, {}), host);
  const play = host.querySelector<HTMLElement>("[aria-pressed]") as HTMLElement;
  return { at, play, plays: () => play.getAttribute("aria-pressed") === "true" };
}

test("the player goes to the end and stops; from the end it begins anew", () => {
  const { at, play, plays } = player(2);
  play.click();
  expect([at.token, plays()]).toEqual([2, true]);
  vi.advanceTimersByTime(STEP_MS);
  expect([at.token, plays()]).toEqual([3, true]);
  vi.advanceTimersByTime(STEP_MS);
  expect([at.token, plays()]).toEqual([3, false]);
  play.click();
  expect([at.token, plays()]).toEqual([1, true]);
  vi.advanceTimersByTime(STEP_MS);
  expect(at.token).toBe(2);
  play.click();
  vi.advanceTimersByTime(2 * STEP_MS);
  expect([at.token, plays()]).toEqual([2, false]);
});

test("two widgets of a page play apart", () => {
  const [first, second] = [player(0), player(0)];
  first.play.click();
  expect([first.plays(), second.plays()]).toEqual([true, false]);
  second.play.click();
  vi.advanceTimersByTime(STEP_MS);
  expect([first.at.token, second.at.token]).toEqual([1, 1]);
});
