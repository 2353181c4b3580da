/** The focus token's row as a short list: its strongest keys, or, without one, the keys that receive most. */

import { largest, rowOf } from "../derive/matrix";
import { h } from "../draw/dom";
import { exact, formatNumber } from "../draw/format";
import { ramp } from "../draw/ramp";
import { rampIndex } from "../draw/scale";
import { modeOf, onTheme } from "../draw/theme";
import type { Stage } from "../matrix";
import { schemeOf, unitLabel } from "../names";

const KEYS = 10;
/** A bar paler than this is lost on the ground; its width still tells. */
const PALEST = 48;

export function focus(element: HTMLElement, stage: Stage): () => void {
  const { source, state, matrix, signal } = stage;
  const scheme = schemeOf(source.meta.tokens);
  const title = h("h3", { class: "aw-title" });
  const list = h("ol", { class: "aw-rowkeys", "data-aw-part": "focus-keys" });
  const rest = h("p", { class: "aw-hint" });
  element.append(h("div", { class: "aw-panel-head" }, title), list, rest);

  function draw(): void {
    const shown = matrix.get();
    if (shown === null) return;
    const { token, pair, scale } = state.get();
    const row = shown.unitOf(token);
    const name = (i: number): string => unitLabel(shown.units[i]!, scheme);
    const values = row >= 0 ? rowOf(shown.weights, row, shown.size) : shown.received;
    const top = row >= 0 ? shown.max : values.reduce((a, b) => Math.max(a, b), 0);
    const heading =
      row >= 0 ? [h("bdi", { dir: "ltr" }, name(row)), " attends to"] : ["Most received"];
    title.replaceChildren(...heading);
    const { css } = ramp("weight", modeOf(element));
    // What the mask forbids is no weight of 0: it is not there.
    const possible = (i: number): boolean =>
      row < 0 || shown.allowed === null || shown.allowed[row * shown.size + i] !== 0;
    const chosen = largest(values, KEYS).filter(possible);
    const masked = shown.units.filter((_, i) => !possible(i)).length;
    list.replaceChildren(
      ...chosen.map((i) => {
        const value = values[i]!;
        const bar = h("span", { class: "aw-rowkey-bar", "aria-hidden": "true" });
        bar.style.width = `${top > 0 ? (100 * value) / top : 0}%`;
        // Only weights have the colour of a weight.
        if (row >= 0) bar.style.background = css[Math.max(PALEST, rampIndex(value, top, scale))]!;
        const button = h(
          "button",
          {
            type: "button",
            class: "aw-rowkey",
            "data-token": shown.units[i]!.token,
            "aria-pressed": String(
              row >= 0 &&
                pair !== null &&
                pair[0] === shown.units[row]!.token &&
                shown.unitOf(pair[1]) === i,
            ),
          },
          h("bdi", { class: "aw-rowkey-name", dir: "ltr" }, name(i)),
          h("span", { class: "aw-rowkey-track" }, bar),
          h(
            "span",
            { class: "aw-number", "data-aw-value": exact(value), title: exact(value) },
            formatNumber(value),
          ),
        );
        button.addEventListener("click", () => {
          const key = shown.units[i]!.token;
          state.set(row >= 0 ? { pair: [shown.units[row]!.token, key] } : { token: key });
        });
        return h("li", {}, button);
      }),
    );
    const sum = chosen.reduce((total, i) => total + values[i]!, 0);
    const all = values.reduce((total, value) => total + value, 0);
    const others = shown.size - chosen.length - masked;
    rest.textContent =
      (others > 0 ? `${others} others share ${formatNumber(Math.max(0, all - sum))}. ` : "") +
      (masked > 0 ? `${masked} masked: this query cannot see them. ` : "") +
      (row >= 0 ? "" : "Choose a token above to see its row.");
  }

  const stops = [matrix.on(draw), state.on(["token", "pair", "scale"], draw)];
  onTheme(element, draw, signal);
  return () => {
    for (const stop of stops) stop();
    element.replaceChildren();
  };
}
