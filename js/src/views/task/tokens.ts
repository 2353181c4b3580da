/** A token classifier: labels over the words, every token with its own, and the softmax of the one in focus. */

import { createClasses } from "../../draw/classes/table";
import { consume, h, setAttributes, step } from "../../draw/dom";
import { scrollDown } from "../../draw/scroll";
import { directionOf } from "../../draw/text-line";
import { type Classification, classesOf, type SoftmaxTerm, termOf } from "../../figures/classes";
import { unitsOf } from "../../figures/derive/units";
import { exact, formatPercent, tokenElement, tokenLabel, visible } from "../../figures/format";
import { schemeOf } from "../../figures/names";
import { isAbort } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import type { ViewContext } from "../contract";
import { wordsOf } from "./first";

/** The label of what is outside of every span (IOB tagging, Ramshaw and Marcus 1995). */
const OUTSIDE = "O";

/** The likeliest class of a token. */
function bestOf(found: Classification, token: number): SoftmaxTerm {
  const column = classesOf(found, token);
  return termOf(column, column.best);
}

export function tokenClasses(
  element: HTMLElement,
  stage: ViewContext,
  found: Classification,
): () => void {
  const { source, state, signal } = stage;
  const { tokens } = source.meta;
  const scheme = schemeOf(tokens);
  const life = new AbortController();
  const ends = AbortSignal.any([signal, life.signal]);
  const table = createClasses(
    { term: "class", listed: null, compare: true, formula: true, part: "classes" },
    ends,
  );
  const options = tokens.text.map((text, position) => {
    const { label, probability: share } = bestOf(found, position);
    const bar = h("span", { class: "aw-class-bar", "aria-hidden": "true" });
    bar.style.inlineSize = `${100 * share}%`;
    return h(
      "div",
      {
        role: "option",
        class: `aw-token-class${tokens.special[position] ? " aw-special" : ""}`,
        tabindex: -1,
        "aria-selected": "false",
        "data-token": position,
      },
      h("span", { class: "aw-index aw-number" }, String(position)),
      tokenElement(tokenLabel(text, scheme, tokens.surface[position])),
      h("bdi", { class: "aw-class-name", title: label }, visible(label)),
      h("span", { class: "aw-class-track" }, bar),
      h(
        "span",
        { class: "aw-number", "data-aw-value": exact(share), title: exact(share) },
        formatPercent(share),
      ),
    );
  });
  const list = h(
    "div",
    {
      class: "aw-token-classes",
      role: "listbox",
      "aria-label": "Tokens and their labels; the focus token is open",
      "data-aw-part": "token-classes",
    },
    ...options,
  );
  // The list says the same to those who listen.
  const over = h("div", {
    class: "aw-word-labels",
    dir: directionOf(source.meta.text),
    "aria-hidden": "true",
    "data-aw-part": "word-labels",
  });
  const rule = h(
    "p",
    { class: "aw-view-note", hidden: true },
    "A word has the label of its first token.",
  );
  const block = h("div", { class: "aw-token-block" }, list, table.element);
  const whole = h("div", {}, over, rule, block);
  element.append(whole);

  async function writeLabels(): Promise<void> {
    const tokenWord = await wordsOf(source, ends);
    const units = unitsOf(tokens, { special: false, tokenWord }).filter(
      ({ token }) => tokenWord === null || tokenWord[token] !== null,
    );
    const labels = units.map(({ token }) => bestOf(found, token).label);
    // The most frequent label tells least, and "O" tells nothing.
    const counts = new Map<string, number>();
    for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
    const usual = labels.find((label) => 2 * (counts.get(label) ?? 0) > labels.length);
    rule.hidden = units.every(({ token, end }) => end - token === 1);
    units.forEach((unit, i) => {
      const label = itemAt(labels, i);
      const word = h(
        "span",
        {
          class: `aw-word-label${label === usual || label === OUTSIDE ? " is-usual" : ""}`,
          "data-token": unit.token,
          title: `${visible(unit.surface)}: ${visible(label)}`,
        },
        h("bdi", {}, visible(unit.surface)),
        h("bdi", {}, visible(label)),
      );
      over.append(word, " ");
    });
    follow();
  }
  writeLabels().catch((error: unknown) => {
    if (!isAbort(error)) throw error;
  });
  over.addEventListener(
    "click",
    (event) => {
      const word = (event.target as Element).closest<HTMLElement>(".aw-word-label");
      if (word !== null) state.set({ token: Number(word.dataset.token) });
    },
    { signal: ends },
  );

  let opened = -1;
  function follow(): void {
    const { token, special } = state.get();
    options.forEach((option, i) => {
      option.hidden = tokens.special[i] === true && !special;
    });
    // Without a focus token the first word is opened, and nothing is chosen for the other views.
    const next = token ?? Math.max(0, tokens.special.indexOf(false));
    if (next !== opened) {
      opened = next;
      table.show(
        classesOf(found, next),
        `Softmax of token ${next}: ${visible(itemAt(tokens.text, next))}`,
      );
    }
    options.forEach((option, i) => {
      setAttributes(option, { "aria-selected": String(i === next), tabindex: i === next ? 0 : -1 });
    });
    for (const word of over.children) {
      word.classList.toggle("is-focus", Number((word as HTMLElement).dataset.token) === next);
    }
    const entry = itemAt(options, next);
    if (entry.hidden) {
      const first = options.find((option) => !option.hidden);
      if (first) first.tabIndex = 0;
    }
    reveal(entry);
  }

  function reveal(option: HTMLElement): void {
    scrollDown(list, option.offsetTop, option.offsetTop + option.offsetHeight);
  }

  list.addEventListener(
    "click",
    (event) => {
      const option = (event.target as Element).closest<HTMLElement>(".aw-token-class");
      if (option === null) return;
      state.set({ token: Number(option.dataset.token) });
      option.focus({ preventScroll: true });
    },
    { signal: ends },
  );
  list.addEventListener(
    "keydown",
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const shown = options.filter((option) => !option.hidden);
      const at = shown.indexOf(event.target as HTMLDivElement);
      if (at < 0 || /^Arrow(Left|Right)$/.test(event.key)) return;
      const to = step(event.key, at, shown.length);
      if (to !== null) {
        const next = itemAt(shown, to);
        state.set({ token: Number(next.dataset.token) });
        next.focus({ preventScroll: true });
      } else if (event.key === "Escape" && state.get().token !== null) state.set({ token: null });
      else return;
      consume(event);
    },
    { signal: ends },
  );
  state.on(["token", "special"], follow, ends);
  follow();
  return () => {
    life.abort();
    whole.remove();
  };
}
