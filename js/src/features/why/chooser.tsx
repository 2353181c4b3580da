/** Choice of the target: a word among those that the model would put there, a class, or one that was saved. */

import type { ComponentChildren } from "preact";
import { formatPercent, visible } from "../../figures/format";
import { nameOf } from "../../figures/targets";
import type { Meta } from "../../protocol/types";
import { Button, Segmented } from "../../ui/controls";
import { type Choice, type Question, questionOf, targetFrom } from "./data";
import type { WhyModel } from "./model";
import { Link } from "./rows";

/** Written in the text itself, a mask has nothing to be masked. */
const MASK = /^(\[MASK\]|<mask>)$/;

const chip = (name: string, pressed: boolean, pick: () => void, share = Number.NaN) => (
  <Button class="aw-why-chip" aria-pressed={pressed} onClick={pick}>
    <bdi>{visible(name)}</bdi>
    {!Number.isNaN(share) && <small class="aw-number">{formatPercent(share, 2)}</small>}
  </Button>
);

/** True if the model predicts what follows: then there is nothing to mask. */
const isNext = ({ model }: Meta): boolean => model.predicts === "next";

const row = (title: string, chips: ComponentChildren) => (
  <div class="aw-why-row aw-cluster" role="group" aria-label={title}>
    <span class="aw-muted">{title}</span>
    {chips}
  </div>
);

interface ChooserProps {
  readonly model: WhyModel;
  readonly meta: Meta;
  readonly label: (token: number) => string;
}

export function Chooser(props: ChooserProps) {
  const { model } = props;
  const { choosing } = model;
  const [listing, shown, saved] = [model.listing.value, model.shown.value, model.proposed.value];
  if (saved === null) return <div />;
  const isShown = (target: object): boolean =>
    JSON.stringify(target) === JSON.stringify(shown?.target);
  return (
    <div>
      {listing !== null && (
        <details
          class="aw-disclosure"
          open={choosing.value}
          data-aw-part="why-choose"
          onToggle={({ currentTarget: { open } }) => {
            choosing.value = open;
          }}
        >
          <summary>Change the question</summary>
          <div class="aw-why-choose aw-cluster">
            <Listing {...props} {...listing} />
          </div>
        </details>
      )}
      {model.held.value && (
        <Link words="Follow the focus token" act={model.release} part="why-follow" />
      )}
      {listing === null &&
        shown !== null &&
        saved.length > 1 &&
        row(
          "Explain",
          saved.map((described) => {
            const { target } = described;
            return chip(nameOf(described), isShown(target), () => model.choose(target));
          }),
        )}
    </div>
  );
}

interface ListingProps extends ChooserProps {
  readonly question: Question;
  readonly choices: readonly Choice[];
}

function Listing(props: ListingProps) {
  const { model, question, choices } = props;
  const chosen = model.shown.value;
  const target = chosen?.target ?? {};
  const same = chosen !== null && JSON.stringify(questionOf(target)) === JSON.stringify(question);
  const plus = same ? (target.token ?? target.label) : undefined;
  const minus = same ? (target.against ?? null) : null;
  const listed = [...choices];
  // The chosen entry stands among the choices, however unlikely.
  [plus, minus].forEach((id, i) => {
    if (typeof id === "number" && chosen !== null && !choices.some((choice) => choice.id === id)) {
      listed.push({ id, name: chosen.names[i] ?? String(id), probability: Number.NaN });
    }
  });
  const pick = (id: number | string, against: number | string | null) => () =>
    model.choose(targetFrom(question, id, against));
  const onKey = (event: KeyboardEvent): void => {
    const word = (event.currentTarget as HTMLInputElement).value.trim();
    if (event.key !== "Enter" || word === "") return;
    event.preventDefault();
    void model.write(question, word);
  };
  return (
    <>
      <Kinds {...props} />
      <Position {...props} />
      {listed.length > 0 &&
        row(
          "explain",
          <>
            {listed.map(({ id, name, probability }) =>
              chip(name, id === plus, pick(id, minus), probability),
            )}
            {question.of === "token" && (
              <input
                class="aw-why-word"
                size={10}
                placeholder="another word"
                aria-label="Another word to explain"
                maxLength={40}
                onKeyDown={onKey}
              />
            )}
          </>,
        )}
      {plus !== undefined &&
        listed.length > 1 &&
        row("rather than", [
          chip("nothing", minus === null, pick(plus, null)),
          ...listed
            .filter(({ id }) => id !== plus)
            .map(({ id, name }) => chip(name, id === minus, pick(plus, id))),
        ])}
    </>
  );
}

/** Words, classes or the next sentence, where the model has several heads. */
function Kinds({ model, meta, question }: ListingProps) {
  const { has } = meta.model;
  const word: Question =
    question.of === "token"
      ? question
      : { of: "token", position: model.firstWord, masked: !isNext(meta) };
  const ofClass: Question = question.of === "class" ? question : { of: "class", position: null };
  const offered: Record<string, Question> = {
    ...(has.mlm && { word }),
    ...(has.classifier && { class: ofClass }),
    ...(has.nsp &&
      meta.text_pair !== null && { "next sentence": { of: "next_sentence" } as const }),
  };
  const names = Object.keys(offered);
  if (names.length < 2) return null;
  return (
    <Segmented
      label="Kind of output"
      name="kind"
      options={names.map((name) => [name, name])}
      value={names.find((name) => offered[name]?.of === question.of) ?? ""}
      choose={(name) => {
        const other = offered[name] as Question;
        if (other.of === "next_sentence") model.choose({ next_sentence: true });
        else void model.list(other, true);
      }}
    />
  );
}

/** The position of a word, and whether it is masked; of a token that is classified. */
function Position({ model, meta, label, question }: ListingProps) {
  if (question.of === "next_sentence" || question.position === null) return null;
  const { tokens, masked } = meta;
  const { position } = question;
  const isMask =
    MASK.test(tokens.text[position] ?? "") || masked.some(({ token }) => token === position);
  return (
    <span class="aw-why-at aw-cluster">
      <span class="aw-why-place">
        {isNext(meta) ? "after " : "at "}
        <b>
          <bdi>{label(position)}</bdi>
        </b>
        <span class="aw-index aw-number"> {position}</span>
      </span>
      {question.of === "token" && !isMask && !isNext(meta) && (
        <Segmented
          label="Input"
          name="input"
          options={[
            ["masked", "masked"],
            ["as_is", "as is"],
          ]}
          value={question.masked ? "masked" : "as_is"}
          choose={(mode) => void model.list({ ...question, masked: mode === "masked" }, true)}
        />
      )}
    </span>
  );
}
