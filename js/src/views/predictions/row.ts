/** A row of the predictions: one position of the input. */

import { h } from "../../draw/dom";
import {
  ABSENT,
  exact,
  formatCount,
  formatOrdinal,
  formatPercent,
  spokenToken,
  type TokenScheme,
  tokenElement,
  tokenLabel,
  visible,
} from "../../figures/format";
import { itemAt } from "../../protocol/required";
import type { Meta } from "../../protocol/types";
import type { Predictions } from "./data";

export interface RowContext {
  readonly meta: Meta;
  readonly scheme: TokenScheme;
  /** Positions that are masked, as far as the reader has asked; null where nothing can be run. */
  readonly masks: ReadonlySet<number> | null;
}

export function headerRow(topK: number, masks: boolean): HTMLElement {
  const head = (text: string, className = ""): HTMLElement =>
    h("span", { role: "columnheader", class: className }, text);
  return h(
    "div",
    { role: "row", class: "aw-position-head" },
    head("#", "aw-index"),
    head("token"),
    masks ? head("mask", "aw-mask-head") : null,
    h(
      "span",
      { role: "columnheader", title: "Rank and probability of the text's own token" },
      "original",
      h("span", { class: "aw-wide-only" }, ": rank, prob."),
    ),
    ...Array.from({ length: topK }, (_, rank) => head(formatOrdinal(rank + 1))),
  );
}

/** A row without its cells, which `fillRow` adds: hundreds of them cost little until they are in sight. */
export function createRow(position: number, { tokens, masked }: Meta): HTMLElement {
  const hidden = masked.some(({ token }) => token === position);
  const kind = hidden ? " is-masked" : tokens.special[position] ? " is-special" : "";
  return h("div", {
    role: "row",
    class: `aw-position${kind}`,
    "data-position": position,
    "aria-rowindex": position + 2,
  });
}

type Attributes = Parameters<typeof h>[1];

/** A cell with a button whose name is what is written on it and then what `says` adds. */
function guessCell(
  position: number,
  says: string,
  attributes: Attributes,
  ...children: HTMLElement[]
): HTMLElement {
  // Between flex items a space takes no room; in the name it parts token and number.
  const spaced = children.flatMap((child, i) => (i === 0 ? [child] : [" ", child]));
  const button = h("button", { tabindex: -1, "data-position": position, ...attributes }, ...spaced);
  const written = button.textContent.trim();
  button.setAttribute("aria-label", written === "" ? says : `${written}, ${says}`);
  return h("span", { role: "gridcell" }, button);
}

/** Position, token, and where runs can be started the switch that masks it. */
function leadingCells(
  position: number,
  { meta: { tokens, masked }, scheme, masks }: RowContext,
): HTMLElement[] {
  const text = itemAt(tokens.text, position);
  const label = tokenLabel(text, scheme, tokens.surface[position]);
  const was = masked.find(({ token }) => token === position);
  const name = visible(was?.text ?? text);
  const cells = [
    h("span", { role: "rowheader", class: "aw-index" }, String(position)),
    guessCell(
      position,
      `position ${position}${was ? `: masked, ${name}` : ""}`,
      {
        class: "aw-guess aw-position-token",
        "aria-pressed": "false",
        title: `${label.text}, id ${tokens.id[position]}`,
      },
      // The original is shown next to its rank; this cell shows what the model read.
      was ? tokenElement({ text, word: null }) : tokenElement(label),
    ),
  ];
  if (masks === null) return cells;
  const cannot = tokens.special[position] && was === undefined;
  const box = guessCell(
    position,
    `Mask ${name}, position ${position}`,
    {
      class: "aw-guess aw-mask-token",
      "data-aw-part": "mask-token",
      "data-token": position,
      "aria-pressed": String(masks.has(position)),
      title: masks.has(position) ? `Show ${name} again` : `Mask ${name} and run again`,
    },
    h("i", { "aria-hidden": "true" }),
  );
  return [...cells, cannot ? h("span", { role: "gridcell" }) : box];
}

/** The cells of a position whose answer has not come. */
export function fillWaiting(row: HTMLElement, position: number, context: RowContext): void {
  row.append(
    ...leadingCells(position, context),
    h("span", { role: "gridcell", class: "aw-row-waiting", title: "Not run yet" }, ABSENT),
  );
}

/** Add the cells: position, token, original token's rank and probability, the predictions. */
export function fillRow(
  row: HTMLElement,
  predictions: Predictions,
  position: number,
  context: RowContext,
): void {
  const { topK, ids, probabilities, vocabulary, originalRank, originalProbability } = predictions;
  const { scheme, meta } = context;
  const was = meta.masked.find(({ token }) => token === position);
  const originalId = was?.id ?? itemAt(meta.tokens.id, position);
  const label =
    was === undefined
      ? tokenLabel(itemAt(meta.tokens.text, position), scheme, meta.tokens.surface[position])
      : tokenLabel(was.text, scheme);
  const probability = itemAt(originalProbability.data, position);
  const rank = itemAt(originalRank.data, position);
  const bar = (share: number): string => `--share: ${share.toFixed(4)}`;
  const cells = Array.from({ length: topK }, (_, k) => {
    const id = itemAt(ids.data, position * topK + k);
    const share = itemAt(probabilities.data, position * topK + k);
    const predicted = tokenLabel(vocabulary[id] ?? String(id), scheme);
    const same = id === originalId;
    return guessCell(
      position,
      `${formatOrdinal(k + 1)}${same ? ", the original token" : ""}`,
      {
        class: same ? "aw-guess aw-prediction is-original" : "aw-guess aw-prediction",
        style: bar(share),
        title: `${predicted.text}${predicted.word === null ? "" : ` (${predicted.word})`}, id ${id}: ${exact(share)}`,
        "data-rank": k + 1,
        "data-token-id": id,
        "data-aw-value": exact(share),
        "aria-expanded": "false",
      },
      tokenElement(predicted),
      h("span", { class: "aw-share" }, formatPercent(share)),
    );
  });
  row.append(
    ...leadingCells(position, context),
    guessCell(
      position,
      `original ${spokenToken(label)}: ${formatOrdinal(rank)}, ${formatPercent(probability)}`,
      {
        class: `aw-guess aw-original${rank === 1 ? " is-first" : ""}`,
        style: bar(probability),
        title: `${label.text}: rank ${rank}, probability ${exact(probability)}`,
        "data-token-id": originalId,
        "data-aw-rank": rank,
        "data-aw-value": exact(probability),
        "aria-expanded": "false",
      },
      h(
        "span",
        { class: "aw-rank" },
        ...(was === undefined ? [] : [h("bdi", { class: "aw-was" }, label.text), " "]),
        formatCount(rank),
      ),
      h("span", { class: "aw-share" }, formatPercent(probability)),
    ),
    ...cells,
  );
}
