/** The end of the pipeline: the best guesses of the masked-LM head, and the classes. */

import type { ComponentChild } from "preact";
import { largest } from "../../../figures/derive/matrix";
import {
  exact,
  formatNumber,
  formatOrdinal,
  formatPercent,
  tokenLabel,
} from "../../../figures/format";
import { schemeOf } from "../../../figures/names";
import { arrayOf, itemAt, required } from "../../../protocol/required";
import type { SliceRequest } from "../../../protocol/types";
import { Percent } from "../../../ui/figure";
import { TokenText } from "../../../ui/token";
import { Bar, Link, Name } from "../bars";
import { type Content, ofDimensions, type StageContext } from "../content";

const TOP = 5;

interface Entry {
  readonly id: number;
  readonly name: ComponentChild;
  readonly logit: number;
  /** NaN where there is none. */
  readonly probability: number;
}

/** The best of some entries, a note on how they were computed, and the view that has more of them. */
function guesses(
  { view: { source, state }, token }: StageContext,
  best: readonly Entry[],
  note: ComponentChild,
  [view, words]: readonly [view: string, words: string],
  { position, all }: { readonly position: number; readonly all: readonly Entry[] },
): Content {
  const most = itemAt(best, 0).probability;
  const text = itemAt(source.meta.tokens.text, position);
  const below = (
    <>
      <ol class="aw-inside-bars aw-stack" data-aw-part="guesses">
        {best.map(({ id, name, logit, probability }) => {
          const absent = Number.isNaN(probability);
          return (
            <li key={id} class="aw-inside-guess aw-small">
              {name}
              <Bar share={most > 0 ? probability / most : 0} />
              <span
                class="aw-number"
                data-aw-value={absent ? undefined : exact(probability)}
                title={absent ? "no probability" : exact(probability)}
              >
                {formatPercent(probability)}
              </span>
              <span
                class="aw-number aw-muted"
                data-aw-value={exact(logit)}
                title={`logit ${exact(logit)}`}
              >{`logit ${formatNumber(logit)}`}</span>
            </li>
          );
        })}
      </ol>
      <p class="aw-view-note">{note}</p>
      <Link act={() => state.set({ view, token })}>{words}</Link>
    </>
  );
  const table = all.flatMap(({ id, logit, probability }) =>
    Object.entries({ logit, probability })
      .filter(([, value]) => !Number.isNaN(value))
      .map(([name, value]) => [name, null, null, position, text, id, value] as const),
  );
  return ofDimensions([], 1, () => [], { below, table });
}

export async function mlm(stage: StageContext): Promise<Content> {
  const { view, token, signal } = stage;
  const { tokens } = view.source.meta;
  const scheme = schemeOf(tokens);
  type Answered = Entry & { readonly token: string; readonly rank: number };
  const ask = async (ids?: readonly number[]): Promise<readonly Answered[]> => {
    const request: SliceRequest<"softmax"> = {
      ...{ kind: "softmax", position: token },
      ...(ids === undefined ? {} : { token_ids: ids }),
    };
    const { data } = await view.source.ask(request, { signal });
    return (data.entries as readonly Answered[]).map((entry) => ({
      ...entry,
      name: <TokenText {...tokenLabel(entry.token, scheme)} />,
    }));
  };
  const own = itemAt(tokens.id, token);
  const [entries, original] = await Promise.all([
    ask(),
    // A saved page has only the best ones.
    ask([own]).catch(() => null),
  ]);
  const itself = entries.find(({ id }) => id === own) ?? original?.[0];
  const note = (
    <>
      {
        "softmax over the whole vocabulary, for the unmasked input: the model also sees the token at this position. "
      }
      {itself !== undefined && (
        <>
          <Name text={itemAt(tokens.text, token)} />
          {` itself ranks ${formatOrdinal(itself.rank)}, with `}
          <Percent value={itself.probability} />.
        </>
      )}
    </>
  );
  return guesses(
    stage,
    entries.slice(0, TOP),
    note,
    ["predictions", "See every position in Predictions"],
    { position: token, all: entries },
  );
}

const OF_A_TEXT: Readonly<Record<string, string>> = {
  softmax: "softmax(W h + b) over the classes, for the whole text.",
  sigmoid: "sigmoid(W h + b) of each label separately, for the whole text.",
  identity: "W h + b for the whole text: a regression's value, without a probability.",
};

export async function classifier(stage: StageContext): Promise<Content> {
  const { view, token, signal } = stage;
  const slice = await view.source.ask({ kind: "classification" }, { signal });
  const labels = slice.data.labels as readonly string[];
  // A regression has values, and NaN for probabilities.
  const { data: probabilities, shape } = arrayOf(slice, "probabilities");
  const logits = arrayOf(slice, "logits").data;
  // One row for the whole text, or one for each position.
  const position = shape[0] === 1 ? 0 : token;
  const all = labels.map((label, id) => ({
    id,
    name: <bdi>{label}</bdi>,
    logit: itemAt(logits, position * labels.length + id),
    probability: itemAt(probabilities, position * labels.length + id),
  }));
  const note =
    shape[0] === 1
      ? required(OF_A_TEXT[String(slice.data.activation)], "The activation")
      : "softmax(W h + b) at this position.";
  const best = largest(
    all.map(({ logit }) => logit),
    2 * TOP,
  ).map((id) => itemAt(all, id));
  return guesses(stage, best, note, ["task", "Open it in Task"], { position, all });
}
