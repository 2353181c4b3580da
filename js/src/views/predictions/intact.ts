/** The model's answer before heads were switched off: first choices that changed, with what is left of them. */

import { h } from "../../draw/dom";
import { exact, formatCount, formatPercent, visible } from "../../figures/format";
import { isAbort } from "../../protocol/failure";
import { arrayOf, itemAt } from "../../protocol/required";
import type { Slice } from "../../protocol/types";
import type { RunContext } from "../contract";
import { paintedPredictions } from "./data";
import { nextSentence } from "./pair";

/** Changed positions that are listed. */
const LISTED = 12;

export interface Changed {
  readonly position: number;
  readonly before: string;
  readonly probability: number;
  /** Probability of the earlier first choice, now. */
  readonly left: number;
  /** Whether another one is first now. */
  readonly changed: boolean;
}

/** Positions whose first choice is another one now (`now` holds the ids), or has lost more than half. */
export function changedIn(
  slice: Slice,
  now: ArrayLike<number>,
  special: readonly boolean[],
): Changed[] {
  const ids = arrayOf(slice, "ids").data;
  const vocabulary = slice.data.vocabulary as Readonly<Record<string, string>>;
  return Array.from(ids, (id, position) => ({
    position,
    before: vocabulary[id] ?? String(id),
    probability: itemAt(arrayOf(slice, "probabilities").data, position),
    left: itemAt(arrayOf(slice, "left").data, position),
    changed: id !== now[position],
  })).filter(
    ({ position, changed, probability, left }) =>
      special[position] !== true && (changed || left < probability / 2),
  );
}

const share = (value: number): HTMLElement =>
  h(
    "span",
    { class: "aw-number", "data-aw-value": exact(value), title: exact(value) },
    formatPercent(value),
  );

/** A list of what changed; null where all heads are on. */
export function beforeHeads(context: RunContext): HTMLElement | null {
  const { source, state, signal } = context;
  const { heads_off: off = [], tokens } = source.meta;
  const painted = paintedPredictions(source);
  if (off.length === 0 || painted === null || painted.mode !== "as_is") return null;
  const element = h("div", { class: "aw-intact", "data-aw-part": "intact" });
  const heads = off.length === 1 ? "1 head" : `${formatCount(off.length)} heads`;
  source
    .slice({ kind: "intact" }, { signal })
    .then((slice) => {
      const { topK } = painted;
      const now = Array.from(tokens.text, (_, i) => itemAt(painted.ids.data, i * topK));
      const moved = changedIn(slice, now, tokens.special);
      const count = moved.filter(({ changed }) => changed).length;
      const rows = moved.slice(0, LISTED).map(({ position, before, probability, left }) => {
        const button = h(
          "button",
          { class: "aw-intact-at", "data-token": position },
          h("span", { class: "aw-number aw-muted" }, String(position)),
          " ",
          h("bdi", { dir: "ltr" }, visible(tokens.text[position] ?? "")),
        );
        button.addEventListener("click", () => state.set({ token: position }), { signal });
        return h(
          "li",
          { "data-token": position },
          button,
          h("span", { class: "aw-muted" }, "was "),
          h("bdi", { dir: "ltr" }, visible(before)),
          " ",
          share(probability),
          h("span", { class: "aw-muted" }, "now "),
          share(left),
        );
      });
      const words = tokens.special.filter((isSpecial) => !isSpecial).length;
      element.replaceChildren(
        h(
          "p",
          { class: "aw-view-note" },
          `Without ${heads} the first choice changes at ${formatCount(count)} of ${formatCount(words)} positions` +
            (moved.length > rows.length
              ? `; the first ${rows.length} that changed or lost half:`
              : "."),
        ),
        ...(rows.length === 0 ? [] : [h("ul", { class: "aw-masked-strip" }, ...rows)]),
      );
    })
    .catch((error: unknown) => {
      if (!isAbort(error)) element.replaceChildren(); // a saved page may lack it
    });
  return element;
}

/** Panels above the list: the next sentence, and what changed without the heads that are off. */
export const panelsAbove = (context: RunContext): HTMLElement[] =>
  [nextSentence(context), beforeHeads(context)].filter((panel) => panel !== null);
