/** The focus token's row of a long text as a short list: its strongest keys, or the keys that receive most. */

import { ramp } from "../../draw/color/ramp";
import { rampIndex } from "../../draw/color/scale";
import { modeOf, onTheme } from "../../draw/color/theme";
import { h } from "../../draw/dom";
import { refill, rove } from "../../draw/roving";
import { exact, formatCount, formatNumber } from "../../figures/format";
import { unitLabelOf } from "../../figures/long/names";
import { strongestOf } from "../../figures/long/pair";
import { type LongRow, longStore, topOfLong } from "../../figures/long/store";
import { windowOf } from "../../figures/long/windows";
import { isAbort } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import type { ViewContext } from "../../views/contract";

const KEYS = 10;
const PALEST = 48;

export function longFocus(element: HTMLElement, stage: ViewContext): () => void {
  const { source, state, signal } = stage;
  const { tokens } = source.meta;
  const store = longStore(source, state, stage);
  const name = unitLabelOf(tokens);
  const title = h("h3", { class: "aw-title" });
  const read = h("span", { class: "aw-muted aw-nth", "data-aw-part": "window" });
  const list = h("ol", { class: "aw-rowkeys aw-long-keys", "data-aw-part": "focus-keys" });
  const rest = h("p", { class: "aw-hint" });
  element.append(h("div", { class: "aw-panel-head" }, title, read), list, rest);
  rove(list, signal);
  let row: LongRow | null = null;

  function ask(): void {
    const matrix = store.get();
    const { token } = state.get();
    if (matrix === null) return;
    if (token === null) {
      row = null;
      draw();
      return;
    }
    store
      .row(matrix, token, signal)
      .then((found) => {
        if (store.get() !== matrix || state.get().token !== token) return;
        row = found;
        draw();
      })
      .catch((error: unknown) => {
        if (!isAbort(error)) console.debug("attn-widget:", error);
      });
  }

  function draw(): void {
    const matrix = store.get();
    if (matrix === null) return;
    const { pair, scale } = state.get();
    const values = row?.values ?? matrix.received;
    const query = row?.token ?? null;
    const chosen = strongestOf(values, KEYS);
    const top = Math.max(1e-30, ...chosen.map((i) => Math.abs(itemAt(values, i))));
    const { css } = ramp("weight", modeOf(element));
    const scores = matrix.quantity === "scores" && query !== null;
    title.replaceChildren(
      ...(query === null
        ? ["Most received"]
        : [h("bdi", { dir: "ltr" }, name(query)), scores ? " scores" : " attends to"]),
    );
    read.textContent = query === null ? "" : windowOf(source.meta, query, "query");
    refill(
      list,
      chosen.map((i) => {
        const value = itemAt(values, i);
        const bar = h("span", { class: "aw-rowkey-bar", "aria-hidden": "true" });
        bar.style.width = `${Math.max(0, (100 * value) / top)}%`;
        if (query !== null && !scores) {
          const entry = rampIndex(value, topOfLong(matrix, scale), scale);
          bar.style.background = itemAt(css, Math.max(PALEST, entry));
        }
        const button = h(
          "button",
          {
            class: "aw-rowkey",
            "data-token": i,
            "aria-pressed": String(pair !== null && pair[0] === query && pair[1] === i),
            title: `position ${i}`,
          },
          h(
            "span",
            { class: "aw-rowkey-name" },
            h("bdi", { dir: "ltr" }, name(i)),
            h("span", { class: "aw-muted aw-nth" }, String(i)),
          ),
          h("span", { class: "aw-rowkey-track" }, bar),
          h(
            "span",
            { class: "aw-rowkey-numbers" },
            h(
              "span",
              {
                class: "aw-number",
                "data-aw-value": exact(value, store.error(value)),
                title: exact(value, store.error(value)),
              },
              formatNumber(value, undefined, store.error(value)),
            ),
          ),
        );
        button.addEventListener(
          "click",
          () => state.set(query === null ? { token: i } : { pair: [query, i] }),
          { signal },
        );
        return h("li", {}, button);
      }),
    );
    if (query === null || scores) {
      rest.textContent = query === null ? "Choose a token above to see its row." : "";
      return;
    }
    let all = 0;
    let masked = 0;
    for (const value of values) {
      if (Number.isNaN(value)) masked++;
      else all += value;
    }
    const sum = chosen.reduce((total, i) => total + itemAt(values, i), 0);
    const others = values.length - masked - chosen.length;
    rest.textContent =
      (others > 0
        ? `${formatCount(others)} others share ${formatNumber(Math.max(0, all - sum))}. `
        : "") + (masked > 0 ? `${formatCount(masked)} masked: this query cannot see them.` : "");
  }

  store.on(ask, signal);
  state.on(["token"], ask, signal);
  state.on(["pair", "scale"], draw, signal);
  onTheme(element, draw, signal);
  return () => element.replaceChildren();
}
