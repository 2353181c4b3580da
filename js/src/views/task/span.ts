/** Question answering: where an answer starts and ends, as two strips over the tokens, and the best span. */

import { references } from "../../draw/classes/formula";
import { createClasses } from "../../draw/classes/table";
import { consume, h, setAttributes, step } from "../../draw/dom";
import { pickLabels } from "../../draw/heatmap/axis";
import { mathElement } from "../../draw/math";
import { onResize } from "../../draw/resize";
import { CLASS_SOFTMAX, CLASS_SOFTMAX_SPOKEN } from "../../figures/class-formulas";
import { bestSpan, type Classification, positionsOf, spanText } from "../../figures/classes";
import { largest } from "../../figures/derive/matrix";
import { unitOf } from "../../figures/derive/token-unit";
import { exact, formatNumber, formatPercent, visible } from "../../figures/format";
import { schemeOf, unitLabel } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import type { ViewContext } from "../contract";

/** Pixels between two labels, and terms of each softmax with a line of their own. */
const LABEL_GAP = 14;
const LISTED = 5;
/** Width of the names next to the strips, px. */
const NAMES = 48;

export function answerSpan(
  element: HTMLElement,
  stage: ViewContext,
  found: Classification,
): () => void {
  const { source, state, signal, announce } = stage;
  const { tokens } = source.meta;
  const scheme = schemeOf(tokens);
  const life = new AbortController();
  const ends = AbortSignal.any([signal, life.signal]);
  const width = found.labels.length;
  const name = (token: number): string => unitLabel(unitOf(tokens, token), scheme);
  const names = tokens.text.map((_, i) => `${name(i)} ${i}`);
  const span = bestSpan(found, tokens);
  const inSpan = (token: number): boolean =>
    span !== null && token >= span.start && token <= span.end;
  const probability = (token: number, boundary: number): number =>
    itemAt(found.probabilities, token * width + boundary);
  const number = (value: number, text = formatPercent(value)): HTMLElement =>
    h("strong", { class: "aw-number", "data-aw-value": exact(value), title: exact(value) }, text);

  const answer = h("div", { class: "aw-answer", "data-aw-part": "answer" });
  if (span === null) answer.append(h("p", {}, "No token can be an answer."));
  else {
    const [start, end] = [probability(span.start, 0), probability(span.end, 1)];
    const none = tokens.special[0] ? probability(0, 0) * probability(0, 1) : 0;
    answer.append(
      h("p", { class: "aw-answer-text" }, h("bdi", { dir: "auto" }, `“${spanText(tokens, span)}”`)),
      h(
        "p",
        { class: "aw-view-note" },
        `most probable span of the text, ${name(span.start)} ${span.start} to ${name(span.end)} ${span.end}: `,
        "P(start) ",
        number(start),
        " × P(end) ",
        number(end),
        " = ",
        number(span.probability),
      ),
    );
    if (none > span.probability)
      answer.append(
        h(
          "p",
          { class: "aw-view-note", "data-aw-part": "no-answer" },
          `Start and end at ${name(0)} are more probable, `,
          number(none),
          ". This is how models trained on unanswerable questions (SQuAD 2.0) indicate that there is no answer.",
        ),
      );
  }

  const strips = h("div", {
    class: "aw-spans",
    role: "grid",
    "aria-label": "Probability that the answer starts or ends at each token",
    "data-aw-part": "spans",
  });
  const axis = h("div", { class: "aw-span-axis", "aria-hidden": "true" });
  const readout = h("p", { class: "aw-readout", "data-aw-part": "span-readout" });
  const cells = found.labels.map((label, boundary) => {
    const top = tokens.text.reduce((most, _, i) => Math.max(most, probability(i, boundary)), 0);
    const bars = tokens.text.map((_, token) => {
      const bar = h("i");
      bar.style.blockSize = `${top > 0 ? (100 * probability(token, boundary)) / top : 0}%`;
      return h(
        "div",
        {
          role: "gridcell",
          class: `aw-span-cell${inSpan(token) ? " is-answer" : ""}`,
          tabindex: -1,
          "data-token": token,
          "data-boundary": boundary,
          "data-aw-value": exact(probability(token, boundary)),
          "aria-label": `${label} at ${name(token)}: ${formatPercent(probability(token, boundary))}`,
        },
        bar,
      );
    });
    strips.append(
      h(
        "div",
        { class: "aw-span-row", role: "row" },
        h(
          "div",
          { role: "rowheader", class: "aw-span-name" },
          label,
          h("span", { class: "aw-number" }, formatPercent(top)),
        ),
        h("div", { class: "aw-span-bars", role: "presentation" }, ...bars),
      ),
    );
    return bars;
  });

  const tables = found.labels.map((label, boundary) => {
    const made = createClasses(
      {
        term: "position",
        listed: LISTED,
        compare: false,
        formula: false,
        part: `positions-${boundary}`,
      },
      ends,
    );
    made.show(
      positionsOf(found, boundary, names),
      `Softmax over the ${tokens.text.length} positions: ${label}`,
    );
    return made.element;
  });
  const block = h(
    "div",
    { class: "aw-span-block" },
    answer,
    strips,
    axis,
    readout,
    h("div", { class: "aw-span-tables" }, ...tables),
    h(
      "div",
      { class: "aw-span-formula" },
      mathElement(CLASS_SOFTMAX, CLASS_SOFTMAX_SPOKEN),
      references(),
    ),
  );
  element.append(block);

  const shown = (): number[] =>
    tokens.text.flatMap((_, i) => (tokens.special[i] && !state.get().special ? [] : [i]));

  function showReadout(token: number | null): void {
    if (token === null) {
      readout.textContent =
        "The bars of each strip are scaled to its largest probability, written beside it; the shaded tokens are the answer.";
      return;
    }
    readout.replaceChildren(
      h("bdi", { dir: "ltr" }, name(token)),
      h("span", { class: "aw-drill-at" }, String(token)),
      ...found.labels.flatMap((label, boundary) => [
        `  ${label} `,
        number(
          probability(token, boundary),
          `${formatPercent(probability(token, boundary))} (${formatNumber(probability(token, boundary))})`,
        ),
      ]),
    );
  }

  let room = 0;
  /** Names below the bars: all of them, or the probable ones where they are crowded. */
  function label(): void {
    const seen = shown();
    if (room === 0 || seen.length === 0) return;
    const size = room / seen.length;
    const priority = Float32Array.from(seen, (token) =>
      Math.max(...found.labels.map((_, boundary) => probability(token, boundary))),
    );
    const track = { start: 0, size, count: seen.length };
    axis.replaceChildren(
      ...pickLabels(track, [0, room], LABEL_GAP, priority).map((i) => {
        const token = itemAt(seen, i);
        const text = h("bdi", { dir: "ltr" }, visible(name(token)));
        const tick = h("span", { class: inSpan(token) ? "is-answer" : "" }, text);
        tick.style.left = `${NAMES + (i + 0.5) * size}px`;
        return tick;
      }),
    );
  }

  let entry = { boundary: 0, token: span?.start ?? 0 };
  function follow(): void {
    const { token, special } = state.get();
    cells.forEach((bars) => {
      bars.forEach((cell, i) => {
        cell.hidden = tokens.special[i] === true && !special;
        setAttributes(cell, { "data-aw-focus": i === token ? "" : null });
      });
    });
    const seen = shown();
    if (!seen.includes(entry.token)) entry = { ...entry, token: seen[0] ?? 0 };
    rove(entry);
    label();
  }
  function rove(to: { boundary: number; token: number }): void {
    cellAt(entry).tabIndex = -1;
    entry = to;
    cellAt(to).tabIndex = 0;
  }
  function cellAt({ boundary, token }: { boundary: number; token: number }): HTMLElement {
    return itemAt(itemAt(cells, boundary), token);
  }

  const cellOf = (event: Event): { boundary: number; token: number } | null => {
    const cell = (event.target as Element).closest<HTMLElement>(".aw-span-cell");
    return cell && { boundary: Number(cell.dataset.boundary), token: Number(cell.dataset.token) };
  };
  const options = { signal: ends };
  const point = (event: Event): void => showReadout(cellOf(event)?.token ?? null);
  strips.addEventListener("pointerover", point, options);
  strips.addEventListener("focusin", point, options);
  strips.addEventListener("pointerleave", () => showReadout(null), options);
  strips.addEventListener(
    "click",
    (event) => {
      const at = cellOf(event);
      if (at === null) return;
      rove(at);
      state.set({ token: at.token });
      announce(`Focus token: ${name(at.token)}.`);
    },
    options,
  );
  strips.addEventListener(
    "keydown",
    (event) => {
      const at = cellOf(event);
      if (at === null || event.ctrlKey || event.metaKey || event.altKey) return;
      const seen = shown();
      const down = /^Arrow(Up|Down)$/.test(event.key);
      const to = down
        ? step(event.key, at.boundary, cells.length)
        : step(event.key, seen.indexOf(at.token), seen.length);
      if (to !== null) {
        rove(down ? { ...at, boundary: to } : { ...at, token: itemAt(seen, to) });
        cellAt(entry).focus({ preventScroll: true });
      } else if (event.key === "m") {
        const priority = seen.map((token) => probability(token, at.boundary));
        rove({ ...at, token: itemAt(seen, itemAt(largest(priority, 1), 0)) });
        cellAt(entry).focus({ preventScroll: true });
      } else if (event.key === "Enter" || event.key === " ") state.set({ token: at.token });
      else return;
      consume(event);
    },
    options,
  );
  onResize(
    strips,
    (next) => {
      room = next - NAMES;
      label();
    },
    ends,
  );
  state.on(["token", "special"], follow, ends);
  follow();
  showReadout(null);
  return () => {
    life.abort();
    block.remove();
  };
}
