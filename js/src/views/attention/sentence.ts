/** One line in words above the pictures: what the focus word attends to, or the strongest link of all. */

import { h } from "../../draw/dom";
import { repeated } from "../../figures/derive/units";
import { exact, formatNumber } from "../../figures/format";
import { errorOf, type Matrix } from "../../figures/matrix";
import { matrixName } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import type { TokenFacts } from "./facts";

/** A query and a key, as units. */
type Link = readonly [row: number, key: number];

/** The largest weight of some rows among the keys that `counts` takes; null where all are 0. */
function strongest(
  { weights, size }: Matrix,
  [first, end]: readonly [number, number],
  counts: (row: number, key: number) => boolean,
): Link | null {
  let strongest: Link | null = null;
  let most = 0;
  for (let row = first; row < end; row++) {
    for (let key = 0; key < size; key++) {
      const weight = weights[row * size + key] as number;
      if (weight > most && counts(row, key)) {
        most = weight;
        strongest = [row, key];
      }
    }
  }
  return strongest;
}

/** Sentence for one focus row, or for all rows if `focus` is -1; null if there is none. */
export function sentenceOf(
  matrix: Matrix,
  focus: number,
): { readonly link: Link; readonly more: Link | null } | null {
  const { units, size } = matrix;
  const word = (unit: number): boolean => units[unit]?.special === false;
  if (focus < 0) {
    const link = strongest(matrix, [0, size], (row, key) => row !== key && word(row) && word(key));
    return link === null ? null : { link, more: null };
  }
  const rows = [focus, focus + 1] as const;
  const any = strongest(matrix, rows, () => true);
  const link = strongest(matrix, rows, (row, key) => row !== key && word(key)) ?? any;
  if (link === null || any === null) return null;
  return { link, more: any[1] === link[1] ? null : any };
}

/** `L2 · H3: it attends to large 0.270, most to [SEP] 0.413`. */
export function writeSentence(
  line: HTMLElement,
  matrix: Matrix,
  focus: number,
  labels: readonly string[],
  facts: TokenFacts,
): void {
  const sentence = sentenceOf(matrix, focus);
  line.hidden = sentence === null;
  if (sentence === null) return;
  const { link, more } = sentence;
  const twice = repeated(labels);
  const named = (unit: number): HTMLElement => {
    const label = itemAt(labels, unit);
    return h(
      "span",
      {},
      h("bdi", { dir: "ltr" }, label),
      twice.has(label)
        ? h("span", { class: "aw-muted aw-nth" }, String(matrix.units[unit]?.token))
        : null,
    );
  };
  const figure = ([row, key]: Link): HTMLElement => {
    const value = itemAt(matrix.weights, row * matrix.size + key);
    const error = errorOf(matrix, value);
    const whole = exact(value, error);
    return h(
      "span",
      { class: "aw-number", "data-aw-value": whole, title: whole },
      formatNumber(value, undefined, error),
    );
  };
  const verb = matrix.quantity === "weights" ? " attends to " : " comes from ";
  const window = facts.window(itemAt(matrix.units, link[0]).token);
  line.replaceChildren(
    `${matrixName(matrix)}${window === null ? "" : `, ${window}`}: `,
    named(link[0]),
    verb,
    link[1] === link[0] ? "itself" : named(link[1]),
    " ",
    figure(link),
    ...(more === null
      ? []
      : [
          matrix.quantity === "weights" ? ", most to " : ", most from ",
          more[1] === more[0] ? "itself" : named(more[1]),
          " ",
          figure(more),
        ]),
    focus < 0 ? ", the strongest link between words" : "",
  );
}
