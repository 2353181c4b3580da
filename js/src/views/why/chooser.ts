/** Choice of the target: a word among those that the model would put there, a class, or one that was saved. */

import { h } from "../../draw/dom";
import { formatPercent, visible } from "../../figures/format";
import { type Described, nameOf } from "../../figures/targets";
import { explain, isAbort } from "../../protocol/failure";
import type { Target } from "../../protocol/types";
import type { ViewContext } from "../contract";
import { askChoices, type Choice, type Question, questionOf, targetFrom } from "./choices";

export interface Chooser {
  readonly element: HTMLElement;
  /** Follow the chosen target. */
  follow(shown: Described | null): void;
  /** List what would be explained at the focus token. */
  move(): void;
}

/** Written in the text itself, a mask has nothing to be masked. */
const MASK = /^(\[MASK\]|<mask>)$/;

export function createChooser(
  context: ViewContext,
  saved: readonly Described[],
  label: (token: number) => string,
): Chooser {
  const { source, state, signal, report } = context;
  const { tokens, model, masked, text_pair } = source.meta;
  const element = h("div", { class: "aw-why-choose", "data-aw-part": "why-choose" });
  let asking: AbortController | null = null;
  let chosen: Described | null = null;

  const choose = (target: Target): void => state.set({ target });

  /** A word that the reader writes: the kernel knows whether the vocabulary has it. */
  async function write(question: Question, word: string): Promise<void> {
    const against = chosen?.target.token ?? null;
    try {
      const target = targetFrom(question, word, against);
      const answer = await source.slice(
        { kind: "contributions", target, method: "decomposition" },
        { signal },
      );
      choose(answer.data.target as Target);
    } catch (error) {
      if (isAbort(error)) return;
      const { message, hint } = explain(error);
      report(message, hint);
    }
  }

  function chip(
    name: string,
    share: number | null,
    pressed: boolean,
    pick: () => void,
  ): HTMLElement {
    const made = h(
      "button",
      { class: "aw-why-chip", "aria-pressed": String(pressed) },
      h("bdi", {}, visible(name)),
      share === null ? null : h("small", { class: "aw-number" }, formatPercent(share, 2)),
    );
    made.addEventListener("click", pick, { signal });
    return made;
  }

  const row = (title: string, ...chips: (Node | null)[]): HTMLElement =>
    h(
      "div",
      { class: "aw-why-row", role: "group", "aria-label": title },
      h("span", { class: "aw-muted" }, title),
      ...chips,
    );

  function drawSaved(): void {
    const now = JSON.stringify(chosen?.target);
    const chips = saved.map((one) =>
      chip(nameOf(one), null, JSON.stringify(one.target) === now, () => choose(one.target)),
    );
    element.replaceChildren(...(saved.length < 2 ? [] : [row("Explain", ...chips)]));
  }

  function kinds(question: Question): HTMLElement | null {
    const offered: (readonly [string, Question])[] = [];
    const place =
      question.of === "token"
        ? question
        : ({ of: "token", position: firstWord(), masked: true } as const);
    if (model.has.mlm) offered.push(["word", place]);
    if (model.has.classifier)
      offered.push(["class", question.of === "class" ? question : { of: "class", position: null }]);
    if (model.has.nsp && text_pair !== null)
      offered.push(["next sentence", { of: "next_sentence" }]);
    if (offered.length < 2) return null;
    const buttons = offered.map(([name, other]) => {
      const made = h("button", { "aria-pressed": String(other.of === question.of) }, name);
      const open = (): void =>
        other.of === "next_sentence" ? choose({ next_sentence: true }) : void draw(other, true);
      made.addEventListener("click", open, { signal });
      return made;
    });
    return h(
      "div",
      { class: "aw-segmented", role: "group", "aria-label": "Kind of output" },
      ...buttons,
    );
  }

  const firstWord = (): number => Math.max(0, tokens.special.indexOf(false));

  function place(question: Question): HTMLElement | null {
    if (question.of !== "token") return null;
    const { position, masked: hidden } = question;
    const isMask =
      MASK.test(tokens.text[position] ?? "") || masked.some(({ token }) => token === position);
    const where = h(
      "span",
      { class: "aw-why-place" },
      "at ",
      h("b", {}, h("bdi", {}, label(position))),
      h("span", { class: "aw-index aw-number" }, ` ${position}`),
    );
    if (isMask) return where;
    const modes = ([true, false] as const).map((on) => {
      const made = h("button", { "aria-pressed": String(on === hidden) }, on ? "masked" : "as is");
      made.addEventListener("click", () => void draw({ ...question, masked: on }, true), {
        signal,
      });
      return made;
    });
    const group = h(
      "span",
      { class: "aw-segmented", role: "group", "aria-label": "Input" },
      ...modes,
    );
    return h("span", { class: "aw-why-at" }, where, group);
  }

  function fill(question: Question, choices: readonly Choice[]): void {
    const target = chosen?.target ?? {};
    const same = chosen !== null && JSON.stringify(questionOf(target)) === JSON.stringify(question);
    const plus = same ? (target.token ?? target.label) : undefined;
    const minus = same ? (target.against ?? null) : null;
    const names = new Map(choices.map(({ id, name }) => [id as number | string, name]));
    const known = [...choices];
    // The chosen entry stands among the choices, however unlikely.
    [plus, minus].forEach((id, i) => {
      if (typeof id === "number" && !names.has(id) && chosen !== null) {
        known.push({ id, name: chosen.names[i] ?? String(id), probability: Number.NaN });
      }
    });
    const share = (one: Choice): number | null =>
      Number.isNaN(one.probability) ? null : one.probability;
    const first = known.map((one) =>
      chip(one.name, share(one), one.id === plus, () =>
        choose(targetFrom(question, one.id, minus)),
      ),
    );
    const second = known
      .filter(({ id }) => id !== plus)
      .map((one) =>
        chip(one.name, null, one.id === minus, () =>
          choose(targetFrom(question, plus ?? one.id, one.id)),
        ),
      );
    const none = chip("nothing", null, minus === null, () =>
      choose(targetFrom(question, plus ?? known[0]?.id ?? 0, null)),
    );
    const other = h("input", {
      class: "aw-why-word",
      size: 10,
      placeholder: "another word",
      "aria-label": "Another word to explain",
      maxlength: 40,
    });
    other.addEventListener(
      "keydown",
      (event) => {
        if (event.key !== "Enter" || other.value.trim() === "") return;
        event.preventDefault();
        void write(question, other.value.trim());
      },
      { signal },
    );
    const word = question.of === "token" ? other : null;
    element.replaceChildren(
      ...[kinds(question), place(question)].filter((part) => part !== null),
      ...(known.length > 0 ? [row("explain", ...first, word)] : []),
      ...(plus === undefined || known.length < 2 ? [] : [row("rather than", none, ...second)]),
    );
  }

  /** Ask for the choices and list them; with `take` the likeliest becomes the target. */
  async function draw(question: Question, take = false): Promise<void> {
    asking?.abort();
    const mine = new AbortController();
    asking = mine;
    signal.addEventListener("abort", () => mine.abort(), { signal: mine.signal });
    try {
      const choices = await askChoices(source, question, mine.signal);
      if (mine.signal.aborted) return;
      const [first, second] = choices;
      if (take && first !== undefined) choose(targetFrom(question, first.id, second?.id ?? null));
      else fill(question, choices);
    } catch (error) {
      if (isAbort(error) || mine.signal.aborted) return;
      fill(question, []);
      const { message, hint } = explain(error);
      report(message, hint);
    }
  }

  const own = (): Question => {
    if (chosen !== null) return questionOf(chosen.target);
    return model.has.mlm
      ? { of: "token", position: firstWord(), masked: true }
      : { of: "class", position: null };
  };

  return {
    element,
    follow(shown) {
      chosen = shown;
      if (source.live) void draw(own());
      else drawSaved();
    },
    move() {
      const { token } = state.get();
      const now = own();
      if (!source.live || now.of !== "token" || token === null || tokens.special[token]) return;
      const hidden = !masked.some((one) => one.token === token);
      void draw(token === now.position ? now : { of: "token", position: token, masked: hidden });
    },
  };
}
