/** Choice of the target: a word among those that the model would put there, a class, or one that was saved. */

import type { ComponentChildren } from "preact";
import { formatPercent, visible } from "../../figures/format";
import { nameOf } from "../../figures/targets";
import type { Meta } from "../../protocol/types";
import { Segmented } from "../../ui/controls";
import { type Choice, type Question, questionOf, targetFrom } from "./choices";
import type { WhyModel } from "./model";

/** Written in the text itself, a mask has nothing to be masked. */
const MASK = /^(\[MASK\]|<mask>)$/;

interface ChooserProps {
  readonly model: WhyModel;
  readonly meta: Meta;
  readonly label: (token: number) => string;
}

export function Chooser(props: ChooserProps) {
  const { model } = props;
  const saved = model.proposed.value ?? [];
  const now = JSON.stringify(model.shown.value?.target);
  if (model.proposed.value === null) return <div />;
  return (
    <div>
      <div class="aw-why-choose" data-aw-part="why-choose">
        {model.listing.value !== null && <Listing {...props} {...model.listing.value} />}
        {model.listing.value === null && model.shown.value !== null && saved.length > 1 && (
          <Row title="Explain">
            {saved.map((target) => (
              <Chip
                key={JSON.stringify(target.target)}
                name={nameOf(target)}
                share={null}
                pressed={JSON.stringify(target.target) === now}
                pick={() => model.choose(target.target)}
              />
            ))}
          </Row>
        )}
      </div>
    </div>
  );
}

function Chip({
  name,
  share,
  pressed,
  pick,
}: {
  readonly name: string;
  readonly share: number | null;
  readonly pressed: boolean;
  readonly pick: () => void;
}) {
  return (
    <button type="button" class="aw-why-chip" aria-pressed={pressed} onClick={pick}>
      <bdi>{visible(name)}</bdi>
      {share !== null && <small class="aw-number">{formatPercent(share, 2)}</small>}
    </button>
  );
}

const Row = ({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
}) => (
  <div class="aw-why-row" role="group" aria-label={title}>
    <span class="aw-muted">{title}</span>
    {children}
  </div>
);

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
  const known = [...choices];
  // The chosen entry stands among the choices, however unlikely.
  [plus, minus].forEach((id, i) => {
    if (typeof id === "number" && chosen !== null && !choices.some((choice) => choice.id === id)) {
      known.push({ id, name: chosen.names[i] ?? String(id), probability: Number.NaN });
    }
  });
  const pick = (id: Choice["id"], against: typeof minus) => () =>
    model.choose(targetFrom(question, id, against));
  return (
    <>
      <Kinds {...props} />
      <Place {...props} />
      {known.length > 0 && (
        <Row title="explain">
          {known.map(({ id, name, probability }) => (
            <Chip
              key={id}
              name={name}
              share={Number.isNaN(probability) ? null : probability}
              pressed={id === plus}
              pick={pick(id, minus as number | null)}
            />
          ))}
          {question.of === "token" && (
            <input
              class="aw-why-word"
              size={10}
              placeholder="another word"
              aria-label="Another word to explain"
              maxLength={40}
              onKeyDown={(event) => {
                const word = event.currentTarget.value.trim();
                if (event.key !== "Enter" || word === "") return;
                event.preventDefault();
                void model.write(question, word);
              }}
            />
          )}
        </Row>
      )}
      {plus !== undefined && known.length > 1 && (
        <Row title="rather than">
          <Chip
            name="nothing"
            share={null}
            pressed={minus === null}
            pick={() => model.choose(targetFrom(question, plus, null))}
          />
          {known
            .filter(({ id }) => id !== plus)
            .map(({ id, name }) => (
              <Chip
                key={id}
                name={name}
                share={null}
                pressed={id === minus}
                pick={() => model.choose(targetFrom(question, plus, id))}
              />
            ))}
        </Row>
      )}
    </>
  );
}

/** Words, classes or the next sentence, where the model has several heads. */
function Kinds({ model, meta, question }: ListingProps) {
  const { has } = meta.model;
  const offered: Record<string, Question> = {
    ...(has.mlm && {
      word:
        question.of === "token"
          ? question
          : ({ of: "token", position: model.firstWord, masked: true } as const),
    }),
    ...(has.classifier && {
      class: question.of === "class" ? question : ({ of: "class", position: null } as const),
    }),
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

/** The position of a word, and whether it is masked. */
function Place({ model, meta: { tokens, masked }, label, question }: ListingProps) {
  if (question.of !== "token") return null;
  const { position } = question;
  const where = (
    <span class="aw-why-place">
      at{" "}
      <b>
        <bdi>{label(position)}</bdi>
      </b>
      <span class="aw-index aw-number"> {position}</span>
    </span>
  );
  const isMask =
    MASK.test(tokens.text[position] ?? "") || masked.some(({ token }) => token === position);
  if (isMask) return where;
  return (
    <span class="aw-why-at">
      {where}
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
    </span>
  );
}
