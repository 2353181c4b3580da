/** A row of the predictions: one position of the input. */

import { h } from "../draw/dom";
import {
  exact,
  formatCount,
  formatOrdinal,
  formatPercent,
  spokenToken,
  type TokenScheme,
  tokenElement,
  tokenLabel,
} from "../draw/format";
import type { TokenColumns } from "../types";
import type { Predictions } from "./predictions-data";

export function headerRow(topK: number): HTMLElement {
  const head = (text: string, className = ""): HTMLElement =>
    h("span", { role: "columnheader", class: className }, text);
  return h(
    "div",
    { role: "row", class: "aw-position-head" },
    head("#", "aw-index"),
    head("token"),
    h(
      "span",
      { role: "columnheader", title: "Rank and probability of the token that stands there" },
      "original",
      h("span", { class: "aw-wide-only" }, ": rank, prob."),
    ),
    ...Array.from({ length: topK }, (_, rank) => head(formatOrdinal(rank + 1))),
  );
}

/** A row without its cells, which `fillRow` adds: hundreds of them cost little until they are in sight. */
export function createRow(position: number, special: boolean): HTMLElement {
  return h("div", {
    role: "row",
    class: special ? "aw-position is-special" : "aw-position",
    "data-position": position,
    "aria-rowindex": position + 2,
  });
}

/** Add the cells: position, token, original token's rank and probability, the predictions. */
export function fillRow(
  row: HTMLElement,
  predictions: Predictions,
  position: number,
  scheme: TokenScheme,
  tokens: TokenColumns,
): void {
  const { topK, ids, probabilities, vocabulary, originalRank, originalProbability } = predictions;
  const originalId = tokens.id[position];
  const label = tokenLabel(tokens.text[position], scheme, tokens.surface[position]);
  const probability = originalProbability.data[position];
  const rank = originalRank.data[position];
  const cell = (attributes: Parameters<typeof h>[1], ...children: Node[]): HTMLElement =>
    h(
      "span",
      { role: "gridcell" },
      h(
        "button",
        { type: "button", tabindex: -1, "data-position": position, ...attributes },
        ...children,
      ),
    );
  const bar = (share: number): string => `--share: ${share.toFixed(4)}`;
  const cells = Array.from({ length: topK }, (_, k) => {
    const id = ids.data[position * topK + k];
    const share = probabilities.data[position * topK + k];
    const predicted = tokenLabel(vocabulary[id] ?? String(id), scheme);
    const same = id === originalId;
    return cell(
      {
        class: same ? "aw-guess aw-prediction is-original" : "aw-guess aw-prediction",
        style: bar(share),
        title: `${predicted.text}${predicted.word === null ? "" : ` (${predicted.word})`}, id ${id}: ${exact(share)}`,
        "data-rank": k + 1,
        "data-token-id": id,
        "data-aw-value": exact(share),
        "aria-expanded": "false",
        "aria-label": `${formatOrdinal(k + 1)}: ${spokenToken(predicted)}, ${formatPercent(share)}${same ? ", the original token" : ""}`,
      },
      tokenElement(predicted),
      h("span", { class: "aw-share" }, formatPercent(share)),
    );
  });
  row.append(
    h("span", { role: "rowheader", class: "aw-index" }, String(position)),
    cell(
      {
        class: "aw-guess aw-position-token",
        "aria-pressed": "false",
        title: `${label.text}, id ${originalId}`,
        "aria-label": `Position ${position}: ${spokenToken(label)}`,
      },
      tokenElement(label),
    ),
    cell(
      {
        class: rank === 1 ? "aw-guess aw-original is-first" : "aw-guess aw-original",
        style: bar(probability),
        title: `${label.text}: rank ${rank}, probability ${exact(probability)}`,
        "data-token-id": originalId,
        "data-aw-rank": rank,
        "data-aw-value": exact(probability),
        "aria-expanded": "false",
        "aria-label": `Original ${spokenToken(label)}: ${formatOrdinal(rank)}, ${formatPercent(probability)}`,
      },
      h("span", { class: "aw-rank" }, formatCount(rank)),
      h("span", { class: "aw-share" }, formatPercent(probability)),
    ),
    ...cells,
  );
}
