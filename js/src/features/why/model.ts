/** State of the view Why as signals: the target, each method's contributions, their test, and what can be chosen. */

import { computed, type ReadonlySignal, signal } from "@preact/signals-core";
import { firstUnits } from "../../draw/text-line";
import { isMask } from "../../figures/nothing-to-see";
import { askTargets, type Described, nameOf } from "../../figures/targets";
import { asking, latest } from "../../protocol/asking";
import { isAbort, messageOf } from "../../protocol/failure";
import type { Target } from "../../protocol/types";
import { signalOf } from "../../ui/mount";
import type { ViewContext } from "../../views/contract";
import { explainedOf } from "./both-texts";
import {
  askChoices,
  askContributions,
  askWritten,
  type Choice,
  firstWritten,
  type Question,
  questionOf,
  targetFrom,
} from "./data";
import { createExplanation } from "./explanation";

/** Equal targets have their fields in the same order. */
const keyOf = (target: Target | null): string => JSON.stringify(target);

/** Targets to choose from, with the model's own answers. */
function createChoices(context: ViewContext, shown: ReadonlySignal<Described | null>) {
  const { source, state, signal: until, report } = context;
  const { tokens, model, masked } = source.meta;
  let listed: Question | null = null;
  const choices = asking<{ question: Question; choices: readonly Choice[] }>(until, report);
  /** Choices for a question; null in a saved page, and before the first answer. */
  const listing = computed(() =>
    choices.failure.value !== null && listed !== null
      ? { question: listed, choices: [] }
      : choices.answer.value,
  );

  const choose = (target: Target): void => state.set({ target });
  const firstWord = Math.max(0, tokens.special.indexOf(false));
  const question = (): Question => {
    const chosen = shown.peek();
    if (chosen !== null) return questionOf(chosen.target);
    return model.has.mlm
      ? { of: "token", position: firstWord, masked: model.predicts !== "next" }
      : { of: "class", position: null };
  };
  /** The text's own token where a head answers; null where it has none, or a mask. */
  function ownAt(position: number): number | null {
    const at = model.predicts === "next" ? position + 1 : position;
    const was = masked.find(({ token }) => token === at)?.id;
    if (was !== undefined) return was;
    return tokens.special[at] !== false || isMask(tokens.text[at] ?? "")
      ? null
      : (tokens.id[at] ?? null);
  }
  /** Ask for the choices of a question and list them; with `pick` the likeliest becomes the target, against the text's own word if that is another. */
  async function list(of: Question = question(), pick = false): Promise<void> {
    if (!source.live) return;
    listed = of;
    await choices.ask(async (signal) => {
      const found = await askChoices(source, of, signal);
      const [first, second] = found;
      if (pick && first !== undefined) {
        const own = of.of === "token" ? ownAt(of.position) : null;
        const against = own === null || own === first.id ? (second?.id ?? null) : own;
        choose(targetFrom(of, first.id, against));
      }
      return { question: of, choices: found };
    });
  }

  /** A word that the reader writes: the kernel knows whether the vocabulary has it. */
  async function write(of: Question, word: string): Promise<void> {
    try {
      const target = targetFrom(of, word, shown.peek()?.target.token ?? null);
      const request = { kind: "contributions", target, method: "decomposition" } as const;
      const answer = await source.ask(request, { signal: until });
      choose(answer.data.target as Target);
    } catch (error) {
      if (isAbort(error)) return;
      report(error);
    }
  }
  return { listing, firstWord, choose, question, list, write };
}

/** The question that follows the focus token, in a text that the model wrote. */
function createFollowing(
  { source, state }: ViewContext,
  shown: ReadonlySignal<Described | null>,
  choose: (target: Target) => void,
) {
  const proposed = signal<readonly Described[] | null>(null);
  const writtenFrom = source.live ? firstWritten(source.meta) : null;
  /** Targets of the tokens from `writtenFrom` on: why the model wrote each one. */
  const ofWritten = signal<readonly Target[]>([]);
  /** Why the model wrote the focus token, without one the text's proposal; null for a token that it read. */
  function questionOfFocus(): Target | null {
    const { token } = state.get();
    if (writtenFrom === null) return null;
    return (
      (token === null ? proposed.peek()?.[0]?.target : ofWritten.peek()[token - writtenFrom]) ??
      null
    );
  }
  /** True if the reader, or Python, put the question: then it stays. */
  const isChosen = (target: Target): boolean =>
    ![...(proposed.value ?? []).map((own) => own.target), ...ofWritten.value].some(
      (own) => keyOf(own) === keyOf(target),
    );
  const asked = computed(() => shown.value !== null && isChosen(shown.value.target));
  /** True while a question stays that the focus token would change. */
  const held = computed(() => writtenFrom !== null && asked.value);

  /** Ask about the focus token, unless another question was chosen; false if the question stays. */
  function follow(): boolean {
    const { target } = state.get();
    const asked = questionOfFocus();
    if (asked === null || (target !== null && isChosen(target))) return false;
    choose(asked);
    return keyOf(asked) !== keyOf(target);
  }
  /** Give up the chosen question. */
  function release(): void {
    const asked = questionOfFocus() ?? proposed.peek()?.[0]?.target;
    if (asked !== undefined) choose(asked);
  }

  return { writtenFrom, ofWritten, proposed, asked, held, follow, release };
}

