/** A token classifier: labels over the words, every token with its own, and the softmax of the focus token. */

import { computed, signal } from "@preact/signals-core";
import { scrollDown } from "../../draw/scroll";
import { directionOf } from "../../draw/text-line";
import { type Classification, classesOf, termOf } from "../../figures/classes";
import { largest } from "../../figures/derive/matrix";
import type { Unit } from "../../figures/derive/units";
import { formatPercent, tokenLabel, visible } from "../../figures/format";
import { schemeOf } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import { ClassName, ClassTable, classChoice, ShareBar } from "../../ui/classes";
import { memo } from "../../ui/memo";
import { watch } from "../../ui/mount";
import { Num } from "../../ui/number";
import { followKey } from "../../ui/roving";
import { TokenText } from "../../ui/token";
import { WhyButton } from "../../ui/why-button";
import { type TaskContext, type Words, wordUnits } from "./context";
import { nextCell } from "./next-cell";

/** The label of what is outside of every span (IOB tagging, Ramshaw and Marcus 1995). */
const OUTSIDE = "O";

/** The label of more than half of the words, which tells least; undefined for none. */
export const usualLabel = (labels: readonly string[]): string | undefined =>
  labels.find((label) => 2 * labels.filter((other) => other === label).length > labels.length);

interface Labeled extends Unit {
  readonly label: string;
  /** True for the usual label, or none. */
  readonly plain: boolean;
}

interface WordLabelsProps {
  readonly text: string;
  readonly words: readonly Labeled[];
  readonly focus: number;
  readonly choose: (token: number) => void;
}

/** Labels over the words; the list says the same to screen readers. */
function WordLabels({ text, words, focus, choose }: WordLabelsProps) {
  return (
    <div
      class="aw-scroll aw-word-labels"
      dir={directionOf(text)}
      role="presentation"
      aria-hidden="true"
      data-aw-part="word-labels"
      onClick={({ target }) => {
        const word = (target as Element).closest<HTMLElement>(".aw-word-label");
        if (word !== null) choose(Number(word.dataset.token));
      }}
    >
      {words.map(({ token, surface, label, plain }) => {
        const kind = `${plain ? " is-usual" : ""}${token === focus ? " is-focus" : ""}`;
        return [
          <span
            key={token}
            class={`aw-word-label${kind}`}
            data-token={token}
            title={`${visible(surface)}: ${visible(label)}`}
          >
            <bdi>{visible(surface)}</bdi>
            <bdi>{visible(label)}</bdi>
          </span>,
          " ",
        ];
      })}
    </div>
  );
}

export function createTokenClasses(host: Element, context: TaskContext, found: Classification) {
  const { source, state, selection, signal: until } = context;
  const { tokens, text } = source.meta;
  const scheme = schemeOf(tokens);
  const best = tokens.text.map((_, token) => {
    const column = classesOf(found, token);
    return termOf(column, column.best);
  });
  const words = signal<Words | undefined>(undefined);
  void context.words().then((answer) => {
    if (!until.aborted) words.value = answer;
  });

  const visibleTokens = computed(() =>
    tokens.text.flatMap((_, i) => (tokens.special[i] && !selection.value.special ? [] : [i])),
  );
  // Without a focus token the first word is opened, and nothing is chosen for the other views.
  const opened = computed(
    () => selection.value.token ?? Math.max(0, tokens.special.indexOf(false)),
  );
  const choice = classChoice(classesOf(found, opened.peek()));

  const labeled = computed(() => {
    if (words.value === undefined) return [];
    const units = wordUnits(tokens, words.value);
    const usual = usualLabel(units.map(({ token }) => itemAt(best, token).label));
    return units.map((unit) => {
      const { label } = itemAt(best, unit.token);
      return { ...unit, label, plain: label === usual || label === OUTSIDE };
    });
  });

  function onKey(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
    const option = (event.target as Element).closest<HTMLElement>(".aw-token-class");
    const all = visibleTokens.value;
    const at = all.indexOf(Number(option?.dataset.token));
    if (option === null || at < 0) return;
    const next = nextCell(event, { row: at, column: 0 }, all.length, 1);
    if (next !== null) state.set({ token: itemAt(all, next.row) });
    else if (event.key === "Escape" && state.get().token !== null) state.set({ token: null });
    else return;
    followKey(event, event.currentTarget);
  }

  const Option = memo(function Option({
    token,
    hidden,
    selected,
    stop,
  }: {
    readonly token: number;
    readonly hidden: boolean;
    readonly selected: boolean;
    readonly stop: boolean;
  }) {
    const { label, probability } = itemAt(best, token);
    return (
      <div
        role="option"
        class={`aw-token-class${tokens.special[token] ? " aw-special" : ""}`}
        tabIndex={stop ? 0 : -1}
        aria-selected={selected}
        data-token={token}
        hidden={hidden}
        onClick={({ currentTarget }) => {
          state.set({ token });
          currentTarget.focus({ preventScroll: true });
        }}
      >
        <span class="aw-index aw-number">{token}</span>
        <TokenText {...tokenLabel(itemAt(tokens.text, token), scheme, tokens.surface[token])} />
        <ClassName label={label} title={label} />
        <ShareBar share={probability} />
        <Num value={probability} text={formatPercent(probability)} />
      </div>
    );
  });

  const List = memo(function List() {
    const shown = new Set(visibleTokens.value);
    const stop = shown.has(opened.value) ? opened.value : (visibleTokens.value[0] ?? -1);
    return (
      <div
        class="aw-scroll aw-token-classes"
        role="listbox"
        aria-label="Tokens and their labels; the focus token is open"
        data-aw-part="token-classes"
        onKeyDown={onKey}
      >
        {tokens.text.map((_, i) => (
          <Option
            key={i}
            token={i}
            hidden={!shown.has(i)}
            selected={i === opened.value}
            stop={i === stop}
          />
        ))}
      </div>
    );
  });

  watch(() => {
    const token = opened.value;
    requestAnimationFrame(() => {
      const option = host.querySelector<HTMLElement>(`.aw-token-class[data-token="${token}"]`);
      const list = option?.parentElement;
      if (option != null && list != null)
        scrollDown(list, option.offsetTop, option.offsetTop + option.offsetHeight);
    });
  }, until);

  /** The label of the open token against the next likeliest one, for the view Why; of no special token. */
  const asked = computed(() => {
    const position = opened.value;
    if (tokens.special[position] !== false) return null;
    const column = classesOf(found, position);
    const [label = 0, against] = largest(column.probabilities, 2);
    const target = { position, ...(against === undefined ? {} : { against }), label };
    return { target, name: termOf(column, label).label };
  });

  return memo(function TokenClasses() {
    return (
      <div>
        <WordLabels
          {...{ text, words: labeled.value, focus: opened.value }}
          choose={(token) => state.set({ token })}
        />
        <p class="aw-view-note" hidden={labeled.value.every(({ token, end }) => end - token === 1)}>
          A word has the label of its first token.
        </p>
        <div class="aw-token-block">
          <List />
          <ClassTable
            column={classesOf(found, opened.value)}
            choice={choice}
            caption={`Softmax of token ${opened.value}: ${visible(itemAt(tokens.text, opened.value))}`}
            term="class"
            part="classes"
            compare
            formula
          />
          {asked.value !== null && <WhyButton context={context} {...asked.value} />}
        </div>
      </div>
    );
  });
}
