/** The text itself, word by word: real text, one button a unit, painted with the focus token's row. */

import type { Unit } from "../derive/units";
import { h, setAttributes, step } from "../draw/dom";
import { exact, formatNumber, visible } from "../draw/format";
import { onResize } from "../draw/gauge";
import { inkOn, ramp } from "../draw/ramp";
import { rampIndex } from "../draw/scale";
import { modeOf, onTheme } from "../draw/theme";
import type { Matrix, Stage } from "../matrix";
import { schemeOf, unitLabel } from "../names";

/** Height of a line of the ribbon (px): the last one in sight is faded. */
const LINE = 28;
const SEGMENT_NAMES = ["A", "B"];

/** Right to left when the first letter with a direction says so (Unicode Bidirectional Algorithm, P2). */
export function directionOf(text: string): "ltr" | "rtl" {
  const letter = /\p{L}/u.exec(text)?.[0] ?? "";
  return /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u.test(
    letter,
  )
    ? "rtl"
    : "ltr";
}

export function ribbon(element: HTMLElement, stage: Stage): () => void {
  const { source, state, signal, matrix } = stage;
  const { tokens } = source.meta;
  const scheme = schemeOf(tokens);
  const paired = source.meta.text_pair !== null;
  const line = h("div", {
    class: "aw-ribbon-line",
    role: "group",
    "aria-label": "Tokens: choose the focus token (query row)",
    dir: directionOf(source.meta.text ?? ""),
  });
  element.append(line);
  let units: readonly Unit[] = [];
  let buttons: HTMLElement[] = [];
  /** What is painted, so that only what changes is touched. */
  let colors: string[] = [];
  let built: readonly Unit[] | null = null;

  function build(next: Matrix): void {
    if (next.units === built) return;
    built = next.units;
    colors = [];
    marked = [];
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
      // Inline text, not a button element: a word of several pieces keeps its direction and its joins.
      const button = h(
        "span",
        {
          role: "button",
          class: `aw-ribbon-token${unit.special ? " aw-special" : ""}`,
          "data-token": unit.token,
          "data-aw-segment": unit.segment,
          "aria-pressed": "false",
          tabindex: -1,
        },
        visible(unit.special ? unit.text : unit.surface),
      );
      if (/[\n\r]/.test(before) && i > 0) nodes.push(h("span", { class: "aw-ribbon-break" }));
      else if (i > 0) {
        // What the text separates, the ribbon separates; pieces of one word stand together.
        const apart = /\s/.test(before) || unit.special || units[i - 1]!.special;
        nodes.push(apart ? document.createTextNode(" ") : h("wbr"));
      }
      nodes.push(button);
      return button;
    });
    line.replaceChildren(...nodes);
    requestAnimationFrame(settle);
  }

  function paint(): void {
    const shown = matrix.get();
    if (shown === null) return;
    build(shown);
    const { token, scale } = state.get();
    const focus = shown.unitOf(token);
    const { css, rgb } = ramp("weight", modeOf(element));
    buttons.forEach((button, i) => {
      const weight = focus < 0 ? null : shown.weights[focus * shown.size + i]!;
      const index = weight === null ? null : rampIndex(weight, shown.max, scale);
      const color = index === null ? "" : css[index]!;
      if (weight === null) delete button.dataset.awValue;
      else button.dataset.awValue = exact(weight);
      if (colors[i] === color) return;
      colors[i] = color;
      button.style.background = color;
      button.style.color = index === null ? "" : inkOn(rgb[index]!);
    });
    mark(shown);
  }

  let marked: HTMLElement[] = [];
  /** Focus token, pinned key, and where Tab enters. */
  function mark(shown: Matrix): void {
    const { token, pair } = state.get();
    const focus = shown.unitOf(token);
    const key = pair === null ? -1 : shown.unitOf(pair[1]);
    for (const button of marked) {
      setAttributes(button, { "aria-pressed": "false", "data-aw-pair": null, tabindex: -1 });
    }
    marked = [focus, key, 0].flatMap((i) => buttons[i] ?? []);
    if (focus >= 0) setAttributes(buttons[focus]!, { "aria-pressed": "true" });
    if (key >= 0) setAttributes(buttons[key]!, { "data-aw-pair": true });
    const entry = buttons[Math.max(focus, 0)];
    if (entry !== undefined) entry.tabIndex = 0;
  }

  /** After layout: whether there is more text below, and the focus token in sight. */
  function settle(): void {
    line.classList.toggle("aw-long", line.scrollHeight > line.clientHeight + 4);
    const focus = matrix.get()?.unitOf(state.get().token) ?? -1;
    if (focus >= 0) reveal(buttons[focus]!);
  }

  /** Scroll the ribbon, and never the page, to a token. */
  function reveal(button: HTMLElement): void {
    const [box, frame] = [button.getBoundingClientRect(), line.getBoundingClientRect()];
    if (box.top < frame.top) line.scrollTop += box.top - frame.top;
    else if (box.bottom > frame.bottom - LINE) line.scrollTop += box.bottom - frame.bottom + LINE;
  }

  /** Names and titles are written when somebody comes to read them: hundreds at every head would be slow. */
  function describe(event: Event): void {
    const index = buttons.indexOf(event.target as HTMLElement);
    const shown = matrix.get();
    if (index < 0 || shown === null) return;
    const unit = units[index]!;
    const name = unitLabel(unit, scheme);
    const focus = shown.unitOf(state.get().token);
    const value = focus < 0 ? null : formatNumber(shown.weights[focus * shown.size + index]!);
    setAttributes(buttons[index]!, {
      "aria-label":
        value === null ? name : `${name}, weight ${value}${index === focus ? ", focus" : ""}`,
      title:
        `${name}   position ${unit.token}, id ${tokens.id[unit.token]}` +
        (value === null ? "" : `\nreceives ${value} of the focus token`),
    });
  }
  line.addEventListener("focusin", describe, { signal });
  line.addEventListener("pointerover", describe, { signal });

  function focusUnit(index: number): void {
    state.set({ token: units[index]!.token });
    buttons[index]!.focus({ preventScroll: true });
  }

  line.addEventListener(
    "click",
    (event) => {
      const button = (event.target as Element).closest<HTMLElement>(".aw-ribbon-token");
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
      const index = buttons.indexOf(event.target as HTMLElement);
      if (index < 0) return;
      const next = step(event.key, index, buttons.length);
      if (next !== null) focusUnit(next);
      else if (event.key === "Enter" || event.key === " ") buttons[index]!.click();
      else if (event.key === "Escape") state.set({ token: null });
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
    { signal },
  );

  const stops = [
    matrix.on(paint),
    state.on(["token", "scale", "pair"], paint),
    state.on(["token"], settle),
  ];
  onTheme(element, paint, signal);
  onResize(line, settle, signal);
  return () => {
    for (const stop of stops) stop();
    element.replaceChildren();
  };
}