export function createWhyModel(context: ViewContext) {
  const { source, state, signal: until, announce, report } = context;
  const { tokens, model, masked } = source.meta;

  const matrix = signalOf(context.matrix.get, (changed) => context.matrix.on(changed, until));
  /** As the matrix has them: tokens or words, with or without special ones. */
  const explained = explainedOf(source.meta);
  const units = computed(() => {
    const { special } = state.get();
    return explained.units(matrix.value?.queries ?? firstUnits(source.meta, special), special);
  });
  const explanation = createExplanation(context, explained.sources > 0, () => void choices.list());
  const { shown } = explanation;
  const focus = signalOf(
    () => state.get().token,
    (changed) => state.on(["token"], changed, until),
  );
  /** Why nothing can be explained. */
  const absent = signal<string | null>(null);
  const choices = createChoices(context, shown);
  const { choose, list, question } = choices;
  const following = createFollowing(context, shown, choose);
  const { writtenFrom, ofWritten, proposed, asked, held, follow, release } = following;
  /** True while other questions are listed. */
  const choosing = signal(false);
  const next = latest(until);

  /** Targets with their words: of the page, and those that were explained before. */
  const described = new Map<string, Described>();

  async function open(): Promise<void> {
    try {
      const targets = await askTargets(source, until);
      if (until.aborted) return;
      for (const target of targets) described.set(keyOf(target.target), target);
      if (writtenFrom !== null && targets.length > 0) {
        ofWritten.value = await askWritten(source, writtenFrom, until);
        if (until.aborted) return;
      }
      proposed.value = targets;
      const [first] = targets;
      if (follow()) return;
      if (state.get().target !== null) await take();
      else if (first !== undefined) state.set({ target: first.target });
      else {
        list();
        absent.value = "This text has no word to explain. Choose a word in the ribbon.";
      }
    } catch (error) {
      if (isAbort(error) || until.aborted) return;
      absent.value = messageOf(error);
    }
  }

  /** Explain the selected target. */
  async function take(): Promise<void> {
    const { target } = state.get();
    if (target === null || proposed.peek() === null) return;
    const untilNext = next();
    absent.value = null;
    const key = keyOf(target);
    try {
      const of =
        described.get(key) ??
        (await askContributions(source, target, "decomposition", { signal: untilNext }));
      if (untilNext.aborted) return;
      described.set(key, of);
      announce(`Explaining ${nameOf(of)}.`);
      await explanation.explain(of, untilNext);
    } catch (error) {
      if (isAbort(error) || untilNext.aborted) return;
      // The earlier explanation stays on screen.
      report(error);
      const earlier = shown.peek();
      if (earlier !== null) state.set({ target: earlier.target });
      else absent.value = messageOf(error);
    }
  }

  /** A click on a word is the question: why this one there, or, where the model expects another, why that one. */
  function move(): void {
    const { token } = state.get();
    const now = question();
    if (proposed.peek() === null || follow()) return;
    if (token === null || now.of === "next_sentence" || now.position === null) return;
    const wrote = writtenFrom !== null && token >= writtenFrom;
    if (!wrote && tokens.special[token]) return;
    const place = wrote ? token - 1 : token;
    const hidden = model.predicts !== "next" && !masked.some((item) => item.token === token);
    // In a text that the model wrote, the tokens that it wrote are the questions.
    const ask = writtenFrom === null;
    if (!ask && place !== now.position) choosing.value = true;
    if (place === now.position) void list(now);
    else if (now.of === "class") void list({ of: "class", position: place }, ask);
    else void list({ of: "token", position: place, masked: hidden }, ask);
  }

  state.on(["target"], () => void take(), until);
  state.on(["token"], move, until);
  return {
    ...explanation,
    ...choices,
    ...{ explained, focus, matrix, units, absent, proposed, choosing, asked, held, release, open },
  };
}

export type WhyModel = ReturnType<typeof createWhyModel>;
