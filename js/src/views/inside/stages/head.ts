/** The end of the pipeline: the five best guesses of the masked-LM head, and the classes. */

import { h } from "../../../draw/dom";
import {
  exact,
  formatNumber,
  formatOrdinal,
  formatPercent,
  tokenElement,
  tokenLabel,
} from "../../../figures/format";
import { schemeOf } from "../../../figures/names";
import { arrayOf, itemAt, required } from "../../../protocol/required";
import { type Content, ofDimensions, type Place } from "../content";

const TOP = 5;

interface Entry {
  readonly id: number;
  readonly token: string;
  readonly logit: number;
  readonly probability: number;
  readonly rank: number;
}

function bar(name: Node, value: number, most: number, logit: number): HTMLElement {
  const fill = h("i", { "aria-hidden": "true" });
  fill.style.inlineSize = `${most > 0 ? (100 * value) / most : 0}%`;
  return h(
    "li",
    { class: "aw-inside-guess" },
    name,
    h("span", { class: "aw-inside-unit-track" }, fill),
    h(
      "span",
      {
        class: "aw-number",
        "data-aw-value": Number.isNaN(value) ? null : exact(value),
        title: Number.isNaN(value) ? "no probability" : exact(value),
      },
      formatPercent(value),
    ),
    h(
      "span",
      {
        class: "aw-number aw-muted",
        "data-aw-value": exact(logit),
        title: `logit ${exact(logit)}`,
      },
      `logit ${formatNumber(logit)}`,
    ),
  );
}

const link = (place: Place, view: string, text: string): HTMLElement => {
  const button = h("button", { class: "aw-inside-link" }, text);
  const { stage, token } = place;
  button.addEventListener("click", () => stage.state.set({ view, token }));
  return button;
};

export async function mlm(place: Place): Promise<Content> {
  const { stage, token, signal } = place;
  const { tokens } = stage.source.meta;
  const ask = (extra: Record<string, unknown>) =>
    stage.source.slice({ kind: "softmax", position: token, ...extra }, { signal });
  const own = itemAt(tokens.id, token);
  const [best, original] = await Promise.all([
    ask({}),
    // A saved page lists the best ones only.
    ask({ token_ids: [own] }).catch(() => null),
  ]);
  const entries = best.data.entries as readonly Entry[];
  const scheme = schemeOf(tokens);
  const top = entries.slice(0, TOP);
  const itself =
    entries.find(({ id }) => id === own) ??
    (original?.data.entries as readonly Entry[] | undefined)?.[0];
  const list = h(
    "ol",
    { class: "aw-inside-guesses", "data-aw-part": "guesses" },
    ...top.map(({ token: text, probability, logit }) =>
      bar(tokenElement(tokenLabel(text, scheme)), probability, itemAt(top, 0).probability, logit),
    ),
  );
  const note = h("p", { class: "aw-view-note" });
  note.append(
    "softmax over the whole vocabulary, for the unmasked input: the model also sees the token at this position. ",
  );
  if (itself !== undefined) {
    note.append(
      h("bdi", { dir: "ltr" }, itemAt(tokens.text, token)),
      ` itself ranks ${formatOrdinal(itself.rank)}, with `,
      h(
        "span",
        { class: "aw-number", "data-aw-value": exact(itself.probability) },
        formatPercent(itself.probability),
      ),
      ".",
    );
  }
  const text = itemAt(tokens.text, token);
  return ofDimensions([], 1, () => [], {
    below: [list, note, link(place, "predictions", "See every position in Predictions")],
    table: entries.flatMap(({ id, logit, probability }) => [
      ["logit", null, null, token, text, id, logit],
      ["probability", null, null, token, text, id, probability],
    ]),
  });
}

const OF_A_TEXT: Readonly<Record<string, string>> = {
  softmax: "softmax(W h + b) over the classes, for the whole text.",
  sigmoid: "sigmoid(W h + b) of each label separately, for the whole text.",
  identity: "W h + b for the whole text: a regression's value, without a probability.",
};

export async function classifier(place: Place): Promise<Content> {
  const { stage, token, signal } = place;
  const slice = await stage.source.slice({ kind: "classification" }, { signal });
  const { data } = slice;
  const labels = data.labels as readonly string[];
  // A regression has values, and NaN for probabilities.
  const { data: probabilities, shape } = arrayOf(slice, "probabilities");
  const logits = arrayOf(slice, "logits").data;
  const rows = itemAt(shape, 0);
  // One row for the whole text, or one for each position.
  const offset = rows === 1 ? 0 : token * labels.length;
  const order = labels
    .map((_, c) => c)
    .sort((a, b) => itemAt(logits, offset + b) - itemAt(logits, offset + a));
  const shown = order.slice(0, 2 * TOP);
  const most = itemAt(probabilities, offset + itemAt(order, 0));
  const list = h(
    "ol",
    { class: "aw-inside-guesses", "data-aw-part": "guesses" },
    ...shown.map((c) =>
      bar(
        h("bdi", {}, itemAt(labels, c)),
        itemAt(probabilities, offset + c),
        most,
        itemAt(logits, offset + c),
      ),
    ),
  );
  const position = rows === 1 ? 0 : token;
  const text = itemAt(stage.source.meta.tokens.text, position);
  const note = h(
    "p",
    { class: "aw-view-note" },
    rows === 1
      ? required(OF_A_TEXT[String(data.activation)], "The activation")
      : "softmax(W h + b) at this position.",
  );
  return ofDimensions([], 1, () => [], {
    below: [list, note, link(place, "task", "Open it in Task")],
    table: labels.flatMap((_, c) => [
      ["logit", null, null, position, text, c, itemAt(logits, offset + c)],
      ...(Number.isNaN(itemAt(probabilities, offset + c))
        ? []
        : [
            [
              "probability",
              null,
              null,
              position,
              text,
              c,
              itemAt(probabilities, offset + c),
            ] as const,
          ]),
    ]),
  });
}
