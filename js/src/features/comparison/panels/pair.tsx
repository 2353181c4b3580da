/** A view of both runs, A next to B: the views are those of a run that stands alone. */

import { signal } from "@preact/signals-core";
import { createMatrix } from "../../../figures/matrix";
import { onAbort } from "../../../protocol/abort";
import { messageOf } from "../../../protocol/failure";
import { isLong } from "../../../protocol/meta";
import { mount } from "../../../ui/mount";
import { drawOf, VIEWS } from "../../../views";
import { createOverlay } from "../../../views/contract";
import type { Side } from "../data";
import { Note, type Panel, type PanelContext } from "./contract";

const SIDES = ["a", "b"] as const;

/** The panel that shows a view of both runs. */
export const pairOf =
  (name: string): Panel =>
  (element, context) => {
    const notes = { a: signal(""), b: signal("") };
    const host = document.createElement("div");
    host.className = "aw-compare-halves";
    element.append(host);
    mount(
      host,
      () =>
        SIDES.map((side) => (
          <section
            key={side}
            class="aw-compare-half"
            data-side={side}
            aria-label={side.toUpperCase()}
          >
            <h3 class="aw-title">
              {side.toUpperCase()} <bdi>{context.sources[side].meta.text}</bdi>
            </h3>
            {notes[side].value !== "" && <Note text={notes[side].value} />}
            <div class={`aw-view-${name}`} data-view={name} />
          </section>
        )),
      context.signal,
    );
    // In the page by now: a view measures the width that it has.
    SIDES.forEach((side, i) => {
      const place = host.children[i]?.lastElementChild as HTMLElement;
      drawHalf(place, name, side, context, (error) => {
        notes[side].value = messageOf(error);
      });
    });
  };

function drawHalf(
  place: HTMLElement,
  name: string,
  side: Side,
  { sources, states, signal: until }: PanelContext,
  report: (error: unknown) => void,
): void {
  const [source, state] = [sources[side], states[side]];
  const draw = drawOf(name, isLong(source.meta));
  if (draw === null || VIEWS[name]?.available(source.meta) !== true) {
    report(`${side.toUpperCase()} has nothing to show here.`);
    return;
  }
  try {
    const busy = (waiting: boolean) => place.setAttribute("aria-busy", String(waiting));
    const handle = draw(place, {
      source,
      state,
      act: null,
      report,
      announce: () => undefined,
      signal: until,
      matrix: createMatrix(source, state, { signal: until, report, busy }),
      overlay: createOverlay(),
    });
    onAbort(until, () => handle.dispose());
  } catch (error) {
    report(error);
  }
}
