/** The classifier's answer, its softmax in full, and the attention of the first token. */

import { computed, signal } from "@preact/signals-core";
import { type ComponentChildren, type ComponentType, render } from "preact";
import {
  CLASSIFICATION,
  type Classification,
  classesOf,
  slicedClasses,
  termOf,
} from "../../figures/classes";
import { largest } from "../../figures/derive/matrix";
import { formatPercent, visible } from "../../figures/format";
import { schemeOf, tokenName } from "../../figures/names";
import { wordsOf } from "../../figures/nothing-to-see";
import { asking } from "../../protocol/asking";
import { messageOf } from "../../protocol/failure";
import { ClassTable, classChoice } from "../../ui/classes";
import { copyExactValues } from "../../ui/copy-exact";
import { memo } from "../../ui/memo";
import { modeSignal, mount, selectionOf } from "../../ui/mount";
import { SentenceLine } from "../../ui/sentence";
import { WhyButton, whyRequest } from "../../ui/why-button";
import type { DrawView } from "../../views/contract";
import { classesTable } from "./answers";
import type { TaskContext, Words } from "./context";
import { createFirstToken } from "./first";
import { createGradients } from "./gradient";
import { canPush, classesInWords, type Push, pushOf } from "./sentence";
import { createAnswerSpan } from "./span";
import { createComparisonTexts } from "./texts";
import { createTokenClasses } from "./tokens";

/** Title, name of a term, caption for several outputs, and caption for one. */
const SEQUENCE = {
  softmax: {
    title: "Class of the text",
    term: "class",
    several: "Softmax over the classes, in the model's order",
    one: "Softmax over the classes, in the model's order",
  },
  sigmoid: {
    title: "Labels of the text",
    term: "label",
    several:
      "Sigmoid of each label separately, in the model's order. No softmax: the probabilities need not add up to 1",
    one: "Sigmoid of the one output; softmax does not apply",
  },
  identity: {
    title: "Value of the text",
    term: "output",
    several: "Regression: the value is the output itself; neither softmax nor sigmoid applies",
    one: "Regression: the value is the output itself; neither softmax nor sigmoid applies",
  },
} as const;
/** Content of the view, by task. */
interface Parts {
  readonly title: string;
  /** The answer in words; null before it is there. */
  readonly words: () => ComponentChildren;
  readonly Main: ComponentType | null;
  readonly more: ComponentChildren;
}

export const task: DrawView = (host, outer) => {
  const { source, state, report, signal: until } = outer;
  const { tokens, wordless = false } = source.meta;
  const scheme = schemeOf(tokens);
  let words: Promise<Words> | null = null;
  const context: TaskContext = {
    ...outer,
    selection: selectionOf(state, ["layer", "head", "token", "pair", "special", "scale"], until),
    mode: modeSignal(host, until),
    scheme,
    first: tokenName(tokens, 0, scheme),
    words: () =>
      (words ??= source.ask({ kind: "language" }, { signal: until }).then(
        ({ data }) => (Array.isArray(data.token_word) ? (data.token_word as Words) : null),
        () => null,
      )),
  };
  const { answer, failure, busy, ask } = asking<Classification>(until, report);
  const before = asking<{ readonly label: string; readonly probability: number } | null>(until);
  // A picture shows itself what the first token looks at.
  const FirstToken = wordless ? null : createFirstToken(context);

  const parts = signal<Parts>({ title: "Classifier", words: () => null, Main: null, more: null });

  const inWords = (found: Classification, push?: Push | null) =>
    classesInWords(
      found,
      tokens,
      (token) => tokenName(tokens, token, scheme),
      (token) => state.set({ token }),
      push,
    );

  function partsOf(found: Classification): Parts {
    if (found.task === "sequence") return ofText(found);
    const tokens = found.task === "token";
    return {
      title: tokens ? "Classes of the tokens" : "Answer",
      words: () => inWords(found),
      Main: (tokens ? createTokenClasses : createAnswerSpan)(host, context, found),
      more: null,
    };
  }

  /** One answer for the whole text: its classes, their gradients, and other texts. */
  function ofText(found: Classification): Parts {
    const column = classesOf(found, 0);
    const { title, term, several, one } = SEQUENCE[found.activation];
    const choice = classChoice(column);
    const compared = computed(() => choice.value.compared);
    const Gradients = createGradients(context, found, compared);
    const ComparisonTexts = createComparisonTexts(context, found, compared);
    const [best = 0, next] = largest(column.probabilities, 2);
    const against = next === undefined ? {} : { against: next };
    const request = whyRequest({ ...against, label: best });
    const push = asking<{ readonly of: Push | null }>(until);
    const asks = canPush(column) && (source.has?.(request) ?? source.live);
    const told = signal(!asks);
    if (asks)
      void push
        .ask(async (signal) => {
          const { arrays } = await source.ask(request, { signal });
          const values = arrays.get("values")?.data ?? [];
          return { of: pushOf(values, wordsOf(tokens)) };
        })
        .then(() => {
          told.value = true;
        });
    if (source.meta.heads_off?.length)
      void before.ask(async (signal) => {
        const { data } = await source.ask({ kind: "intact" }, { signal });
        return data.classes as { label: string; probability: number } | null;
      });
    return {
      title: wordless ? title.replace("text", "picture") : title,
      words: () => (told.value ? inWords(found, push.answer.value?.of) : null),
      Main: memo(function Classes() {
        return (
          <>
            {found.note !== "" && (
              <p class="aw-view-note" data-aw-part="activation-note">
                {found.note}
              </p>
            )}
            <ClassTable
              column={column}
              choice={choice}
              caption={next === undefined ? one : several}
              term={term}
              part="classes"
              compare={next !== undefined}
              formula
            >
              <WhyButton
                context={context}
                target={{ ...against, label: best }}
                name={termOf(column, best).label}
              />
            </ClassTable>
          </>
        );
      }),
      more: wordless ? null : (
        <>
          {Gradients !== null && <Gradients />}
          <ComparisonTexts />
        </>
      ),
    };
  }

  async function load(): Promise<void> {
    await ask(async (signal) => slicedClasses(await source.ask(CLASSIFICATION, { signal })));
    if (answer.value !== null) parts.value = partsOf(answer.value);
  }

  function View() {
    const { title, words, Main, more } = parts.value;
    const said = words();
    const why = failure.value;
    const intact = before.answer.value;
    return (
      <div class="aw-task" dir="ltr" aria-busy={busy.value ? "true" : undefined}>
        <div class="aw-panel-head">
          <h3 class="aw-title">{title}</h3>
        </div>
        {said === null || said === false ? (
          <SentenceLine silent={said === false} />
        ) : (
          <SentenceLine of={source.meta.tokens}>
            {said}
            {intact !== null && (
              <span class="aw-muted">
                {" With all heads: "}
                <bdi>{visible(intact.label)}</bdi>
                {` ${formatPercent(intact.probability)}`}
              </span>
            )}
          </SentenceLine>
        )}
        {busy.value && <p class="aw-hint">Loading the classes …</p>}
        <div class="aw-task-main" data-aw-part="task">
          {why !== null && <p class="aw-hint">{messageOf(why)}</p>}
          {Main !== null && <Main />}
        </div>
        {FirstToken !== null && <FirstToken />}
        {more}
      </div>
    );
  }

  mount(host, View, until);
  copyExactValues(host, until);
  const loaded = load();
  return {
    dispose: () => render(null, host),
    async table() {
      await loaded;
      return answer.value && classesTable(answer.value);
    },
  };
};

declare module "../../views/contract" {
  interface LazyCode {
    readonly task: typeof task;
  }
}
