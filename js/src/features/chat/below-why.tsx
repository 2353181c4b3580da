/** A part of the view Why for a chat: what each turn adds to what was written. */

import { computed } from "@preact/signals-core";
import { render } from "preact";
import { palette } from "../../draw/color/theme";
import { required } from "../../protocol/required";
import { shareOf, Task } from "../../protocol/task";
import { NoAnswer } from "../../ui/answered";
import { Button } from "../../ui/controls";
import { modeSignal, mount, selectionOf } from "../../ui/mount";
import type { ViewContext, ViewHandle } from "../../views/contract";
import { contributionsOf, REQUEST, type TurnContributions } from "./data";
import { turnsDrawing } from "./drawing";
import { TurnsPanel } from "./panel";
import { pictureOf } from "./rows";

/** Up to this many tokens of a chat, times those written, the panel is computed without a click. */
const QUICK = 4000;

export function belowWhy(
  place: HTMLElement,
  context: ViewContext,
): Pick<ViewHandle, "svg" | "part"> {
  const { source, state, signal: until, sections } = context;
  const { meta, live } = source;
  if (meta.chat === undefined || !sections || !(live || source.has?.(REQUEST))) return {};
  const n = meta.tokens.text.length;
  const task = new Task<TurnContributions | null>(
    async (step) => contributionsOf(await source.ask(REQUEST, step), sections, meta),
    until,
  );
  const start = () => void task.start();
  const selection = selectionOf(state, ["token"], until);
  const mode = modeSignal(place, until);
  const chosen = computed(() => {
    const { written = [] } = task.state.value.value ?? {};
    const focus = written.findIndex(({ position }) => position === selection.value.token);
    return Math.max(0, focus);
  });
  function choose(at: number): void {
    const { position } = required(task.state.peek().value?.written[at], "The written token");
    state.set({ token: position < n ? position : null });
  }

  function View() {
    const { status, value, failure } = task.state.value;
    const running = status === "running";
    const share = running ? shareOf(task.state.value) : null;
    return (
      <section class="aw-turns" data-aw-part="why-turns" aria-label="Turns and what was written">
        <h4>Turns and what was written</h4>
        {(status === "idle" || status === "stopped") && (
          <Button class="aw-link" part="turns-start" onClick={start}>
            What each turn adds to every written token
          </Button>
        )}
        {running && (
          <p class="aw-heads-waiting" role="status">
            Adding up the turns of every written token …
            {share !== null && ` ${Math.round(100 * share)}% `}
            <Button class="aw-link" onClick={() => task.stop()}>
              cancel
            </Button>
          </p>
        )}
        {failure !== null && <NoAnswer failure={failure} again={start} />}
        {value !== null && (
          <TurnsPanel found={value} chosen={chosen.value} choose={choose} mode={mode.value} />
        )}
      </section>
    );
  }
  mount(place, View, until);
  until.addEventListener("abort", () => render(null, place), { once: true });
  const count = meta.written === undefined ? 1 : n - meta.written;
  if (!live || n * count <= QUICK) start();
  return {
    part: (of) =>
      of === "svg"
        ? "The drawing shows what each turn adds to the logit of each written token."
        : null,
    svg() {
      const { value } = task.state.peek();
      return value === null ? null : turnsDrawing(pictureOf(value), palette(place));
    },
  };
}
