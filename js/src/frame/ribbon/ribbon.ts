/** The text itself, word by word: real text, one button a unit, painted with the focus token's row. */

import { inkOn, ramp } from "../../draw/color/ramp";
import { rampIndex } from "../../draw/color/scale";
import { modeOf, onTheme } from "../../draw/color/theme";
import { consume, h, setAttributes, step } from "../../draw/dom";
import { onResize } from "../../draw/resize";
import {
  buildLine,
  directionOf,
  firstUnits,
  sameUnits,
  spokenUnit,
  type Tags,
} from "../../draw/text-line";
import { tapTwice } from "../../draw/touch";
import { rowOf } from "../../figures/derive/matrix";
import type { Unit } from "../../figures/derive/units";
import { exact, formatNumber } from "../../figures/format";
import { beyondOf, errorOf, type Matrix, topOf } from "../../figures/matrix";
import { schemeOf, unitLabel } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import type { ViewContext } from "../../views/contract";
import { createMasking } from "./masking";
import { linkPointed, signedOf } from "./paint";
import { askForTags, blankTags } from "./tags";
import { cornerToggle, newMemory, type RibbonMemory } from "./tools";

/** Height of a line of the ribbon (px): the last one in sight is faded. */
const LINE = 28;
/** Texts up to this many tokens have their tags shown from the start. */
const TAGGED_TOKENS = 40;

