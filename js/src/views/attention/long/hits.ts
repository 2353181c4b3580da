/** Places that the find box has found, each with the words around it, as a list; a click goes there. */

import { h, setAttributes } from "../../../draw/dom";
import { refill, rove } from "../../../draw/roving";
import { formatCount } from "../../../figures/format";
import type { Hit } from "../../../figures/long/store";
import type { TokenColumns } from "../../../protocol/types";

/** Rows of the list; more hits are reached by the arrows of the find box. */
const SHOWN = 200;
/** Tokens on each side of a hit. */
const AROUND = 5;

export interface HitList {
  readonly element: HTMLElement;
  show(hits: readonly Hit[], at: number): void;
}

/** The text of tokens `[from, to)` as it stands, line breaks as spaces. */
export function excerpt(tokens: TokenColumns, from: number, to: number): string {
  let written = "";
  for (let i = Math.max(0, from); i < Math.min(tokens.text.length, to); i++) {
    if (tokens.special[i] !== true)
      written += `${tokens.before[i] ?? ""}${tokens.surface[i] ?? ""}`;
  }
  return written.replace(/\s+/g, " ");
}

export function hitList(
  tokens: TokenColumns,
  go: (index: number) => void,
  signal: AbortSignal,
): HitList {
  const count = h("span", { class: "aw-muted" });
  const list = h("ol", { class: "aw-long-list", "data-aw-part": "hits" });
  rove(list, signal);
  const element = h(
    "div",
    { class: "aw-long-hits", hidden: true },
    h("div", { class: "aw-panel-head" }, h("h4", { class: "aw-title" }, "Found"), count),
    list,
  );
  let shown: readonly Hit[] = [];
  list.addEventListener(
    "click",
    (event) => {
      const button = (event.target as Element).closest<HTMLElement>("[data-hit]");
      if (button !== null) go(Number(button.dataset.hit));
    },
    { signal },
  );
  return {
    element,
    show(hits, at) {
      element.hidden = hits.length === 0;
      if (hits !== shown) {
        shown = hits;
        count.textContent =
          hits.length > SHOWN
            ? `the first ${SHOWN} of ${formatCount(hits.length)}`
            : formatCount(hits.length);
        refill(
          list,
          hits.slice(0, SHOWN).map(([from, to], i) => {
            const { before } = tokens;
            // The space before a hit belongs to what precedes it.
            const space = /\s$/.test(before[from] ?? "") ? " " : "";
            return h(
              "li",
              {},
              h(
                "button",
                { class: "aw-long-link aw-long-hit", "data-token": from, "data-hit": i },
                h("span", { class: "aw-muted aw-number" }, String(from)),
                h(
                  "bdi",
                  {},
                  `${excerpt(tokens, from - AROUND, from)}${space}`,
                  h("b", {}, excerpt(tokens, from, to).trim()),
                  excerpt(tokens, to, to + AROUND),
                ),
              ),
            );
          }),
        );
      }
      for (const button of list.querySelectorAll<HTMLElement>("button")) {
        const here = Number(button.dataset.hit) === at;
        if (here !== (button.getAttribute("aria-current") === "true")) {
          setAttributes(button, { "aria-current": here ? "true" : null });
          if (here) list.scrollTop = button.offsetTop - list.offsetTop - list.clientHeight / 2;
        }
      }
    },
  };
}
