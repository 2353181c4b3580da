/** The text itself, word by word: real text, one button a unit, painted with the focus token's row. */

import type { Unit } from "../derive/units";
import { h, setAttributes, step } from "../draw/dom";
import { exact, formatNumber, visible } from "../draw/format";
import { inkOn, ramp } from "../draw/ramp";
import { rampIndex } from "../draw/scale";
import { modeOf, onTheme } from "../draw/theme";
import type { Matrix, Stage } from "../matrix";
import { schemeOf, unitLabel } from "../names";

const SEGMENT_NAMES = ["A", "B"];

export function ribbon(element: HTMLElement, stage: Stage): () => void {
  const { source, state, signal, matrix } = stage;
  const { tokens } = source.meta;
  const scheme = schemeOf(tokens);
  const paired = source.meta.text_pair !== null;
  const line = h("div", {
    class: "aw-ribbon-line",
    role: "group",
    "aria-label": "Tokens: choose the focus token (query row)",
  });
  element.append(line);
  let units: readonly Unit[] = [];
  let buttons: HTMLButtonElement[] = [];
  let shownUnits = "";

  function build(next: Matrix): void {
    const key = next.units.map(({ token, end }) => `${token}-${end}`).join();
    if (key === shownUnits) return;
    shownUnits = key;
    units = next.units;
    const nodes: Node[] = [];
    let segment = -1;
    buttons = units.map((unit, i) => {
      const before = tokens.before[unit.token]!;
      if (paired && unit.segment !== segment && !unit.special) {
        segment = unit.segment;
        const name = SEGMENT_NAMES[segment] ?? String(segment);
        nodes.push(h("span", { class: "aw-segment", "aria-label": `Segment ${name}` }, name));
      }
      const button = h(
        "button",
        {
          type: "button",
          class: `aw-ribbon-token${unit.special ? " aw-special" : ""}`,
          "data-token": unit.token,
          "data-aw-segment": unit.segment,
          tabindex: -1,
        },
        h("bdi", {}, visible(unit.special ? unit.text : unit.surface)),
      );
      if (/[\n\r]/.test(before) && i > 0) nodes.push(h("span", { class: "aw-ribbon-break" }));
      // Pieces of one word stand together; what the text separates, the ribbon separates.
      else if (i > 0 && (/\s/.test(before) || unit.special || units[i - 1]!.special)) {
        nodes.push(document.createTextNode(" "));
      } else if (i > 0) nodes.push(h("wbr"));
      nodes.push(button);
      return button;
    });
    line.replaceChildren(...nodes);
  }

  function paint(): void {
    const shown = matrix.get();
    if (shown === null) return;
    build(shown);
    const { token, scale, pair } = state.get();
    const focus = shown.unitOf(token);
    const paired = pair === null ? -1 : shown.unitOf(pair[1]);
    const { css, rgb } = ramp("weight", modeOf(element));
    buttons.forEach((button, i) => {
      const weight = focus < 0 ? null : shown.weights[focus * shown.size + i]!;
      const name = unitLabel(units[i]!, scheme);
      if (weight === null) {
        button.style.background = "";
        button.style.color = "";
      } else {
        const index = rampIndex(weight, shown.max, scale);
        button.style.background = css[index]!;
        button.style.color = inkOn(rgb[index]!);
      }
      setAttributes(button, {
        "aria-pressed": String(i === focus),
        "data-aw-pair": i === paired,
        tabindex: i === Math.max(focus, 0) ? 0 : -1,
        "aria-label":
          weight === null ? name : `${name}, weight ${formatNumber(weight)}${i === focus ? ", focus" : ""}`,
        title:
          `${name}   position ${units[i]!.token}, id ${tokens.id[units[i]!.token]}` +
          (weight === null ? "" : `\nreceives ${formatNumber(weight)} of the focus token`),
        "data-aw-value": weight === null ? null : exact(weight),
      });
    });
  }

  function focusUnit(index: number): void {
    state.set({ token: units[index]!.token });
    buttons[index]!.focus({ preventScroll: true });
    buttons[index]!.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  line.addEventListener(
    "click",
    (event) => {
      const button = (event.target as Element).closest<HTMLButtonElement>(".aw-ribbon-token");
      if (button === null) return;
      const token = Number(button.dataset.token);
      state.set({ token: state.get().token === token ? null : token });
      button.focus({ preventScroll: true });
    },
    { signal },
  );
  line.addEventListener(
    "keydown",
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
      const index = buttons.indexOf(event.target as HTMLButtonElement);
      if (index < 0) return;
      const next = step(event.key, index, buttons.length);
      if (next !== null) focusUnit(next);
      else if (event.key === "Escape") state.set({ token: null });
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
    { signal },
  );

  const stops = [matrix.on(paint), state.on(["token", "scale", "pair"], paint)];
  onTheme(element, paint, signal);
  return () => {
    for (const stop of stops) stop();
    element.replaceChildren();
  };
}