export function ribbon(
  element: HTMLElement,
  stage: ViewContext,
  memory: RibbonMemory = newMemory(),
): () => void {
  const { source, state, signal, matrix, act } = stage;
  const { meta } = source;
  const { tokens } = meta;
  const scheme = schemeOf(tokens);
  const line = h("div", {
    class: "aw-ribbon-line",
    role: "group",
    "aria-label": "Tokens: choose the focus token (query row)",
    dir: directionOf(meta.text),
  });
  const corner = h("div", {
    class: "aw-ribbon-corner",
    role: "group",
    "aria-label": "Ribbon",
  });
  element.append(line, corner);
  let units: readonly Unit[] = [];
  let buttons: HTMLElement[] = [];
  /** Last painted colors, so that only changes touch the page. */
  let colors: string[] = [];
  /** Undefined until they were asked for; null when there are none. */
  let tags: Tags | null | undefined;
  let tagging = memory.tags ?? tokens.text.length <= TAGGED_TOKENS;
  /** In place of the tags until they come. */
  const reserved = memory.tagged === false ? null : blankTags(tokens);

  function build(next: readonly Unit[], anyway = false): void {
    if (next === units && !anyway) return;
    const same = !anyway && buttons.length > 0 && sameUnits(units, next);
    units = next;
    if (same) return;
    colors = [];
    marked = [];
    const focused = buttons.indexOf(line.ownerDocument.activeElement as HTMLElement);
    const built = buildLine(units, meta, tagging ? (tags === undefined ? reserved : tags) : null);
    buttons = built.buttons;
    line.replaceChildren(...built.nodes);
    line.classList.toggle("aw-tagged", tagging && (tags === undefined ? reserved : tags) !== null);
    if (focused >= 0) buttons[focused]?.focus({ preventScroll: true });
    requestAnimationFrame(settle);
  }

  function paint(): void {
    const shown = matrix.get();
    if (shown === null) return;
    if (colors.length === 0) requestAnimationFrame(settle);
    build(shown.units);
    const { token, scale } = state.get();
    const focus = shown.unitOf(token);
    const mode = modeOf(element);
    const own = stage.paint?.get() ?? null;
    const signed = own && signedOf(own, units, mode);
    const { css, rgb } = signed?.colors ?? ramp("weight", mode);
    const top = topOf(shown, scale);
    const beyond = new Set(signed === null ? beyondOf(shown, scale) : []);
    const row = focus < 0 ? null : rowOf(shown.weights, focus, shown.size);
    const weights = signed?.values ?? row;
    buttons.forEach((button, i) => {
      const weight = weights?.[i] ?? null;
      const index =
        signed !== null
          ? (signed.indices[i] ?? null)
          : weight === null
            ? null
            : rampIndex(weight, top, scale);
      const color = index === null ? "" : itemAt(css, index);
      if (weight === null) delete button.dataset.awValue;
      else button.dataset.awValue = exact(weight, errorOf(shown, weight));
      const passes =
        weight !== null &&
        (signed === null ? weight > top && beyond.has(i) : Math.abs(weight) > signed.most);
      if (passes !== button.classList.contains("aw-beyond")) button.classList.toggle("aw-beyond");
      if (colors[i] === color) return;
      colors[i] = color;
      button.style.backgroundColor = color;
      button.style.color = index === null ? "" : inkOn(itemAt(rgb, index));
    });
    mark(shown);
  }

  let marked: HTMLElement[] = [];
  /** Focus token, pinned key, gathered tokens, and where Tab enters. */
  function mark(shown: Matrix): void {
    const { token, pair, group } = state.get();
    const focus = shown.unitOf(token);
    const key = pair === null ? -1 : shown.unitOf(pair[1]);
    const gathered = new Set(group.map((index) => shown.unitOf(index)));
    for (const button of marked) {
      setAttributes(button, {
        "aria-pressed": "false",
        "data-aw-pair": null,
        "data-aw-gathered": null,
        tabindex: -1,
      });
    }
    marked = [focus, key, 0, ...gathered].flatMap((i) => buttons[i] ?? []);
    const set = (i: number, attributes: Parameters<typeof setAttributes>[1]): void => {
      const button = buttons[i];
      if (button !== undefined) setAttributes(button, attributes);
    };
    set(focus, { "aria-pressed": "true" });
    set(key, { "data-aw-pair": true });
    for (const i of gathered) set(i, { "data-aw-gathered": true });
    const entry = buttons[Math.max(focus, 0)];
    if (entry !== undefined) entry.tabIndex = 0;
  }

  /** After layout: whether there is more text below, and the focus token in sight. */
  function settle(): void {
    line.classList.toggle("aw-long", line.scrollHeight > line.clientHeight + 4);
    const focus = buttons[matrix.get()?.unitOf(state.get().token) ?? -1];
    if (focus !== undefined) reveal(focus);
  }

  /** Other numbers: their largest among words is what the reader looks for in a long text. */
  function repaint(): void {
    paint();
    const own = stage.paint?.get() ?? null;
    if (own === null) {
      settle();
      return;
    }
    const { values } = signedOf(own, units, modeOf(element));
    const sizes = values.map((value, i) => (units[i]?.special ? -1 : Math.abs(value) || 0));
    const strongest = buttons[sizes.indexOf(Math.max(...sizes))];
    if (strongest !== undefined) reveal(strongest);
  }

  /** Scroll the ribbon, and never the page, to a token. */
  function reveal(button: HTMLElement): void {
    const [box, frame] = [button.getBoundingClientRect(), line.getBoundingClientRect()];
    if (box.top < frame.top) line.scrollTop += box.top - frame.top;
    else if (box.bottom > frame.bottom - LINE) line.scrollTop += box.bottom - frame.bottom + LINE;
  }

  /** Accessible names and titles are written on focus or hover: writing hundreds at every head change is slow. */
  function describe(event: Event): void {
    const from = (event.target as Element).closest<HTMLElement>(".aw-ribbon-token");
    const index = from === null ? -1 : buttons.indexOf(from);
    const unit = units[index];
    const shown = matrix.get();
    if (from === null || unit === undefined || shown === null) return;
    const name = spokenUnit(unit, meta, unitLabel(unit, scheme));
    const focus = shown.unitOf(state.get().token);
    const own = stage.paint?.get() ?? null;
    const painted = own && (signedOf(own, units, modeOf(element)).values[index] ?? null);
    const weight = focus < 0 ? null : (shown.weights[focus * shown.size + index] ?? null);
    const value =
      painted !== null
        ? formatNumber(painted)
        : weight === null
          ? null
          : formatNumber(weight, undefined, errorOf(shown, weight));
    const verb = own?.verb ?? "weight";
    const word = tags?.wordOf(unit.token) ?? null;
    const tag = word === null ? null : tags?.of(word);
    const tagged = [tag?.pos, tag?.entity].filter(Boolean).join(", ");
    const marks = [
      value === null ? "" : `${verb} ${value}`,
      index === focus ? "focus" : "",
      isGathered(unit) ? "gathered" : "",
      tagged,
    ].filter((part) => part !== "");
    setAttributes(from, {
      "aria-label": [name, ...marks].join(", "),
      title:
        `${name}   position ${unit.token}, id ${tokens.id[unit.token]}` +
        (tagged === "" ? "" : `\n${tagged}`) +
        (value === null
          ? ""
          : own === null
            ? `\nreceives ${value} of the focus token`
            : `\n${verb} ${value}`),
    });
  }
  line.addEventListener("focusin", describe, { signal });
  line.addEventListener("pointerover", describe, { signal });
  if (stage.paint !== undefined) linkPointed(line, stage.paint, () => ({ units, buttons }), signal);

  function focusUnit(index: number): void {
    state.set({ token: itemAt(units, index).token });
    buttons[index]?.focus({ preventScroll: true });
  }

  const tokensOf = ({ token, end }: Unit): number[] =>
    Array.from({ length: end - token }, (_, i) => token + i);
  const isGathered = (unit: Unit): boolean => {
    const { group } = state.get();
    return tokensOf(unit).some((token) => group.includes(token));
  };

  function gather(unit: Unit): void {
    const mine = tokensOf(unit);
    const { group } = state.get();
    const others = group.filter((token) => !mine.includes(token));
    const next = isGathered(unit) ? others : [...others, ...mine].sort((a, b) => a - b);
    state.set({ group: next });
    stage.announce(`${next.length} ${next.length === 1 ? "token" : "tokens"} gathered.`);
  }

  const masking = createMasking(element, stage, memory);
  const mask = (unit: Unit): void =>
    masking.flip(tokensOf(unit), unit.special, unitLabel(unit, scheme));

  tapTwice(line, () => null, signal);
  line.addEventListener(
    "click",
    (event) => {
      const button = (event.target as Element).closest<HTMLElement>(".aw-ribbon-token");
      const unit = button === null ? undefined : units[buttons.indexOf(button)];
      if (button === null || unit === undefined) return;
      if (event.ctrlKey || event.metaKey) gather(unit);
      else if (memory.masking && act !== null) mask(unit);
      else state.set({ token: state.get().token === unit.token ? null : unit.token });
      button.focus({ preventScroll: true });
    },
    { signal },
  );
  line.addEventListener(
    "keydown",
    (event) => {
      const index = buttons.indexOf(event.target as HTMLElement);
      const unit = units[index];
      if (unit === undefined || event.altKey) return;
      const control = event.ctrlKey || event.metaKey;
      if ((event.key === "Enter" && control) || (event.key === " " && event.shiftKey)) gather(unit);
      else if (control || event.shiftKey) return;
      else {
        // Where the text runs from right to left, left is onwards.
        const turned = { ArrowLeft: "ArrowRight", ArrowRight: "ArrowLeft" }[event.key];
        const key = line.dir === "rtl" && turned !== undefined ? turned : event.key;
        const next = step(key, index, buttons.length);
        if (next !== null) focusUnit(next);
        else if (event.key === "Enter" || event.key === " ") buttons[index]?.click();
        else if (event.key === "Escape") state.set({ token: null });
        else if (event.key === "x" && act !== null) mask(unit);
        else return;
      }
      consume(event);
    },
    { signal },
  );

  function showTags(on: boolean): void {
    tagging = on;
    memory.tags = on;
    if (on && tags === undefined) ask();
    build(units, true);
    paint();
  }

  let asked = false;
  function ask(): void {
    if (asked) return;
    asked = true;
    askForTags(stage, (found, reason) => {
      tags = found;
      memory.tagged = found !== null;
      setAttributes(tagToggle, {
        "aria-disabled": found === null ? "true" : null,
        title: found === null ? reason : `Parts of speech and entities, by ${found.tagger}`,
      });
      tagToggle.setAttribute("aria-pressed", String(found !== null && tagging));
      if (!tagging) return;
      build(units, true);
      paint();
    });
  }

  const on = tagging && memory.tagged !== false;
  const tagToggle = cornerToggle("tags", "tags", "Parts of speech and entities", on, (wish) => {
    if (tags === null) tagToggle.setAttribute("aria-pressed", "false");
    else showTags(wish);
  });
  corner.append(tagToggle);
  corner.append(...masking.tools);

  matrix.on(paint, signal);
  stage.paint?.on(repaint, signal);
  state.on(["token", "scale", "pair", "group"], paint, signal);
  state.on(["token"], settle, signal);
  // Words must be asked for; tokens stand here at once, whatever the matrix waits for.
  if (matrix.get() === null && !state.get().words) build(firstUnits(meta, state.get().special));
  if (tagging) matrix.on(() => void (asked || setTimeout(ask)), signal);
  onTheme(element, paint, signal);
  onResize(line, settle, signal);
  return () => {
    element.classList.remove("aw-masking");
    element.replaceChildren();
  };
}
