/** The view Why: a target, contributions to it by ten methods, and whether these beat random orders. */

import { rampImage } from "../../draw/color/ramp";
import { modeOf, onTheme } from "../../draw/color/theme";
import { h, setAttributes } from "../../draw/dom";
import { onResize } from "../../draw/resize";
import { firstUnits } from "../../draw/text-line";
import { type Unit, unitOfToken } from "../../figures/derive/units";
import { copyExactValues, tokenLabel } from "../../figures/format";
import { schemeOf, unitLabel } from "../../figures/names";
import { askTargets, type Described, nameOf } from "../../figures/targets";
import { explain, isAbort, isLasting } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import type { DrawView, ViewContext } from "../contract";
import { createChooser } from "./chooser";
import { askContributions, askTrust, type Contributions, METHODS, type Trust } from "./data";
import { createMethodRow, type MethodRow } from "./method-row";
import { createPanels } from "./panels";
import { createReadout } from "./readout";
import { header } from "./strips";
import { sumLine, sumOf } from "./sum";
import { createTitle } from "./title";
import { sentence } from "./trust";

/** Up to so many tokens everything is computed unasked. */
const SHORT = 48;

export const why: DrawView<ViewContext> = (element, context) => {
  const { source, state, signal, paint, announce, report } = context;
  const { tokens } = source.meta;
  const n = tokens.text.length;
  const scheme = schemeOf(tokens);
  const label = (token: number): string => tokenLabel(itemAt(tokens.text, token), scheme).text;
  const nameUnit = (unit: Unit): string => unitLabel(unit, scheme);
  /** As the matrix has them: tokens or words, with or without special ones. */
  let units = context.matrix.get()?.units ?? firstUnits(source.meta, state.get().special);

  const title = createTitle(label);
  const place = h("div", {});
  const sum = h("div", {});
  const scale = h("i", { "aria-hidden": "true" });
  const corner = h("span", { class: "aw-muted aw-why-scale" }, "against", scale, "for");
  const top = h("div", { class: "aw-why-top" });
  const fall = h(
    "span",
    {
      class: "aw-muted aw-why-fall",
      title:
        "Mean fall of the target's probability as words are masked in the method's order. Gray: 95% of random orders, with their mean. Filled: better than random after correction for the number of methods",
    },
    "masking test",
  );
  const rows = METHODS.map((method) => createMethodRow(method));
  const grid = h(
    "div",
    { class: "aw-why-strips", role: "group", "aria-label": "Contributions by method" },
    corner,
    top,
    fall,
    ...rows.flatMap((row) => row.cells),
  );
  const readout = createReadout(context, nameUnit);
  const said = h("p", { class: "aw-why-said", role: "status", "data-aw-part": "why-said" });
  const panels = createPanels(context, () => modeOf(root));
  const root = h(
    "div",
    { class: "aw-why", dir: "ltr", "data-aw-part": "why" },
    title.element,
    place,
    sum,
    grid,
    readout.element,
    said,
    panels.element,
  );
  element.append(root);
  copyExactValues(root, signal);

  let shown: Described | null = null;
  let trust: Trust | null = null;
  let life = new AbortController();
  let untested = false;
  let width = 0;
  /** Says the last number again, with the weight of another head. */
  let told: (() => void) | null = null;

  const placeOf = (key: string): number => METHODS.findIndex((method) => method.key === key);
  const rowOf = (key: string): MethodRow => itemAt(rows, placeOf(key));
  /** The chosen method, if it is here; else the first one that is. */
  const current = (): Contributions | null =>
    rowOf(
      METHODS.some(({ key }) => key === state.get().method) ? state.get().method : "decomposition",
    ).found ??
    rows.find((row) => row.found !== null)?.found ??
    null;

  function drawStrips(): void {
    if (width === 0) return;
    // Where the test waits for a click, its column gives its room to the strips.
    grid.classList.toggle("is-untested", untested);
    const room = Math.max(60, top.clientWidth);
    top.replaceChildren(header(units.map(nameUnit), room));
    scale.style.background = rampImage("signed", modeOf(root), 18);
    for (const row of rows) row.draw(units, room, modeOf(root));
  }

  /** Title, sum, ribbon and marks of the chosen method. */
  function follow(): void {
    const shown = current();
    rows.forEach((row, i) => {
      const on = shown !== null && METHODS[i]?.key === shown.method;
      setAttributes(row.button, { "aria-pressed": String(on) });
    });
    paint?.set(shown === null ? null : { values: shown.values, verb: "contributes" });
    if (shown === null) {
      sum.replaceChildren();
      readout.clear();
      told = null;
      return;
    }
    sum.replaceChildren(sumLine(shown, units, nameUnit));
    const strongest = sumOf(
      shown.values,
      units.filter(({ special }) => !special),
    ).terms[0];
    if (strongest !== undefined) tell(strongest.unit.token, shown);
    if (trust !== null) panels.tests(trust, shown.method);
  }

  /** The number of a token by a method, and the cell of the matrix that it leads to. */
  function tell(token: number, { method, values }: Contributions): void {
    if (shown === null) return;
    const { target } = shown;
    told = () =>
      readout.show(token, { method: itemAt(METHODS, placeOf(method)), values, units, target });
    told();
  }

  async function compute(index: number): Promise<void> {
    const method = itemAt(METHODS, index);
    const target = shown?.target;
    if (target === undefined) return;
    const mine = new AbortController();
    const ends = AbortSignal.any([life.signal, mine.signal]);
    const row = itemAt(rows, index);
    row.offer(
      () => void compute(index),
      () => mine.abort(),
    );
    await row.run((progress) =>
      askContributions(source, target, method.key, { signal: ends, progress }),
    );
    if (life.signal.aborted) return;
    drawStrips();
    follow();
  }

  /** The test over all methods that are known. */
  async function test(): Promise<void> {
    const target = shown?.target;
    const known = METHODS.filter((_, i) => rows[i]?.found).map(({ key }) => key);
    if (target === undefined || known.length === 0) return;
    const { signal: ends } = life;
    const mine = new AbortController();
    said.replaceChildren("Masking words in each method's order …");
    try {
      const answer = await askTrust(source, target, known, {
        signal: AbortSignal.any([ends, mine.signal]),
        progress: (done, total) => {
          const cancel = link("cancel", () => mine.abort());
          said.replaceChildren(
            `Masking words in each method's order: ${total > 0 ? Math.round((100 * done) / total) : 0}% `,
            cancel,
          );
        },
      });
      if (ends.aborted) return;
      trust = answer;
      untested = false;
      drawStrips();
      said.replaceChildren(sentence(answer));
      for (const row of rows) row.trust(answer);
      follow();
    } catch (error) {
      if (ends.aborted) return;
      const { message, hint } = explain(error);
      const why = isLasting(error) ? "" : "The methods cannot be tested: ";
      if (isAbort(error)) offerTest();
      else said.replaceChildren(`${why}${message} ${hint}`.trim());
      untested = true;
      drawStrips();
    }
  }

  function link(words: string, call: () => void): HTMLElement {
    const made = h("button", { class: "aw-why-link" }, words);
    made.addEventListener("click", call, { signal });
    return made;
  }

  function offerTest(): void {
    said.replaceChildren(
      link("Test the methods by masking words", () => void test()),
      " (takes seconds to minutes for a text of this length)",
    );
  }

  /** Explain `of`: the first method at once, the others one after the other. */
  async function explainTarget(of: Described): Promise<void> {
    life.abort();
    life = new AbortController();
    signal.addEventListener("abort", () => life.abort(), { signal: life.signal });
    const { signal: ends } = life;
    shown = of;
    trust = null;
    said.replaceChildren();
    panels.clear();
    for (const row of rows) row.trust(null);
    chooser?.follow(of);
    const short = n <= SHORT || !source.live;
    untested = !short;
    METHODS.forEach((_, i) => {
      itemAt(rows, i).offer(
        () => void compute(i),
        () => undefined,
      );
    });
    await compute(0);
    if (ends.aborted) return;
    const first = current();
    if (first !== null) title.show(of, first.value);
    if (of.of === "token") panels.lens(of, ends);
    for (let i = 1; i < METHODS.length; i++) {
      if (!short && !itemAt(METHODS, i).quick) continue;
      await compute(i);
      if (ends.aborted) return;
    }
    if (short) await test();
    else offerTest();
    if (ends.aborted) return;
    panels.heads(of, short, ends);
  }

  let chooser: ReturnType<typeof createChooser> | null = null;
  /** Targets with their words: of the page, and those that were explained before. */
  const known = new Map<string, Described>();

  async function open(): Promise<void> {
    try {
      const proposed = await askTargets(source, signal);
      if (signal.aborted) return;
      for (const one of proposed) known.set(JSON.stringify(one.target), one);
      chooser = createChooser(context, proposed, label);
      place.replaceChildren(chooser.element);
      const { target } = state.get();
      const first = proposed[0];
      if (target !== null) await take();
      else if (first !== undefined) state.set({ target: first.target });
      else {
        chooser.follow(null);
        absent("This text has no word to explain.", "Choose a word in the ribbon.");
      }
    } catch (error) {
      if (isAbort(error) || signal.aborted) return;
      const { message, hint } = explain(error);
      absent(message, hint);
    }
  }

  function absent(message: string, hint: string): void {
    grid.hidden = true;
    said.replaceChildren(`${message} ${hint}`.trim());
  }

  async function take(): Promise<void> {
    const { target } = state.get();
    if (target === null || chooser === null) return;
    grid.hidden = false;
    const key = JSON.stringify(target);
    try {
      const of =
        known.get(key) ?? (await askContributions(source, target, "decomposition", { signal }));
      if (signal.aborted) return;
      known.set(key, of);
      announce(`Explaining ${nameOf(of)}.`);
      await explainTarget(of);
    } catch (error) {
      if (isAbort(error) || signal.aborted) return;
      // The earlier explanation stays on screen.
      const { message, hint } = explain(error);
      report(message, hint);
      if (shown !== null) state.set({ target: shown.target });
      else absent(message, hint);
    }
  }

  grid.addEventListener(
    "click",
    (event) => {
      const from = event.target as Element;
      const method = from.closest<HTMLElement>(".aw-why-method");
      const cell = from.closest<SVGElement>("[data-token]");
      if (method !== null) state.set({ method: method.dataset.method ?? "decomposition" });
      else if (cell !== null) state.set({ token: Number(cell.dataset.token) });
    },
    { signal },
  );
  /** Method of the strip that is pointed at. */
  let pointed: string | undefined;
  grid.addEventListener(
    "pointerover",
    (event) => {
      const from = event.target as Element;
      const cell = from.closest<SVGElement>("rect[data-token]");
      const token = cell === null ? null : Number(cell.dataset.token);
      pointed = from.closest<HTMLElement>(".aw-why-strip")?.dataset.method;
      paint?.point(token);
      point(token);
    },
    { signal },
  );
  grid.addEventListener("pointerleave", () => paint?.point(null), { signal });

  /** Mark a token that is pointed at here or in the ribbon, in all strips. */
  function point(token: number | null): void {
    for (const old of grid.querySelectorAll(".is-pointed")) old.classList.remove("is-pointed");
    const unit = units[unitOfToken(units, token)];
    const shown = (pointed === undefined ? null : rowOf(pointed).found) ?? current();
    if (unit === undefined || shown === null) return;
    for (const same of grid.querySelectorAll(`rect[data-token="${unit.token}"]`))
      same.classList.add("is-pointed");
    tell(unit.token, shown);
  }

  state.on(["target"], () => void take(), signal);
  state.on(["method"], follow, signal);
  state.on(["token"], () => chooser?.move(), signal);
  paint?.onPoint((token) => {
    if (!grid.matches(":hover")) pointed = undefined;
    point(token);
  }, signal);
  context.matrix.on((next) => {
    if (next.units === units) {
      told?.();
      return;
    }
    units = next.units;
    drawStrips();
    follow();
  }, signal);
  onResize(
    root,
    (measured) => {
      width = measured;
      drawStrips();
    },
    signal,
  );
  onTheme(
    root,
    () => {
      drawStrips();
      follow();
    },
    signal,
  );
  void open();
  return {
    dispose() {
      life.abort();
      paint?.set(null);
      root.remove();
    },
    table() {
      const shown = current();
      if (shown === null) return null;
      const cells = Array.from(shown.values, (number, i) => [
        i,
        itemAt(tokens.text, i),
        Number.isNaN(number) ? null : number,
      ]);
      return { columns: ["position", "token", "contribution"], rows: cells };
    },
  };
};
