/** The strongest links of the head as a list: special tokens, neighbors and self by choice; a click goes there. */

import { h, setAttributes } from "../../../draw/dom";
import { refill, rove } from "../../../draw/roving";
import { exact, formatCount, formatNumber } from "../../../figures/format";
import type { LinkList } from "../../../figures/long/store";
import { windowOf } from "../../../figures/long/windows";
import { itemAt } from "../../../protocol/required";
import type { ViewContext } from "../../contract";

export interface ListChoice {
  readonly special: boolean;
  readonly neighbors: boolean;
  readonly itself: boolean;
  /** From this weight on, where one was asked for. */
  readonly least: number | null;
}

/** Rows in sight; all of them are a scroll away. */
const SHOWN = 50;

export interface StrongestList {
  readonly element: HTMLElement;
  choice(): ListChoice;
  /** Show the links from this weight on, null for the strongest. */
  from(least: number | null): void;
  show(links: LinkList): void;
  wait(): void;
  fail(message: string): void;
  mark(pair: readonly [number, number] | null): void;
}

export function strongestList(
  { source, signal }: ViewContext,
  name: (token: number) => string,
  events: { changed(): void; go(query: number, key: number): void; error(value: number): number },
): StrongestList {
  const chosen = { special: false, neighbors: false, itself: false };
  let least: number | null = null;
  const heading = h("h4", { class: "aw-title" }, "Strongest links");
  const count = h("span", { class: "aw-muted", role: "status" });
  const clear = h(
    "button",
    { class: "aw-button aw-text-button", hidden: true },
    "show the strongest",
  );
  clear.addEventListener(
    "click",
    () => {
      least = null;
      events.changed();
    },
    { signal },
  );
  const toggle = (key: keyof typeof chosen, label: string, title: string): HTMLElement => {
    const made = h("button", { class: "aw-toggle", "aria-pressed": "false", title }, label);
    made.addEventListener(
      "click",
      () => {
        chosen[key] = !chosen[key];
        made.setAttribute("aria-pressed", String(chosen[key]));
        events.changed();
      },
      { signal },
    );
    return made;
  };
  const choices = h(
    "div",
    { class: "aw-long-choices", role: "group", "aria-label": "Links to include" },
    toggle("special", "special", "Links from and to special tokens"),
    toggle("neighbors", "neighbors", "Links to the token before and after"),
    toggle("itself", "self", "Links of a token to itself"),
  );
  const list = h("ol", { class: "aw-long-list", "data-aw-part": "strongest" });
  rove(list, signal);
  const element = h(
    "div",
    { class: "aw-long-strongest" },
    h("div", { class: "aw-panel-head" }, heading, count, clear, choices),
    list,
  );
  let pair: readonly [number, number] | null = null;
  const mark = (): void => {
    for (const button of list.querySelectorAll<HTMLElement>("button")) {
      const same = pair !== null && button.dataset.link === pair.join(" ");
      setAttributes(button, { "aria-pressed": String(same) });
    }
  };
  return {
    element,
    choice: () => ({ ...chosen, least }),
    from(next) {
      least = next;
      events.changed();
    },
    wait() {
      count.textContent = "looking …";
    },
    fail(message) {
      count.textContent = message;
      list.replaceChildren();
    },
    show({ queries, keys, weights, total }) {
      clear.hidden = least === null;
      heading.textContent =
        least === null ? "Strongest links" : `Links of at least ${formatNumber(least)}`;
      const shown = Math.min(SHOWN, queries.length);
      count.textContent =
        least === null
          ? `the first ${shown}`
          : total === 0
            ? "none"
            : `${formatCount(total)}${total > shown ? `, the strongest ${shown} here` : ""}`;
      refill(
        list,
        Array.from({ length: shown }, (_, i) => {
          const [query, key] = [itemAt(queries, i), itemAt(keys, i)];
          const weight = itemAt(weights, i);
          const error = events.error(weight);
          const read = windowOf(source.meta, query);
          const button = h(
            "button",
            {
              class: "aw-long-link",
              "data-token": query,
              "data-link": `${query} ${key}`,
              title: `query ${query}, key ${key}${read === null ? "" : `, ${read}`}`,
            },
            h("bdi", { dir: "ltr" }, name(query)),
            h("span", { class: "aw-muted aw-number" }, String(query)),
            h("span", { class: "aw-muted", "aria-label": "to" }, "→"),
            h("bdi", { dir: "ltr" }, name(key)),
            h("span", { class: "aw-muted aw-number" }, String(key)),
            read === null ? null : h("span", { class: "aw-muted aw-link-window" }, read),
            h(
              "span",
              {
                class: "aw-number aw-long-weight",
                "data-aw-value": exact(weight, error),
                title: exact(weight, error),
              },
              formatNumber(weight, undefined, error),
            ),
          );
          button.addEventListener("click", () => events.go(query, key));
          return h("li", {}, button);
        }),
      );
      mark();
    },
    mark(next) {
      pair = next;
      mark();
    },
  };
}
