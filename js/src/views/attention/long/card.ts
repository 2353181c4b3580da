/** The card at the pointer: the block under it, and its number. */

import { h } from "../../../draw/dom";
import { exact, formatNumber } from "../../../figures/format";
import type { LongMatrix, Pooling } from "../../../figures/long/store";

import type { WindowName } from "../facts";

export interface Block {
  readonly level: number;
  /** Its first query and key. */
  readonly query: number;
  readonly key: number;
  /** NaN where the mask forbids all of it; null while its tile is on its way. */
  readonly value: number | null;
}

export function blockCard(
  { level, query, key, value }: Block,
  size: number,
  pooling: Pooling,
  matrix: LongMatrix,
  name: (token: number) => string,
  error: number,
  window: WindowName = () => null,
): HTMLElement {
  const side = 2 ** level;
  const end = (role: "query" | "key", token: number): HTMLElement => {
    const last = Math.min(size, token + side) - 1;
    const read = last === token ? window(token, role) : window(token);
    // Said once where queries and keys are of one window.
    const own = last > token && role === "key" && read === window(query) ? null : read;
    const places = last === token ? String(token) : `${token}–${last}`;
    const place = own === null ? places : `${places} · ${own}`;
    return h(
      "div",
      { class: "aw-link-end" },
      h("span", { class: "aw-muted aw-link-role" }, role),
      h("bdi", { dir: "ltr", class: "aw-link-name" }, name(token)),
      last === token ? null : h("bdi", { dir: "ltr", class: "aw-muted" }, `… ${name(last)}`),
      h("span", { class: "aw-muted aw-link-at" }, place),
    );
  };
  const called = matrix.quantity === "weights" ? "weight" : matrix.quantity;
  const what =
    level === 0
      ? called
      : `${pooling === "max" ? "largest" : "mean"} ${called} of ${side} × ${side}`;
  const figure =
    value === null
      ? h("p", { class: "aw-muted" }, `${what}: …`)
      : Number.isNaN(value)
        ? h(
            "p",
            { class: "aw-muted" },
            window(query) === null
              ? "masked: these queries cannot see these keys"
              : "N/A: outside of the window of these queries",
          )
        : h(
            "p",
            {},
            h("span", { class: "aw-muted" }, `${what} `),
            h(
              "span",
              {
                class: "aw-number",
                "data-aw-value": exact(value, error),
                title: exact(value, error),
              },
              formatNumber(value, undefined, error),
            ),
          );
  return h(
    "div",
    { class: "aw-link-card", "data-aw-part": "link", "data-aw-row": query, "data-aw-column": key },
    h("div", { class: "aw-link-ends" }, end("query", query), end("key", key)),
    figure,
  );
}

/** Put the card beside a cell and above it, within `room` px. */
export function placeCard(
  card: HTMLElement,
  cell: { readonly x: number; readonly y: number } | null,
  room: number,
): void {
  if (cell === null) return;
  const [wide, high] = [card.offsetWidth, card.offsetHeight];
  const x = cell.x + 14 + wide > room ? cell.x - wide - 14 : cell.x + 14;
  card.style.transform = `translate(${Math.max(0, x)}px, ${Math.max(0, cell.y - high - 8)}px)`;
}
